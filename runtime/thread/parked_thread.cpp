// SPDX-License-Identifier: MIT
#include "thread/parked_thread.hpp"

#include "agent/syscall.h"
#include "base/failure.hpp"
#include "thread/exit_guard.hpp"
#include "thread/kernel_exception.hpp"
#include "thread/lane_thread.hpp"

#include <asm/prctl.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace hmmrt {
namespace {

constexpr std::size_t stack_guard_bytes = 64 << 10;
// TLS; only used pages take memory
constexpr std::size_t private_bytes = 1 << 20;
constexpr std::size_t own_stack_bytes = 64 << 10;

/// A lane runs on a different CPU than its parked thread, so it would corrupt
/// per-CPU data that restartable sequences protect. So we unregister the
/// thread. Libraries fall back when they see that it isn't registered.
void leave_rseq() {
#if __has_include(<sys/rseq.h>)
    // minimum size that glibc 2.35 and later registers
    constexpr std::uint64_t registered_bytes = 32;
    if (__rseq_size == 0) return;
    auto* area = reinterpret_cast<volatile struct rseq*>(
        static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
    const std::uint64_t sizes[] = {registered_bytes, __rseq_size};
    for (const std::uint64_t size : sizes)
        if (raw_syscall(SYS_rseq, address_of(area), size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0)
            break;
    area->cpu_id_start = 0;
    area->cpu_id = static_cast<std::uint32_t>(RSEQ_CPU_ID_REGISTRATION_FAILED);
#endif
}

/// The lane has no shadow stack, and libc checks this word of the thread
/// descriptor for one.
void leave_shadow_stack() {
    constexpr std::uint64_t disable = 0x5002, shadow_stack = 1; // ARCH_SHSTK_*
    constexpr std::size_t feature_word = 0x48;
    auto* features = reinterpret_cast<volatile std::uint32_t*>(
        static_cast<char*>(__builtin_thread_pointer()) + feature_word);
    if (*features == 0) return;
    raw_syscall(SYS_arch_prctl, disable, shadow_stack);
    *features = 0;
}

void* thread_main(void* argument) {
    static_cast<parked_thread*>(argument)->run();
    return nullptr;
}

void empty_handler(int) {}

} // namespace

int install_break_signal() {
    struct sigaction action = {};
    action.sa_handler = empty_handler; // no SA_RESTART, so that the signal interrupts calls
    sigfillset(&action.sa_mask);
    return install_free_signal(action);
}

parked_thread::parked_thread(parked_context& context, control& ctl, std::uint32_t lane)
    : context_(context), ctl_(ctl), lane_(ctl.lanes[lane]), index_(lane) {
    allocate_stack();
    if (!context_.guarded.add(memory_.address(), memory_.end()))
        throw failure(hmmErrorMemoryAllocation, "too many lanes in this process");
    try {
        start();
    } catch (...) {
        context_.guarded.remove(memory_.address());
        throw;
    }
}

void parked_thread::allocate_stack() {
    const std::size_t stack_bytes = lane_stack_bytes();
    const std::size_t bytes = stack_guard_bytes + stack_bytes + private_bytes;
    const std::int64_t base =
        sys::map(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    std::int64_t result = base;
    if (base >= 0) {
        memory_ = mapping(static_cast<std::uint64_t>(base), bytes);
        const std::uint64_t stack = memory_.address() + stack_guard_bytes;
        stack_end_ = stack + stack_bytes;
        result = sys::map(stack, stack_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
        if (result >= 0)
            result = sys::map(stack_end_, private_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
        if (result >= 0)
            result = sys::advise(memory_.address(), stack_end_ - memory_.address(), MADV_DONTFORK);
    }
    if (result < 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_start_error(stack_bytes, static_cast<int>(result)));
}

void parked_thread::start() {
    pthread_attr_t attributes;
    sigset_t all, old;
    const std::uint64_t stack = memory_.address() + stack_guard_bytes;

    pthread_attr_init(&attributes);
    int error =
        pthread_attr_setstack(&attributes, reinterpret_cast<void*>(stack), memory_.end() - stack);
    // Don't use a raw call: pthread_sigmask() keeps libc's two internal signals
    // unblocked, which setuid() needs.
    sigfillset(&all);
    sigdelset(&all, context_.break_signal);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (error == 0) error = pthread_create(&thread_, &attributes, thread_main, this);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0)
        throw failure(hmmErrorMemoryAllocation, describe_start_error(stack_end_ - stack, error));

    char name[16];
    std::snprintf(name, sizeof(name), "hmmrt-lane%u", index_);
    pthread_setname_np(thread_, name);
    while (ready_.load() == 0)
        sys::wait_for_change(ready_, 0, 1000);
}

void parked_thread::run() {
    guard_exit_of_lane();
    mark_thread_as_lane(true);
    leave_rseq();
    leave_shadow_stack();

    // Move the stack pointer from the private to the shared part of the mapping.
    auto* here = static_cast<char*>(__builtin_frame_address(0));
    const std::uint64_t above = address_of(here) - stack_end_;
    void* const skipped = __builtin_alloca(above < private_bytes ? above : 0);
    // keep the compiler from removing it
    asm volatile("" : : "r"(skipped) : "memory");
    serve_calls();
    mark_thread_as_lane(false);
}

void parked_thread::lend_thread() {
    const std::uint64_t here = address_of(__builtin_frame_address(0));
    std::uint64_t fs_base = 0;
    raw_syscall(SYS_arch_prctl, ARCH_GET_FS, address_of(&fs_base));
    lane_.fs_base = fs_base;
    lane_.stack_low = memory_.address() + stack_guard_bytes;
    lane_.stack_bytes = stack_end_ - lane_.stack_low;
    lane_.stack_top = (here - own_stack_bytes) & ~std::uint64_t{63};
    tid_ = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
    lane_.app_tid = tid_;
    for (; entry_ < parked_context::capacity; entry_++) {
        std::int32_t free = 0;
        if (context_.threads[entry_].compare_exchange_strong(free, tid_)) break;
    }
    ready_.store(1);
    raw_syscall(SYS_futex, address_of(&ready_), FUTEX_WAKE, 1);
}

void parked_thread::serve_calls() {
    parked_context& context = context_;
    control& ctl = ctl_;
    const std::uint32_t index = index_;
    lane_control& lane = lane_;
    futex_word& state = lane.state;
    lend_thread();
    for (;;) {
        // The destructor writes these two in the opposite order, so we can't
        // miss the change.
        std::uint32_t now = state.load();
        if (quit_.load()) return;
        if (now != static_cast<std::uint32_t>(call_state::requested)) {
            raw_syscall(SYS_futex, address_of(&state), FUTEX_WAIT, now, 0);
            continue;
        }
        if (!state.compare_exchange_strong(now, static_cast<std::uint32_t>(call_state::running)))
            continue;
        lane.result = execute_forwarded_call(context, ctl, index);
        now = static_cast<std::uint32_t>(call_state::running);
        if (state.compare_exchange_strong(now, static_cast<std::uint32_t>(call_state::done)))
            raw_syscall(SYS_futex, address_of(&state), FUTEX_WAKE, 1);
    }
}

parked_thread::~parked_thread() {
    quit_.store(true);
    lane_.state.store(static_cast<std::uint32_t>(call_state::quit));
    sys::wake(lane_.state);
    while (pthread_tryjoin_np(thread_, nullptr) == EBUSY) {
        sys::signal_thread(tid_, context_.break_signal);
        sys::sleep_milliseconds(1);
    }
    char unused[512];
    take_kernel_exception(static_cast<std::uint64_t>(thread_), unused);
    if (entry_ < parked_context::capacity) context_.threads[entry_].store(0);
    context_.guarded.remove(memory_.address());
}

} // namespace hmmrt
