// SPDX-License-Identifier: MIT
// Runs the agent's filter in a small interpreter of classic BPF.
#include "agent/seccomp.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/mman.h>

using namespace hmmrt;
using namespace hmmrt::agent;

namespace {

constexpr int pid = 4711;

std::uint32_t run(const sock_filter* program, std::size_t length, const seccomp_data& data) {
    std::uint32_t accumulator = 0;
    for (std::size_t pc = 0; pc < length; pc++) {
        const sock_filter& at = program[pc];
        switch (at.code) {
        case BPF_LD | BPF_W | BPF_ABS:
            std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + at.k, 4);
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            pc += accumulator == at.k ? at.jt : at.jf;
            break;
        case BPF_RET | BPF_K:
            return at.k;
        default:
            ADD_FAILURE() << "instruction " << at.code << " at " << pc;
            return 0;
        }
    }
    ADD_FAILURE() << "ran off the end";
    return 0;
}

bool allowed(int number, std::initializer_list<std::uint64_t> args = {},
             std::uint32_t arch = AUDIT_ARCH_X86_64) {
    sock_filter filter[seccomp_filter_length];
    build_seccomp_filter(filter, pid);
    seccomp_data data = {};
    data.nr = number;
    data.arch = arch;
    std::copy(args.begin(), args.end(), data.args);
    const std::uint32_t verdict = run(filter, seccomp_filter_length, data);
    EXPECT_TRUE(verdict == SECCOMP_RET_ALLOW || verdict == SECCOMP_RET_TRAP);
    return verdict == SECCOMP_RET_ALLOW;
}

TEST(Seccomp, AllowsWhatLanesNeed) {
    EXPECT_TRUE(allowed(SYS_futex));
    EXPECT_TRUE(allowed(SYS_rt_sigreturn));
    EXPECT_TRUE(allowed(SYS_exit_group));
    EXPECT_TRUE(allowed(SYS_clock_gettime));
    EXPECT_TRUE(allowed(SYS_ioctl, {agent_gpu_fd, HMMRT_GPU_IOC_FAULT_RECORD, 0x1000}));
    EXPECT_TRUE(allowed(SYS_tgkill, {pid, 12, agent_stop_signal}));
}

TEST(Seccomp, DeniesEverythingElse) {
    for (int number = 0; number < 470; number++) {
        const bool needed = number == SYS_futex || number == SYS_rt_sigreturn ||
                            number == SYS_exit_group || number == SYS_clock_gettime;
        EXPECT_EQ(allowed(number), needed) << number;
    }
}

TEST(Seccomp, ChecksTheArgumentsOfIoctlAndTgkill) {
    EXPECT_FALSE(allowed(SYS_ioctl, {agent_control_fd, HMMRT_GPU_IOC_FAULT_RECORD}));
    EXPECT_FALSE(allowed(SYS_ioctl, {agent_gpu_fd, HMMRT_GPU_IOC_ATTACH}));
    EXPECT_FALSE(allowed(SYS_tgkill, {pid + 1, 12, agent_stop_signal}));
    EXPECT_FALSE(allowed(SYS_tgkill, {pid, 12, 9}));
}

TEST(Seccomp, DeniesOtherArchitectures) {
    EXPECT_FALSE(allowed(SYS_futex, {}, AUDIT_ARCH_I386));
}

} // namespace
