// SPDX-License-Identifier: MIT
// Shares: which process's memory is evicted first, tested by single cases and
// by a model of a device with random requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

extern "C" {
#include "policy.h"
}

namespace {

constexpr std::uint64_t chunk = 512;

hmmrt_policy_share share_of(std::uint64_t used, std::uint32_t priority = HMMRT_PRIORITY_DEFAULT) {
    return {.used = used, .priority = priority, .rank = 0};
}

/// Ranks all shares, as the kernel does before it chooses a chunk.
void rank(std::uint64_t size, std::vector<hmmrt_policy_share>& shares,
          const hmmrt_policy_share* asker) {
    hmmrt_policy_share_sum sum = {.size = size, .weight = 0};
    for (auto& share : shares)
        hmmrt_policy_share_add(&sum, &share);
    for (auto& share : shares)
        hmmrt_policy_share_rank(&sum, &share, asker);
}

TEST(Shares, OfOneIsAllOfIt) {
    for (const std::uint64_t used : {std::uint64_t{1}, 4 * chunk, 8 * chunk}) {
        std::vector<hmmrt_policy_share> shares = {share_of(used)};
        rank(8 * chunk, shares, shares.data());
        EXPECT_NE(shares[0].rank, HMMRT_SHARE_KEPT) << used;
    }
}

TEST(Shares, AUserOverItsShareGivesToAUserBelowIts) {
    std::vector<hmmrt_policy_share> shares = {share_of(6 * chunk), share_of(2 * chunk)};
    rank(8 * chunk, shares, &shares[1]);
    EXPECT_LT(shares[0].rank, shares[1].rank);
    EXPECT_NE(shares[0].rank, HMMRT_SHARE_KEPT);
}

TEST(Shares, AUserOverItsShareTakesNothingFromAUserWithinIts) {
    for (const std::uint64_t modest : {std::uint64_t{1}, chunk, 4 * chunk}) {
        std::vector<hmmrt_policy_share> shares = {share_of(8 * chunk - modest), share_of(modest)};
        rank(8 * chunk, shares, shares.data());
        EXPECT_EQ(shares[1].rank, HMMRT_SHARE_KEPT) << modest;
        EXPECT_NE(shares[0].rank, HMMRT_SHARE_KEPT) << modest;
    }
}

TEST(Shares, AreWeighedByPriority) {
    // Priority 3 against 0 is a weight of 4 to 1: a fifth of ten chunks is two.
    std::vector<hmmrt_policy_share> shares = {share_of(7 * chunk, 3), share_of(3 * chunk, 0)};
    rank(10 * chunk, shares, shares.data());
    EXPECT_EQ(shares[1].rank, 0u);
    EXPECT_GT(shares[0].rank, static_cast<std::uint32_t>(HMMRT_PRIORITY_MAX));
    rank(10 * chunk, shares, &shares[1]);
    EXPECT_EQ(shares[0].rank, HMMRT_SHARE_KEPT);
}

TEST(Shares, OfLowPriorityGoFirstAmongUsersOverTheirShare) {
    std::vector<hmmrt_policy_share> shares = {share_of(4 * chunk, 10), share_of(5 * chunk, 11),
                                              share_of(0, 200)};
    rank(9 * chunk, shares, &shares[2]);
    EXPECT_LT(shares[0].rank, shares[1].rank);
}

TEST(Shares, WithoutAnAskerAreTakenFromAll) {
    std::vector<hmmrt_policy_share> shares = {share_of(6 * chunk), share_of(2 * chunk)};
    rank(8 * chunk, shares, nullptr);
    EXPECT_LT(shares[0].rank, shares[1].rank);
    EXPECT_NE(shares[1].rank, HMMRT_SHARE_KEPT);
}

TEST(Shares, DoNotOverflow) {
    std::vector<hmmrt_policy_share> shares(65535,
                                           share_of(std::uint64_t{1} << 20, HMMRT_PRIORITY_MAX));
    shares[0].used = std::uint64_t{1} << 36;
    rank(std::uint64_t{1} << 36, shares, &shares[1]);
    EXPECT_EQ(shares[0].rank, static_cast<std::uint32_t>(HMMRT_PRIORITY_MAX));
    EXPECT_GT(shares[1].rank, static_cast<std::uint32_t>(HMMRT_PRIORITY_MAX));
}

TEST(SharePick, TakesTheLowestRankAndOfThoseTheOneUsedLongestAgo) {
    hmmrt_policy_share_pick pick;
    hmmrt_policy_share_begin(&pick);
    EXPECT_FALSE(hmmrt_policy_share_better(&pick, HMMRT_SHARE_KEPT, 0));
    EXPECT_TRUE(hmmrt_policy_share_better(&pick, 300, 5));
    EXPECT_FALSE(hmmrt_policy_share_better(&pick, 300, 5));
    EXPECT_FALSE(hmmrt_policy_share_better(&pick, 301, 1));
    EXPECT_TRUE(hmmrt_policy_share_better(&pick, 300, 4));
    EXPECT_TRUE(hmmrt_policy_share_better(&pick, 7, 100));
    EXPECT_FALSE(hmmrt_policy_share_better(&pick, 300, 0));
    EXPECT_FALSE(hmmrt_policy_share_better(&pick, HMMRT_SHARE_KEPT, 0));
}

/// A device with chunks that each belong to one user, least recently used
/// first.
struct Device {
    std::uint64_t chunks;
    std::vector<hmmrt_policy_share> shares;
    std::list<std::size_t> recent;

