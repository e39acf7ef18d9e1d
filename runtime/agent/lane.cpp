// SPDX-License-Identifier: MIT
// The lanes of the agent: what they need before they run, and their port.
#include "lane.h"

#include "futex.h"
#include "lane_loop.h"
#include "prefetch_rest.h"

#include <asm/prctl.h>
#include <cerrno>
#include <linux/hmmrt.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

namespace hmmrt::agent {
namespace {

/// See lane_loop.h.
class agent_port {
  public:
    explicit agent_port(lane& self) : ctl(*self.ctl), shared(*self.shared), self_(self) {}

    control& ctl;
    lane_control& shared;

    bool ended() const { return false; } // the application kills the agent
    void begin(const piece&) {}
    void end(const piece&) {}

    void run(const range_work& work, std::uint64_t begin, std::uint64_t end) {
        self_.mxcsr = work.mxcsr;
        self_.x87_control = work.x87_control;
        self_.signal_mask = 0;
        lane_call(&self_, work.function, work.closure, begin, end, shared.stack_top);
    }

    /// If a signal to the parked thread interrupts the ioctl, we repeat it for
    /// the remaining pages, unless the device has failed.
    std::int64_t prefetch(const hmmrt_prefetch& wanted) {
        hmmrt_prefetch& request = lend(wanted);
        std::int64_t result = call_space(HMMRT_IOC_PREFETCH);
        while (result == -EINTR && ctl.sticky.load() == 0)
            result = prefetch_rest(request) ? call_space(HMMRT_IOC_PREFETCH) : 0;
        return result;
    }

    std::int64_t advise(const hmmrt_advise& wanted) {
        lend(wanted);
        return call_space(HMMRT_IOC_ADVISE);
    }

    std::int64_t discard(const discard_work& work) {
        const std::uint64_t args[6] = {work.addr, work.len, MADV_DONTNEED};
        return request_call(self_, call_kind::system_call, SYS_madvise, args);
    }

    /// Both processes have the same clock. The buffer is on the lane's own
    /// stack.
    std::uint64_t now() {
        constexpr std::uint64_t nanoseconds = 1000000000;
        struct {
            std::uint64_t seconds, rest;
        } time = {};
        raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, address_of(&time));
        return time.seconds * nanoseconds + time.rest;
    }

  private:
    /// Copies the argument of an ioctl to memory that the parked thread can
    /// pass to the kernel.
    template <class Argument>
    Argument& lend(const Argument& argument) {
        static_assert(sizeof(Argument) <= sizeof(shared.scratch));
        auto* lent = reinterpret_cast<Argument*>(shared.scratch);
        *lent = argument;
        return *lent;
    }

    std::int64_t call_space(std::uint64_t request) {
        const std::uint64_t args[6] = {static_cast<std::uint64_t>(ctl.space_fd), request,
                                       address_of(shared.scratch)};
        return request_call(self_, call_kind::system_call, SYS_ioctl, args);
    }

    lane& self_;
};

} // namespace

std::int64_t lane_prepare(lane& self, boot_step& step) {
    const std::uint64_t area = address_of(&self);
    stack_t stack = {};
    stack.ss_sp = reinterpret_cast<void*>(area + signal_stack_offset);
    stack.ss_size = signal_stack_end - signal_stack_offset;

    step = boot_step::lanes;
    std::int64_t result = raw_syscall(SYS_sigaltstack, address_of(&stack), 0);
    if (result < 0) return result;
    result = raw_syscall(SYS_arch_prctl, ARCH_SET_FS, self.shared->fs_base);
    if (result < 0) return result;

    // Don't use a selector byte, because device code could write it.
    step = boot_step::dispatch;
    return raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON,
                       self.ctl->slot + slot_image_offset, slot_image_size, 0);
}

std::int64_t request_call(lane& self, call_kind kind, std::int64_t number,
                          const std::uint64_t (&args)[6]) {
    lane_control& shared = *self.shared;
    shared.kind = kind;
    shared.number = number;
    for (int i = 0; i < 6; i++)
        shared.args[i] = args[i];
    shared.state.store(static_cast<std::uint32_t>(call_state::requested));
    settle_call(self);
    return shared.result;
}

void settle_call(lane& self) {
    futex_word& state = self.shared->state;
    std::uint32_t now = state.load();
    if (now == static_cast<std::uint32_t>(call_state::idle)) return;
    if (now == static_cast<std::uint32_t>(call_state::requested)) futex_wake(state, 1);
    while ((now = state.load()) != static_cast<std::uint32_t>(call_state::done))
        futex_wait(state, now);
    state.store(static_cast<std::uint32_t>(call_state::idle));
}

void run_lane(lane& self) {
    lane_loop loop{agent_port(self)};
    for (;;)
        loop.run();
}

} // namespace hmmrt::agent
