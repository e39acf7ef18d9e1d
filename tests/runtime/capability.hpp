// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Removes a capability from its thread for the lifetime of the object.
class without_capability {
  public:
    explicit without_capability(unsigned which) {
        EXPECT_EQ(syscall(SYS_capget, &header_, powers_), 0);
        __user_cap_data_struct less[] = {powers_[0], powers_[1]};
        less[which / 32].effective &= ~(1u << which % 32);
        EXPECT_EQ(syscall(SYS_capset, &header_, less), 0);
    }
    without_capability(const without_capability&) = delete;
    without_capability& operator=(const without_capability&) = delete;
    ~without_capability() { syscall(SYS_capset, &header_, powers_); }

  private:
    __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct powers_[2] = {};
};
