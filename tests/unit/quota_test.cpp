// SPDX-License-Identifier: MIT
// Quotas: their scopes, the requests to the modules, and refused values.
#include "memory_fixture.hpp"

#include <cerrno>

using fakes::kernel;

namespace {

class Quota : public MemoryOverFakes {
  protected:
    static constexpr hmmQuotaScope process = {hmmQuotaScopeTypeProcess, 77};

    static const hmmrt_quota& last() { return kernel.policy.quotas.back(); }
};

TEST_F(Quota, SaysWhatMayBeHadAndIs) {
    const hmmQuota found = hmm::quota(hmm::device(0)).get();
    EXPECT_EQ(found.limit, hmmQuotaNoLimit);
    EXPECT_EQ(found.priority, hmmQuotaPriorityDefault);
    EXPECT_EQ(found.used, 1u << 20);
    EXPECT_EQ(found.evicted, 2u << 20);
    EXPECT_EQ(found.refused, 3u);
}

TEST_F(Quota, OfTheProcessIsOnADeviceThatIsStarted) {
    const int before = kernel.agents_started;
    const hmm::quota mine(hmm::device(1));
    mine.set(8 * page, 5);
    EXPECT_EQ(kernel.agents_started, before + 1);
    EXPECT_EQ(last().scope, std::uint32_t(HMMRT_QUOTA_OF_SPACE));
    EXPECT_EQ(last().device_id, 2u) << "the id of device 1";
    EXPECT_EQ(last().limit_bytes, 8 * page);
    EXPECT_EQ(last().priority, 5u);
    EXPECT_EQ(mine.get().limit, 8 * page);
    EXPECT_EQ(hmm::current_device(), hmm::device(0));
}

TEST_F(Quota, OfACgroupStartsNothing) {
    const int agents = kernel.agents_started, files = kernel.open_files;
    const hmm::quota group(hmm::cgroup(42), hmm::device(1));
    group.set(hmmQuotaNoLimit, hmmQuotaPriorityMax);
    EXPECT_EQ(last().scope, std::uint32_t(HMMRT_QUOTA_OF_CGROUP));
    EXPECT_EQ(last().cgroup_fd, 42);
    EXPECT_EQ(last().device_id, 2u);
    EXPECT_EQ(last().limit_bytes, HMMRT_QUOTA_NO_LIMIT);
    EXPECT_EQ(last().priority, std::uint32_t(HMMRT_PRIORITY_MAX));
    EXPECT_EQ(group.get().priority, hmmQuotaPriorityMax);
    EXPECT_EQ(kernel.agents_started, agents);
    EXPECT_EQ(kernel.open_files, files);
}

TEST_F(Quota, OfTheProcessIgnoresTheCgroup) {
    hmmQuota found;
    EXPECT_EQ(hmmQuotaGet(&found, process), hmmSuccess);
    EXPECT_EQ(last().cgroup_fd, 0);
}

TEST_F(Quota, WrongArgumentsAreRefused) {
    for (const std::size_t wrong : {std::size_t(1), page - 1, page + 1, hmmQuotaNoLimit - 1})
        EXPECT_EQ(hmmQuotaSet(wrong, 1, process), hmmErrorInvalidValue) << wrong;
    EXPECT_EQ(hmmQuotaSet(0, hmmQuotaPriorityMax + 1, process), hmmErrorInvalidValue);
    for (const int none : {0, 3})
        EXPECT_EQ(hmmQuotaSet(0, 0, {static_cast<hmmQuotaScopeType>(none), 0}),
                  hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.policy.quotas.empty());
    EXPECT_EQ(hmmQuotaSet(0, 0, process), hmmSuccess);
}

TEST_F(Quota, ErrorsOfTheKernelAreTold) {
    const struct {
        int error;
        hmmError_t code;
    } meanings[] = {{EPERM, hmmErrorNotPermitted},      {EBADF, hmmErrorInvalidValue},
                    {EOPNOTSUPP, hmmErrorNotSupported}, {ENODEV, hmmErrorInvalidDevice},
                    {ENOMEM, hmmErrorMemoryAllocation}, {ENOTTY, hmmErrorInsufficientDriver}};
    for (const auto& [error, code] : meanings) {
        kernel.policy.quota_error = error;
        EXPECT_EQ(hmmQuotaSet(0, 0, {hmmQuotaScopeTypeCgroup, 42}), code);
        EXPECT_EQ(hmmQuotaSet(0, 0, process), code);
        EXPECT_THROW(static_cast<void>(hmm::quota(hmm::device(0)).get()), hmm::error);
    }
}

} // namespace
