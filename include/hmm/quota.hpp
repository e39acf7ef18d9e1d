// SPDX-License-Identifier: MIT
/*
 * Quotas: how much memory of a device a process or a cgroup may use.
 *
 *     const hmm::quota mine(hmm::device(0));
 *     mine.set(64 << 20, hmmQuotaPriorityDefault);
 *     if (mine.get().refused > 0) ...
 */
#pragma once

#include <hmm/device.hpp>

#include <cstddef>

namespace hmm {

/// A cgroup, given by a file descriptor of its directory. The caller keeps
/// ownership of the descriptor.
class cgroup {
  public:
    constexpr explicit cgroup(int folder) noexcept : folder_(folder) {}

    [[nodiscard]] constexpr int folder() const noexcept { return folder_; }

  private:
    int folder_;
};

/// The quota of this process or of a cgroup on a device.
class quota {
  public:
    constexpr explicit quota(device on) noexcept : scope_{hmmQuotaScopeTypeProcess, 0}, on_(on) {}
    constexpr quota(cgroup of, device on) noexcept
        : scope_{hmmQuotaScopeTypeCgroup, of.folder()}, on_(on) {}

    [[nodiscard]] hmmQuota get() const {
        const scoped_device use(on_);
        hmmQuota result;
        check(hmmQuotaGet(&result, scope_), "quota get");
        return result;
    }
    /// @limit: in bytes, or hmmQuotaNoLimit. @priority: up to
    /// hmmQuotaPriorityMax.
    void set(std::size_t limit, unsigned priority) const {
        const scoped_device use(on_);
        check(hmmQuotaSet(limit, priority, scope_), "quota set");
    }

  private:
    hmmQuotaScope scope_;
    device on_;
};

} // namespace hmm
