// SPDX-License-Identifier: MIT
// Quotas for this process and its cgroup, and their effect on a device.
#include "capability.hpp"
#include "device_fixture.hpp"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <span>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t bytes = 4 << 20;
constexpr std::size_t limit = bytes / 4;

class Quotas : public OnDevice {
  protected:
    Quotas() { std::memset(memory_.data(), 1, bytes); }
    ~Quotas() override { mine_.set(hmmQuotaNoLimit, hmmQuotaPriorityDefault); }

    void add_one_on_device() const {
        on_device([memory = memory_] {
            for (unsigned char& value : memory)
                value++;
        });
    }
    std::size_t bytes_on_device() const {
        return hmm::residency(memory_).on(hmm::device(0)) * page;
    }
    void expect_all(unsigned char expected) const {
        for (const unsigned char value : memory_)
            ASSERT_EQ(value, expected);
    }

    // Whole blocks, so that no other memory moves along.
    const hmm::managed_memory<unsigned char> owner_ = hmm::managed_memory<unsigned char>(bytes);
    const std::span<unsigned char> memory_ = owner_.get();
    const hmm::quota mine_ = hmm::quota(hmm::device(0));
};

/// A cgroup that belongs to this test.
class own_cgroup {
  public:
    own_cgroup() {
        std::string line;
        std::getline(std::ifstream("/proc/self/cgroup"), line);
        if (line.starts_with("0::") && access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0 &&
            mkdir(path, 0755) == 0)
            folder_ = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        former_ = "/sys/fs/cgroup" + line.substr(line.rfind(':') + 1);
    }
    own_cgroup(const own_cgroup&) = delete;
    own_cgroup& operator=(const own_cgroup&) = delete;
    /// Agents that were started in the cgroup may need a moment to exit.
    ~own_cgroup() {
        if (folder_ < 0) return;
        close(folder_);
        for (int i = 0; rmdir(path) != 0 && i < 1000; i++)
            usleep(10000);
        EXPECT_NE(access(path, F_OK), 0);
    }

    bool exists() const { return folder_ >= 0; }
    int folder() const { return folder_; }
    hmm::quota on(hmm::device which) const { return {hmm::cgroup(folder_), which}; }
    static bool enter() { return move_to(path); }
    bool leave() const { return move_to(former_); }

  private:
    static constexpr const char* path = "/sys/fs/cgroup/hmmrt-runtime-quota";

    static bool move_to(const std::string& group) {
        return static_cast<bool>(std::ofstream(group + "/cgroup.procs") << 0 << std::flush);
    }

    int folder_ = -1;
    std::string former_;
};

TEST_F(Quotas, AreNoneAtFirst) {
    const hmmQuota found = mine_.get();
    EXPECT_EQ(found.limit, hmmQuotaNoLimit);
    EXPECT_EQ(found.priority, hmmQuotaPriorityDefault);
    EXPECT_EQ(found.used, 0u);
    EXPECT_EQ(found.refused, 0u);
    EXPECT_EQ(found.evicted, 0u);
}

TEST_F(Quotas, SayWhatIsInUse) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(mine_.get().used, bytes);
    hmm::prefetch_with_report(memory_, hmm::host);
    EXPECT_EQ(mine_.get().used, 0u);
}

TEST_F(Quotas, BoundWhatAPrefetchBrings) {
    NEEDS_PAGES_THAT_MOVE();
    mine_.set(limit, hmmQuotaPriorityDefault);
    const hmmPrefetchReport report = hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(report.moved, limit / page);
    EXPECT_EQ(report.stayed[hmmStayQuota], (bytes - limit) / page);
    EXPECT_EQ(report.stayed[hmmStayNoMemory], 0u);
    EXPECT_EQ(bytes_on_device(), limit);
    const hmmQuota found = mine_.get();
    EXPECT_EQ(found.limit, limit);
    EXPECT_EQ(found.used, limit);
    EXPECT_GT(found.refused, 0u);
    expect_all(1);
}

TEST_F(Quotas, BoundWhatKernelsBringAndFailNone) {
    NEEDS_PAGES_THAT_MOVE();
    mine_.set(limit, hmmQuotaPriorityDefault);
    add_one_on_device();
    EXPECT_LE(mine_.get().used, limit);
    EXPECT_GT(mine_.get().evicted + mine_.get().refused, 0u);
    expect_all(2);
}

TEST_F(Quotas, OfZeroKeepAllInSystemMemory) {
    mine_.set(0, 0);
    EXPECT_EQ(mine_.get().priority, 0u);
    add_one_on_device();
    EXPECT_EQ(mine_.get().used, 0u);
    EXPECT_EQ(bytes_on_device(), 0u);
    expect_all(2);
}

