// SPDX-License-Identifier: MIT
/*
 * The system calls that the agent may make once its lanes run.
 *
 * Syscall user dispatch intercepts device code's system calls. This filter also
 * covers device code that jumps to the agent's own syscall instruction.
 */
#pragma once

#include "control.h"

#include <cstddef>
#include <cstdint>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/hmmrt.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

namespace hmmrt::agent {

inline constexpr std::size_t seccomp_filter_length = 20;

constexpr sock_filter bpf_load(std::size_t offset) {
    return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}

constexpr sock_filter bpf_jump_equal(std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return {BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
}

constexpr sock_filter bpf_return(std::uint32_t value) {
    return {BPF_RET | BPF_K, 0, 0, value};
}

/// Offset of the low half of argument @index; x86 is little-endian.
constexpr std::size_t seccomp_argument(std::size_t index) {
    return offsetof(seccomp_data, args) + 8 * index;
}

/// Fills @out. @agent_pid is the only process that tgkill() may target.
constexpr void build_seccomp_filter(sock_filter (&out)[seccomp_filter_length],
                                    std::int32_t agent_pid) {
    constexpr std::uint8_t allow = 18, deny = 19;
    std::uint8_t at = 0;
    // Jumps are relative to the next instruction; `to` computes them from
    // absolute targets.
    const auto to = [&at](std::uint8_t target) {
        return static_cast<std::uint8_t>(target - at - 1);
    };
    const auto emit = [&](sock_filter instruction) { out[at++] = instruction; };

    emit(bpf_load(offsetof(seccomp_data, arch)));
    emit(bpf_jump_equal(AUDIT_ARCH_X86_64, 0, to(deny)));
    emit(bpf_load(offsetof(seccomp_data, nr)));
    emit(bpf_jump_equal(SYS_futex, to(allow), 0));
    emit(bpf_jump_equal(SYS_rt_sigreturn, to(allow), 0));
    emit(bpf_jump_equal(SYS_exit_group, to(allow), 0));
    emit(bpf_jump_equal(SYS_clock_gettime, to(allow), 0));
    emit(bpf_jump_equal(SYS_ioctl, to(10), 0));
    emit(bpf_jump_equal(SYS_tgkill, to(14), to(deny)));
    // not reached; separates the blocks below
    emit(bpf_return(SECCOMP_RET_TRAP));
    // 10: ioctl(gpu, fault record)
    emit(bpf_load(seccomp_argument(0)));
    emit(bpf_jump_equal(agent_gpu_fd, 0, to(deny)));
    emit(bpf_load(seccomp_argument(1)));
    emit(bpf_jump_equal(HMMRT_GPU_IOC_FAULT_RECORD, to(allow), to(deny)));
    // 14: tgkill(own pid, any lane, stop)
    emit(bpf_load(seccomp_argument(0)));
    emit(bpf_jump_equal(static_cast<std::uint32_t>(agent_pid), 0, to(deny)));
    emit(bpf_load(seccomp_argument(2)));
    emit(bpf_jump_equal(agent_stop_signal, to(allow), to(deny)));
    // 18, 19
    emit(bpf_return(SECCOMP_RET_ALLOW));
    emit(bpf_return(SECCOMP_RET_TRAP));
}

} // namespace hmmrt::agent
