// SPDX-License-Identifier: MIT
/*
 * Signals that interrupt device code: faults, system calls, and the request to
 * stop.
 *
 * No handler blocks other signals (SA_NODEFER, empty masks), so a handler that
 * never returns to the interrupted code needn't restore the mask. To stop the
 * lane, a handler changes the interrupted context and returns to it.
 */
#include "call_policy.h"
#include "lane.h"
#include "lane_fault.h"

#include <cerrno>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/hmmrt.h>
#include <signal.h>
#include <ucontext.h>

namespace hmmrt::agent {
namespace {

constexpr int trap_page_fault = 14;
constexpr int code_user_dispatch = 2; // SYS_USER_DISPATCH

greg_t& reg(ucontext_t& context, int index) {
    return context.uc_mcontext.gregs[index];
}

/// Abandons the interrupted code; the lane returns to its loop.
void leave_device_code(lane& self, ucontext_t& context) {
    constexpr greg_t clean_flags = 0x202;
    reg(context, REG_RIP) =
        static_cast<greg_t>(address_of(reinterpret_cast<const void*>(&lane_call_stopped)));
    reg(context, REG_RSP) = static_cast<greg_t>(self.saved_stack);
    reg(context, REG_RBX) = static_cast<greg_t>(address_of(&self));
    reg(context, REG_EFL) = clean_flags;
}

/// Stops the other lanes, after a grace period: a lane inside malloc or printf
/// can leave it and release its lock, and the same assertion may fail on all
/// lanes at once.
void stop_other_lanes(lane& self) {
    control& ctl = *self.ctl;
    if (ctl.lane_count == 1) return;
    request_call(self, call_kind::await_others, 0, {});
    ctl.sticky.store(static_cast<std::uint32_t>(sticky_state::stopping));
    for (std::uint32_t i = 0; i < ctl.lane_count; i++) {
        if (i == self.index || ctl.lanes[i].running.load() == 0) continue;
        raw_syscall(SYS_tgkill, static_cast<std::uint64_t>(self.agent_pid),
                    ctl.lanes[i].agent_tid.load(), agent_stop_signal);
    }
    request_call(self, call_kind::stop_others, 0, {});
}

bool is_stopping(const lane& self) {
    return self.ctl->sticky.load() == static_cast<std::uint32_t>(sticky_state::stopping);
}

/// Collects the frames of the interrupted code for messages. Calls the walker,
/// which is code of the application, on this signal stack. A fault or system
/// call of the walker ends it, see stop_walk(). If it doesn't return, the
/// application kills this process.
void walk_frames(lane& self, const ucontext_t& context) {
    control& ctl = *self.ctl;
    const code_state state = code_state_of(context);
    if (ctl.walker == 0) return;
    self.walking = true;
    walk_call(&self, ctl.walker, address_of(&ctl.fault), address_of(&state));
    self.walking = false;
}

/// Called when a signal interrupts the walker.
void stop_walk(lane& self, ucontext_t& context) {
    constexpr greg_t clean_flags = 0x202;
    reg(context, REG_RIP) =
        static_cast<greg_t>(address_of(reinterpret_cast<const void*>(&walk_call_stopped)));
    reg(context, REG_RSP) = static_cast<greg_t>(self.walk_stack);
    reg(context, REG_RBX) = static_cast<greg_t>(address_of(&self));
    reg(context, REG_EFL) = clean_flags;
}

/// Records a fault and stops the other lanes. Only the first fault is recorded.
void fail_device(lane& self, const ucontext_t& context, fault_record& fault) {
    describe_lane(fault, *self.shared, self.index);
    fault.stack_pointer = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
    if (record_fault(*self.ctl, fault, [&] { walk_frames(self, context); })) stop_other_lanes(self);
}

/// Records a fault and ends the launch.
void end_launch(lane& self, ucontext_t& context, fault_record& fault) {
    fail_device(self, context, fault);
    leave_device_code(self, context);
}

/// Exits if the signal interrupted the agent's own code, because then there is
/// no device code to leave and no saved state to return to.
void require_running(const lane& self, int signal) {
    if (self.shared->running.load() == 0)
        for (;;)
            raw_syscall(SYS_exit_group, std::uint64_t{128} + static_cast<unsigned>(signal));
}

/// Describes a page fault. We get the access type from the error code, and the
/// cause from the driver, if its record is for the same page.
void describe_page_fault(fault_record& fault, std::uint64_t error_code) {
    hmmrt_gpu_fault_record record = {};
    record.size = sizeof(record);
    fault.access = access_of_page_fault(error_code);
    if (raw_syscall(SYS_ioctl, agent_gpu_fd, HMMRT_GPU_IOC_FAULT_RECORD, address_of(&record)) < 0)
        return;
    if (record.out_errno == 0 || record.out_addr / page_size != fault.address / page_size) return;
    fault.error_number = static_cast<std::int32_t>(record.out_errno);
}

void on_fault(int signal, siginfo_t* info, void* raw_context) {
    lane& self = *lane_of_stack();
    auto& context = *static_cast<ucontext_t*>(raw_context);
    require_running(self, signal);
    if (self.walking) return stop_walk(self, context);

    fault_record fault = {};
    fault.cause = fault_cause::signal;
    fault.signal = signal;
    fault.system_call = -1;
    fault.instruction = static_cast<std::uint64_t>(reg(context, REG_RIP));
    if (signal == SIGSEGV || signal == SIGBUS) {
        fault.address = address_of(info->si_addr);
        fault.error_number = EFAULT;
        if (reg(context, REG_TRAPNO) == trap_page_fault)
            describe_page_fault(fault, static_cast<std::uint64_t>(reg(context, REG_ERR)));
    }
    end_launch(self, context, fault);
}

void on_stop(int, siginfo_t*, void* raw_context) {
    lane& self = *lane_of_stack();
    if (!is_stopping(self) || self.shared->running.load() == 0) return;
    settle_call(self);
    leave_device_code(self, *static_cast<ucontext_t*>(raw_context));
}

std::int64_t virtual_sigprocmask(lane& self, const std::uint64_t (&args)[6]) {
    const std::uint64_t old = self.signal_mask;
    if (args[3] != sizeof(std::uint64_t)) return -EINVAL;
    if (args[1] != 0) {
        const auto set = *reinterpret_cast<const volatile std::uint64_t*>(args[1]);
        const std::int64_t result = change_signal_mask(self.signal_mask, args[0], set);
        if (result < 0) return result;
    }
    if (args[2] != 0) *reinterpret_cast<volatile std::uint64_t*>(args[2]) = old;
    return 0;
}

fault_record fault_of_call(ucontext_t& context, fault_cause cause, std::int64_t number,
                           int signal) {
    fault_record fault = {};
    fault.cause = cause;
    fault.signal = signal;
    fault.system_call = static_cast<std::int32_t>(number);
    fault.instruction = static_cast<std::uint64_t>(reg(context, REG_RIP));
    if (number == SYS_exit_group)
        fault.exit_status = static_cast<std::int32_t>(reg(context, REG_RDI) & 0xff);
    return fault;
}

void end_at_call(lane& self, ucontext_t& context, fault_cause cause, std::int64_t number,
                 int signal) {
    fault_record fault = fault_of_call(context, cause, number, signal);
    end_launch(self, context, fault);
}

/// Returns the signal argument: the second for kill, tkill and rt_sigqueueinfo,
/// the third for the others.
int signal_argument(std::int64_t number, const std::uint64_t (&args)[6]) {
    const bool third = number == SYS_tgkill || number == SYS_rt_tgsigqueueinfo;
    return static_cast<int>(args[third ? 2 : 1]);
}

/// A system call of device code and how to handle it.
struct call_request {
    call_request(ucontext_t& context, std::int64_t number, std::int32_t own_thread) {
        constexpr int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
        for (int i = 0; i < 6; i++)
            args[i] = static_cast<std::uint64_t>(reg(context, registers[i]));
        verdict = decide_call(static_cast<std::uint64_t>(number), args, own_thread);
    }