    /// @user requests one more chunk. Returns the user that lost a chunk,
    /// or shares.size() if no eviction was needed or none was possible.
    std::size_t want(std::size_t user) {
        std::size_t victim = shares.size();
        if (recent.size() >= chunks) {
            const auto found = choose(user);
            if (found == recent.end()) return victim;
            victim = *found;
            shares[victim].used -= chunk;
            recent.erase(found);
        }
        shares[user].used += chunk;
        recent.push_back(user);
        return victim;
    }

    std::list<std::size_t>::iterator choose(std::size_t user) {
        hmmrt_policy_share_sum sum = {.size = chunks * chunk, .weight = 0};
        for (std::size_t i = 0; i < shares.size(); i++)
            if (shares[i].used || i == user) hmmrt_policy_share_add(&sum, &shares[i]);
        for (std::size_t i = 0; i < shares.size(); i++)
            if (shares[i].used || i == user)
                hmmrt_policy_share_rank(&sum, &shares[i], &shares[user]);
        hmmrt_policy_share_pick pick;
        hmmrt_policy_share_begin(&pick);
        auto found = recent.end();
        std::uint64_t used_at = 0;
        for (auto at = recent.begin(); at != recent.end(); ++at)
            if (hmmrt_policy_share_better(&pick, shares[*at].rank, used_at++)) found = at;
        return found;
    }
};

TEST(SharesOfADevice, OneAloneIsLeastRecentlyUsed) {
    Device device = {.chunks = 8, .shares = {share_of(0)}, .recent = {}};
    for (int i = 0; i < 8; i++)
        EXPECT_EQ(device.want(0), 1u);
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(device.choose(0), device.recent.begin());
        EXPECT_EQ(device.want(0), 0u);
    }
}

// After random requests each user that wants more has at least its share, and
// no request on a full device fails to find a victim.
TEST(SharesOfADevice, EveryUserGetsItsShareWhateverTheOthersDo) {
    const unsigned int seed = std::random_device{}();
    std::mt19937 random(seed);
    for (int round = 0; round < 200; round++) {
        Device device = {.chunks = 16 + random() % 48, .shares = {}, .recent = {}};
        const std::size_t users = 1 + random() % 6;
        std::uint64_t weights = 0;
        for (std::size_t i = 0; i < users; i++) {
            device.shares.push_back(share_of(0, random() % (HMMRT_PRIORITY_MAX + 1)));
            weights += device.shares.back().priority + 1;
        }
        for (int i = 0; i < 3000; i++) {
            const bool full = device.recent.size() >= device.chunks;
            EXPECT_EQ(device.want(random() % users) != users, full)
                << "seed " << seed << " round " << round;
        }
        for (std::size_t i = 0; i < users; i++) {
            const auto& share = device.shares[i];
            const std::uint64_t fair = device.chunks * (share.priority + 1) / weights;
            EXPECT_GE(share.used / chunk, fair)
                << "seed " << seed << " round " << round << " user " << i;
        }
    }
}

} // namespace
