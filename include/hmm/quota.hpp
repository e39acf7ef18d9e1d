// SPDX-License-Identifier: MIT
/*
 * How much of a device a process or a cgroup may have.
 *
 *     const hmm::quota mine(hmm::device(0));
 *     mine.set(64 << 20, hmmQuotaPriorityDefault);
 *     if (mine.get().refused > 0) ...
 */
#pragma once

#include <hmm/device.hpp>

#include <cstddef>

namespace hmm {

/// A cgroup by a descriptor of its folder, which stays the caller's.
class cgroup {
  public:
    constexpr explicit cgroup(int folder) noexcept : folder_(folder) {}

    constexpr int folder() const noexcept { return folder_; }

  private:
    int folder_;
};

/// What this process or a cgroup may have of a device, and has.
class quota {
  public:
    constexpr explicit quota(device on) noexcept : scope_{hmmQuotaScopeTypeProcess, 0}, on_(on) {}
    constexpr quota(cgroup of, device on) noexcept
        : scope_{hmmQuotaScopeTypeCgroup, of.folder()}, on_(on) {}

    hmmQuota get() const {
        const scoped_device use(on_);
        hmmQuota result;
        check(hmmQuotaGet(&result, scope_), "quota get");
        return result;
    }
    /// In bytes, or hmmQuotaNoLimit; up to hmmQuotaPriorityMax.
    void set(std::size_t limit, unsigned priority) const {
        const scoped_device use(on_);
        check(hmmQuotaSet(limit, priority, scope_), "quota set");
    }

  private:
    hmmQuotaScope scope_;
    device on_;
};

} // namespace hmm