    std::uint64_t args[6];
    call_verdict verdict;
};

void serve_call(lane& self, ucontext_t& context, std::int64_t number) {
    call_request call(context, number, self.shared->app_tid);
    std::uint64_t(&args)[6] = call.args;
    const call_verdict verdict = call.verdict;
    std::int64_t result = verdict.value;

    switch (verdict.action) {
    case call_action::answer:
        break;
    case call_action::forward:
        result = request_call(self, call_kind::system_call, number, args);
        break;
    case call_action::signal:
        result = request_call(self, call_kind::signal_call, number, args);
        if (result == call_ends_launch)
            return end_at_call(self, context, fault_cause::raised_signal, number,
                               signal_argument(number, args));
        break;
    case call_action::signal_mask:
        result = virtual_sigprocmask(self, args);
        break;
    case call_action::end_launch:
        return end_at_call(self, context, fault_cause::system_call, number, SIGSYS);
    }
    reg(context, REG_RAX) = result;
}

/// In strict mode a call is an error. But its caller may hold a lock that the
/// program needs, as printf() does. So we let the code continue until the
/// launch's function returns: calls return ENOSYS, except those that release
/// locks or wait for them. The application limits the time. Device code that
/// waits for another lane yields, for which it needs no result.
void refuse_call(lane& self, ucontext_t& context, std::int64_t number) {
    if (number == SYS_sched_yield) {
        reg(context, REG_RAX) = 0;
        return;
    }
    fault_record fault = fault_of_call(context, fault_cause::system_call, number, SIGSYS);
    fail_device(self, context, fault);
    const call_request call(context, number, self.shared->app_tid);
    if (call.verdict.action == call_action::end_launch ||
        call.verdict.action == call_action::signal)
        return leave_device_code(self, context);
    const std::int64_t result = number == SYS_futex
                                    ? request_call(self, call_kind::system_call, number, call.args)
                                    : -ENOSYS;
    reg(context, REG_RAX) = result;
}

void on_system_call(int signal, siginfo_t* info, void* raw_context) {
    lane& self = *lane_of_stack();
    auto& context = *static_cast<ucontext_t*>(raw_context);
    require_running(self, signal);
    if (self.walking) return stop_walk(self, context);

    const auto number = static_cast<std::int64_t>(info->si_syscall);
    const bool native = info->si_arch == AUDIT_ARCH_X86_64 &&
                        (static_cast<std::uint64_t>(number) & call_x32_bit) == 0;
    if (!native || info->si_code != code_user_dispatch)
        end_at_call(self, context, fault_cause::foreign_call, number, SIGSYS);
    else if (number == call_end_by_exception)
        end_at_call(self, context, fault_cause::exception, -1, SIGABRT);
    else if (self.ctl->strict.load() != 0)
        refuse_call(self, context, number);
    else if (is_stopping(self))
        leave_device_code(self, context);
    else
        serve_call(self, context, number);
}

using handler = void (*)(int, siginfo_t*, void*);

/// The kernel's struct sigaction, since libc's sigaction() isn't available
/// here.
struct kernel_sigaction {
    handler function;
    std::uint64_t flags;
    void (*restorer)();
    std::uint64_t mask;
};

std::int64_t install(int signal, handler function) {
    constexpr std::uint64_t restorer_flag = 0x04000000;
    const kernel_sigaction action = {
        function, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | restorer_flag,
        signal_restorer, 0};
    return raw_syscall(SYS_rt_sigaction, static_cast<std::uint64_t>(signal), address_of(&action), 0,
                       sizeof(action.mask));
}

constexpr std::uint64_t signal_bit(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

} // namespace

std::int64_t install_signal_handlers() {
    // Don't use a table, whose pointers would need relocations.
    std::int64_t result = install(SIGSYS, on_system_call);
    if (result == 0) result = install(agent_stop_signal, on_stop);
    std::uint64_t open = signal_bit(SIGSYS) | signal_bit(agent_stop_signal);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
        if (result == 0) result = install(signal, on_fault);
        open |= signal_bit(signal);
    }
    if (result < 0) return result;
    const std::uint64_t blocked = ~open;
    return raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, address_of(&blocked), 0, sizeof(blocked));
}

} // namespace hmmrt::agent
