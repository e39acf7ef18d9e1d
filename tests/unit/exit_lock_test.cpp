// SPDX-License-Identifier: MIT
#include "thread/exit_lock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <pthread.h>
#include <thread>
#include <unistd.h>

using namespace hmmrt;

namespace {

// ---- the search

using locks = std::array<recursive_lock, 8>;

library_data data_of(const locks& all) {
    const auto* const begin = reinterpret_cast<const char*>(all.data());
    return {begin, begin + sizeof(all)};
}

recursive_lock held_by(pthread_t owner) {
    return {1, 1, owner};
}

TEST(ExitLock, IsTheOnlyOneThatTheCallerHolds) {
    locks all = {};
    all[1] = held_by(pthread_self() + 64);
    all[7] = held_by(pthread_self());
    EXPECT_EQ(find_held_lock(data_of(all)), &all[7]);
    all[7].word = 2; // others wait
    all[7].count = 3;
    EXPECT_EQ(find_held_lock(data_of(all)), &all[7]);
    all[2] = held_by(pthread_self());
    EXPECT_EQ(find_held_lock(data_of(all)), nullptr) << "the caller holds several";
}

TEST(ExitLock, IsNothingThatIsFree) {
    for (const std::uint32_t word : {0u, 3u}) {
        locks all = {};
        all[2] = {word, 1, pthread_self()};
        EXPECT_EQ(find_held_lock(data_of(all)), nullptr) << word;
    }
    locks all = {};
    all[3] = {1, 0, pthread_self()};
    EXPECT_EQ(find_held_lock(data_of(all)), nullptr);
    EXPECT_EQ(find_held_lock({}), nullptr);
}

TEST(ExitLock, IsFreeAfterItsRelease) {
    recursive_lock lock = {2, 3, pthread_self()};
    release(lock);
    EXPECT_EQ(lock.word, 0u);
    EXPECT_EQ(lock.count, 0u);
    EXPECT_EQ(lock.owner, 0u);
}

// ---- glibc's locks. The lock of exit() has the same type as the locks of streams. Newer glibc
// versions count only from the second acquisition on, so hold() locks twice.

void hold(std::FILE* stream) {
    flockfile(stream);
    flockfile(stream);
}

bool others_can_lock(std::FILE* stream) {
    bool locked = false;
    std::thread([&] {
        locked = ftrylockfile(stream) == 0;
        if (locked) funlockfile(stream);
    }).join();
    return locked;
}

TEST(ExitLock, IsNotThatOfAStandardStream) {
    hold(stdin);
    EXPECT_EQ(find_held_lock(find_glibc_data()), nullptr);
    funlockfile(stdin);
    funlockfile(stdin);
}

/// Holds the lock of standard input, and resets stdin so that the search does not recognize the
/// lock as that of a stream.
class ALockOfGlibc : public testing::Test {
  protected:
    ALockOfGlibc() {
        hold(stream_);
        stdin = nullptr;
    }
    ~ALockOfGlibc() override { stdin = stream_; }

    std::FILE* const stream_ = stdin;
};

TEST_F(ALockOfGlibc, IsFoundAndReleased) {
    recursive_lock* const found = find_held_lock(find_glibc_data());
    ASSERT_EQ(found, static_cast<void*>(stream_->_lock));
    EXPECT_FALSE(others_can_lock(stream_));
    release(*found);
    EXPECT_EQ(find_held_lock(find_glibc_data()), nullptr);
    EXPECT_TRUE(others_can_lock(stream_));
}

TEST_F(ALockOfGlibc, IsTakenByAllThatWaitWhenItIsReleased) {
    recursive_lock* const found = find_held_lock(find_glibc_data());
    ASSERT_NE(found, nullptr);
    std::atomic<int> taken = 0;
    const auto take = [&] {
        flockfile(stream_);
        taken++;
        funlockfile(stream_);
    };
    std::thread one(take), other(take);
    for (int i = 0; i < 10000 && std::atomic_ref(found->word).load() != 2; i++)
        usleep(1000);
    EXPECT_EQ(found->word, 2u);
    EXPECT_EQ(taken, 0);
    release(*found);
    one.join();
    other.join();
    EXPECT_EQ(taken, 2);
}

} // namespace
