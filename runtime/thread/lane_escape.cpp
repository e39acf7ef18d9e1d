// SPDX-License-Identifier: MIT
#include "thread/lane_escape.hpp"

#include "agent/lane_fault.h"
#include "base/fork_guard.hpp"
#include "sys/syscalls.hpp"
#include "thread/frame_walk.hpp"
#include "thread/lane_thread.hpp"
#include "thread/program_signals.hpp"

#include <cerrno>
#include <cstddef>
#include <immintrin.h>
#include <mutex>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>

extern "C" {
// Each sanitizer defines one of these.
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __hwasan_init();
[[gnu::weak]] void __msan_init();
[[gnu::weak]] void __tsan_init();
}

namespace hmmrt {
namespace {

constexpr std::uint32_t default_mxcsr = 0x1f80;

/// Handlers read it, so it must not be allocated at first use.
[[gnu::tls_model("initial-exec")]] constinit thread_local lane_position* own_lane = nullptr;

int lane_stop_signal = 0; ///< set before the first lane starts

lane_position* lane_in_device_code() {
    if (own_lane == nullptr || fork_guard::is_child()) return nullptr;
    return own_lane->shared->running.load() != 0 ? own_lane : nullptr;
}

[[noreturn]] void leave(lane_position& self) {
    self.shared->running.store(0);
    siglongjmp(self.escape, 1);
}

fault_record fault_of(int signal, const siginfo_t& info, const ucontext_t& context) {
    constexpr int trap_page_fault = 14;
    const auto& registers = context.uc_mcontext.gregs;
    fault_record fault = {};
    fault.cause = signal == SIGABRT ? fault_cause::raised_signal : fault_cause::signal;
    fault.signal = signal;
    fault.system_call = signal == SIGABRT ? SYS_tgkill : -1;
    fault.instruction = static_cast<std::uint64_t>(registers[REG_RIP]);
    if (signal != SIGSEGV && signal != SIGBUS) return fault;
    fault.address = reinterpret_cast<std::uint64_t>(info.si_addr);
    fault.error_number = signal == SIGSEGV && info.si_code == SEGV_ACCERR ? EACCES : EFAULT;
    if (registers[REG_TRAPNO] == trap_page_fault)
        fault.access = access_of_page_fault(static_cast<std::uint64_t>(registers[REG_ERR]));
    return fault;
}

/// If the stack is damaged, the walk fails, and we keep the frames found so
/// far.
void collect_frames(lane_position& self, const code_state& state) {
    if (sigsetjmp(self.walk_escape, 0) == 0) {
        self.walking = true;
        walk_frames(&self.ctl->fault, &state);
    }
    self.walking = false;
}

/// Records the failure, unless the device already has one.
void record(lane_position& self, fault_record fault, const code_state& state) {
    describe_lane(fault, *self.shared, self.index);
    fault.stack_pointer = state.rsp;
    if (record_fault(*self.ctl, fault, [&] { collect_frames(self, state); })) self.failed = true;
}

bool has_registers(const void* context) {
    return sys::is_readable(reinterpret_cast<std::uint64_t>(context),
                            offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t));
}

/// A handler of the program that calls this one may have nothing to pass on. Then the launch ends
/// with that handler as the failed place.
void on_failure(int signal, siginfo_t* info, void* context) {
    lane_position* const self = lane_in_device_code();
    if (self == nullptr) return;
    if (self->walking) siglongjmp(self->walk_escape, 1);
    siginfo_t about = {};
    ucontext_t interrupted = {};
    if (has_info(signal, info) && has_registers(context)) {
        about = *info;
        interrupted.uc_mcontext = static_cast<const ucontext_t*>(context)->uc_mcontext;
    } else if (getcontext(&interrupted) != 0) {
        interrupted = {};
    }
    const code_state state = code_state_of(interrupted);
    record(*self, fault_of(signal, about, interrupted), state);
    leave(*self);
}

void on_stop(int) {
    lane_position* const self = lane_in_device_code();
    if (self == nullptr) return;
    const auto stopping = static_cast<std::uint32_t>(sticky_state::stopping);
    if (self->quit->load() || self->ctl->sticky.load() == stopping) leave(*self);
}

bool under_sanitizer() {
    return __asan_init != nullptr || __hwasan_init != nullptr || __msan_init != nullptr ||
           __tsan_init != nullptr;
}

int install_stop_signal() {
    // We send the signal repeatedly until the lane has left. It blocks itself,
    // because otherwise all queued ones would be delivered at once and overflow
    // the handler's stack.
    struct sigaction action = {};
    action.sa_handler = on_stop;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    return install_free_signal(action);
}

void take_failures() {
    if (!under_sanitizer()) take_program_signals(on_failure, lane_stop_signal);
}

void call(const range_work& work, std::uint64_t begin, std::uint64_t end) noexcept {
    using function = void (*)(void*, std::uint64_t, std::uint64_t);
    reinterpret_cast<function>(work.function)(reinterpret_cast<void*>(work.closure), begin, end);
}

void set_modes(std::uint32_t mxcsr, std::uint32_t x87_control) {
    const auto word = static_cast<std::uint16_t>(x87_control);
    asm volatile("fninit; fldcw %0" : : "m"(word));
    _mm_setcsr(mxcsr);
}

} // namespace

void set_lane_position(lane_position* self) {
    if (self != nullptr) pthread_sigmask(SIG_SETMASK, nullptr, &self->mask);
    own_lane = self;
}

int install_lane_handlers() {
    static std::mutex once;
    const std::lock_guard lock(once);
    if (lane_stop_signal == 0) lane_stop_signal = install_stop_signal();
    if (lane_stop_signal != 0) take_failures();
    return lane_stop_signal;
}

namespace {

void leave_by(fault_cause cause, int signal, int system_call) {
    lane_position* const self = lane_in_device_code();
    if (self == nullptr) return;
    fault_record fault = {};
    fault.cause = cause;
    fault.signal = signal;
    fault.system_call = system_call;
    ucontext_t here;
    if (getcontext(&here) != 0) here = {};
    const code_state state = code_state_of(here);
    fault.instruction = state.rip;
    record(*self, fault, state);
    leave(*self);
}

} // namespace

void leave_by_exception() {
    leave_by(fault_cause::exception, SIGABRT, -1);
}

void leave_by_exit() {
    leave_by(fault_cause::system_call, SIGSYS, SYS_exit_group);
}

bool run_device_code(lane_position& self, const range_work& work, std::uint64_t begin,
                     std::uint64_t end) {
    constexpr std::uint32_t default_x87_control = 0x37f;
    take_failures();
    const bool left = sigsetjmp(self.escape, 0) != 0;
    if (!left) {
        set_modes(work.mxcsr, work.x87_control);
        self.shared->running.store(1);
        // A lane that stops the others sets `sticky` before it reads `running`.
        if (self.ctl->sticky.load() == 0 && !self.quit->load()) call(work, begin, end);
        self.shared->running.store(0);
    } else {
        pthread_sigmask(SIG_SETMASK, &self.mask, nullptr);
    }
    set_modes(default_mxcsr, default_x87_control);
    return !left;
}

} // namespace hmmrt