TEST_F(Quotas, ThatBecomeLessEvictAtOnce) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch_with_report(memory_, hmm::device(0));
    ASSERT_EQ(bytes_on_device(), bytes);
    mine_.set(limit, hmmQuotaPriorityDefault);
    const hmmQuota found = mine_.get();
    EXPECT_LE(found.used, limit);
    EXPECT_EQ(found.used + found.evicted, bytes);
    EXPECT_EQ(bytes_on_device(), found.used);
    for (const hmmPageState& each : hmm::residency(memory_))
        EXPECT_EQ(each.cause, each.location == 0 ? hmmMoveCausePrefetch : hmmMoveCauseEviction);
    expect_all(1);
}

TEST_F(Quotas, AreAsTheyWereAfterAReset) {
    NEEDS_PAGES_THAT_MOVE();
    mine_.set(limit, 3);
    hmm::reset();
    EXPECT_EQ(mine_.get().limit, limit);
    EXPECT_EQ(mine_.get().priority, 3u);
    hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(bytes_on_device(), limit);
}

TEST_F(Quotas, GoBackUpToWhatWasSetWithPrivilege) {
    NEEDS_KERNEL();
    constexpr hmmQuotaScope process = {hmmQuotaScopeTypeProcess, 0};
    mine_.set(limit, 5);
    const without_capability admin(CAP_SYS_ADMIN);
    EXPECT_EQ(hmmQuotaSet(limit + page, 5, process), hmmErrorNotPermitted);
    EXPECT_EQ(hmmQuotaSet(limit, 6, process), hmmErrorNotPermitted);
    EXPECT_EQ(hmmQuotaSet(page, 0, process), hmmSuccess);
    EXPECT_EQ(mine_.get().limit, page);
    EXPECT_EQ(hmmQuotaSet(limit, 5, process), hmmSuccess);
    EXPECT_EQ(mine_.get().limit, limit);
}

TEST_F(Quotas, WrongArgumentsAreRefused) {
    NEEDS_KERNEL();
    constexpr hmmQuotaScope process = {hmmQuotaScopeTypeProcess, 0};
    EXPECT_EQ(hmmQuotaSet(limit + 1, 1, process), hmmErrorInvalidValue);
    EXPECT_EQ(hmmQuotaSet(limit, hmmQuotaPriorityMax + 1, process), hmmErrorInvalidValue);
    EXPECT_EQ(mine_.get().limit, hmmQuotaNoLimit);
    hmmQuota found;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const int none : {-1, null})
        EXPECT_EQ(hmmQuotaGet(&found, {hmmQuotaScopeTypeCgroup, none}), hmmErrorInvalidValue);
    close(null);
}

TEST_F(Quotas, OfACgroupBoundItsProcesses) {
    NEEDS_PAGES_THAT_MOVE();
    const own_cgroup group;
    if (!group.exists()) GTEST_SKIP() << "no cgroups of the second version";
    hmm::reset(); // an existing binding stays charged to its cgroup
    ASSERT_TRUE(group.enter());
    const hmm::quota shared = group.on(hmm::device(0));
    EXPECT_EQ(shared.get().limit, hmmQuotaNoLimit);
    EXPECT_EQ(shared.get().priority, hmmQuotaPriorityMax);
    shared.set(limit, 7);
    EXPECT_EQ(mine_.get().limit, hmmQuotaNoLimit) << "the process has none of its own";
    const hmmPrefetchReport report = hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(report.moved, limit / page);
    EXPECT_EQ(report.stayed[hmmStayQuota], (bytes - limit) / page);
    EXPECT_EQ(shared.get().used, limit);
    EXPECT_EQ(shared.get().limit, limit);
    EXPECT_EQ(shared.get().priority, 7u);
    EXPECT_GT(shared.get().refused, 0u);
    shared.set(hmmQuotaNoLimit, hmmQuotaPriorityMax);
    hmm::prefetch_with_report(memory_, hmm::device(0));
    EXPECT_EQ(bytes_on_device(), bytes);
    hmm::reset();
    EXPECT_TRUE(group.leave());
}

TEST_F(Quotas, OfACgroupNeedPrivilege) {
    NEEDS_KERNEL();
    const own_cgroup group;
    if (!group.exists()) GTEST_SKIP() << "no cgroups of the second version";
    const hmmQuotaScope scope = {hmmQuotaScopeTypeCgroup, group.folder()};
    const without_capability admin(CAP_SYS_ADMIN);
    EXPECT_EQ(hmmQuotaSet(limit, 7, scope), hmmErrorNotPermitted);
    hmmQuota found;
    EXPECT_EQ(hmmQuotaGet(&found, scope), hmmSuccess);
    EXPECT_EQ(found.limit, hmmQuotaNoLimit);
}

} // namespace
