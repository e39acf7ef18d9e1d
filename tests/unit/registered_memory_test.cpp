// SPDX-License-Identifier: MIT
// The pages that are locked while registrations come and go.
#include "base/own_memory.hpp"
#include "memory_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <utility>

namespace {

class Registered : public MemoryOverFakes {
  protected:
    hmmError_t add(std::size_t from, std::size_t bytes, unsigned flags = 0) {
        const hmmError_t code = hmmHostRegister(&memory()[from], bytes, flags);
        if (code == hmmSuccess) registered_.insert(from);
        return code;
    }
    hmmError_t remove(std::size_t from) {
        registered_.erase(from);
        return hmmHostUnregister(&memory()[from]);
    }
    /// Locks and unlocks as the program itself does.
    void lock(std::size_t number) { kernel.memory.locked.insert(address(number * page)); }
    void unlock(std::size_t number) { kernel.memory.locked.erase(address(number * page)); }
    void expect_locked(std::initializer_list<std::size_t> numbers) {
        std::set<std::uint64_t> expected;
        for (const std::size_t number : numbers)
            expected.insert(address(number * page));
        EXPECT_EQ(kernel.memory.locked, expected);
    }
    ~Registered() override {
        for (const std::size_t from : registered_)
            EXPECT_EQ(hmmHostUnregister(&memory()[from]), hmmSuccess);
        expect_locked({});
    }

  private:
    std::set<std::size_t> registered_;
};

TEST_F(Registered, PagesThatTheRangeTouchesAreLocked) {
    EXPECT_EQ(add(page - 1, page + 2), hmmSuccess);
    expect_locked({0, 1, 2});
    EXPECT_EQ(remove(page - 1), hmmSuccess);
    expect_locked({});
}

TEST_F(Registered, AByteIsRegisteredOnce) {
    EXPECT_EQ(add(page, page), hmmSuccess);
    for (const auto& [from, bytes] : {std::pair{page, page},
                                      {page + 1, 1 * page},
                                      {page - 1, 2ul},
                                      {2 * page - 1, 1ul},
                                      {0ul, 3 * page}})
        EXPECT_EQ(add(from, bytes), hmmErrorHostMemoryAlreadyRegistered) << from;
    expect_locked({1});
    EXPECT_EQ(add(0, page), hmmSuccess);
    EXPECT_EQ(add(2 * page, 1), hmmSuccess);
}

TEST_F(Registered, APageIsUnlockedWithTheLastThatSharesIt) {
    EXPECT_EQ(add(10, 10), hmmSuccess);
    EXPECT_EQ(add(20, 2 * page), hmmSuccess);
    EXPECT_EQ(add(2 * page + 50, 10), hmmSuccess);
    expect_locked({0, 1, 2});
    EXPECT_EQ(remove(20), hmmSuccess);
    expect_locked({0, 2});
    EXPECT_EQ(remove(10), hmmSuccess);
    expect_locked({2});
    EXPECT_EQ(add(2 * page, 10), hmmSuccess);
    EXPECT_EQ(remove(2 * page + 50), hmmSuccess);
    expect_locked({2});
}

TEST_F(Registered, OnlyWhatWasRegisteredIsUnregistered) {
    EXPECT_EQ(hmmHostUnregister(memory().data()), hmmErrorHostMemoryNotRegistered);
    EXPECT_EQ(add(0, page), hmmSuccess);
    EXPECT_EQ(hmmHostUnregister(&memory()[1]), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostUnregister(&memory()[page]), hmmErrorHostMemoryNotRegistered);
    EXPECT_EQ(hmmHostUnregister(nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(remove(0), hmmSuccess);
    EXPECT_EQ(hmmHostUnregister(memory().data()), hmmErrorHostMemoryNotRegistered);
}

TEST_F(Registered, MemoryOfTheLibraryIsNot) {
    char *device = nullptr, *managed = nullptr, *host = nullptr;
    ASSERT_EQ(hmmMalloc(&device, page), hmmSuccess);
    ASSERT_EQ(hmmMallocManaged(&managed, page), hmmSuccess);
    ASSERT_EQ(hmmMallocHost(&host, page), hmmSuccess);
    for (char* const each : {device, managed, host}) {
        EXPECT_EQ(hmmHostRegister(each, page, 0), hmmErrorInvalidValue);
        EXPECT_EQ(hmmHostRegister(each + 1, 1, 0), hmmErrorInvalidValue);
        EXPECT_EQ(hmmHostUnregister(each), hmmErrorInvalidValue);
    }
    EXPECT_EQ(hmmFree(device), hmmSuccess);
    EXPECT_EQ(hmmFree(managed), hmmSuccess);
    EXPECT_EQ(hmmFreeHost(host), hmmSuccess);
}

TEST_F(Registered, AFailedLockLeavesNothingBehindAndNamesTheLimit) {
    EXPECT_EQ(add(10, 10), hmmSuccess);
    kernel.memory.lock_error = ENOMEM;
    EXPECT_EQ(add(20, 4 * page), hmmErrorMemoryAllocation);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"RLIMIT_MEMLOCK is 65536 bytes"}));
    expect_locked({0});
    kernel.memory.lock_error = EPERM;
    EXPECT_EQ(add(20, 4 * page), hmmErrorNotPermitted);
    kernel.memory.lock_error = EAGAIN;
    EXPECT_EQ(add(20, 4 * page), hmmErrorMemoryAllocation);
    kernel.memory.lock_error = 0;
    expect_locked({0});
    EXPECT_EQ(add(20, 4 * page), hmmSuccess);
}

TEST_F(Registered, WhatTheProgramHadLockedStaysLocked) {
    for (const std::size_t number : {1, 2, 4})
        lock(number);
    EXPECT_EQ(add(0, 6 * page), hmmSuccess);
    expect_locked({0, 1, 2, 3, 4, 5});
    EXPECT_EQ(remove(0), hmmSuccess);
    expect_locked({1, 2, 4});
    EXPECT_EQ(add(2 * page, 2 * page), hmmSuccess);
    unlock(1);
    EXPECT_EQ(remove(2 * page), hmmSuccess);
    expect_locked({2, 4});
    unlock(2);
    EXPECT_EQ(add(page, 3 * page), hmmSuccess);
    EXPECT_EQ(remove(page), hmmSuccess);
    expect_locked({4});
    unlock(4);
}

TEST_F(Registered, AMappingIsAskedOnceWhetherTheProgramLockedIt) {
    for (std::size_t number = 0; number < pages; number++)
        lock(number);
    EXPECT_EQ(add(0, memory().size()), hmmSuccess);
    EXPECT_LE(kernel.memory.lock_questions, 2);
    EXPECT_EQ(remove(0), hmmSuccess);
    unlock(3);
    kernel.memory.lock_questions = 0;
    EXPECT_EQ(add(page, 6 * page), hmmSuccess);
    EXPECT_LE(kernel.memory.lock_questions, 4);
    EXPECT_EQ(remove(page), hmmSuccess);
    expect_locked({0, 1, 2, 4, 5, 6, 7});
    for (std::size_t number = 0; number < pages; number++)
        unlock(number);
}

TEST_F(Registered, WhatTheProgramHadLockedIsKnownOfAPageThatIsShared) {
    lock(1);
    EXPECT_EQ(add(10, page), hmmSuccess);
    EXPECT_EQ(add(page + 10, 2 * page), hmmSuccess);
    expect_locked({0, 1, 2, 3});
    EXPECT_EQ(remove(10), hmmSuccess);
    expect_locked({1, 2, 3});
    EXPECT_EQ(add(20, page - 20), hmmSuccess);
    EXPECT_EQ(remove(page + 10), hmmSuccess);
    expect_locked({0, 1});
    EXPECT_EQ(remove(20), hmmSuccess);
    expect_locked({1});
    unlock(1);
}

TEST_F(Registered, AFailedLockKeepsWhatTheProgramHadLocked) {
    lock(1);
    for (int* const error : {&kernel.memory.lock_error, &kernel.memory.populate_error}) {
        *error = ENOMEM;
        EXPECT_EQ(add(0, 4 * page), hmmErrorMemoryAllocation);
        expect_locked({1});
        *error = 0;
    }
    unlock(1);
}

/// Exhausts the runtime's own pool for the lifetime of the object.
class no_own_memory {
  public:
    no_own_memory() {
        kernel.map_error = ENOMEM;
        for (std::size_t bytes = 8; bytes <= 1024; bytes += 8) {
            try {
                for (;;)
                    taken_.emplace_back(hmmrt::own_pool()->allocate(bytes), bytes);
            } catch (const std::bad_alloc&) {
                continue;
            }
        }
    }
    no_own_memory(const no_own_memory&) = delete;
    no_own_memory& operator=(const no_own_memory&) = delete;
    ~no_own_memory() {
        kernel.map_error = 0;
        for (const auto& [memory, bytes] : taken_)
            hmmrt::own_pool()->deallocate(memory, bytes);
    }

  private:
    std::vector<std::pair<void*, std::size_t>> taken_;
};

TEST_F(Registered, OutOfMemoryNothingStaysLockedThatIsNotRegistered) {
    for (const std::size_t number : {0, 1, 2, 3})
        lock(number);
    EXPECT_EQ(add(0, 2 * page), hmmSuccess);
    {
        std::optional<no_own_memory> none;
        kernel.memory.while_locking = [&] { none.emplace(); };
        kernel.memory.populate_error = EAGAIN;
        EXPECT_EQ(add(2 * page, 4 * page), hmmErrorMemoryAllocation);
        kernel.memory.while_locking = nullptr;
        kernel.memory.populate_error = 0;
    }
    expect_locked({0, 1, 2, 3});

    EXPECT_EQ(add(2 * page, 3 * page + 1), hmmSuccess);
    EXPECT_EQ(add(5 * page + 1, 1), hmmSuccess);
    {
        const no_own_memory none;
        EXPECT_EQ(add(6 * page, 1), hmmErrorMemoryAllocation);
        EXPECT_EQ(remove(2 * page), hmmSuccess);
        expect_locked({0, 1, 2, 3, 5});
        EXPECT_EQ(remove(5 * page + 1), hmmSuccess);
        EXPECT_EQ(remove(0), hmmSuccess);
    }
    expect_locked({0, 1, 2, 3});
    for (const std::size_t number : {0, 1, 2, 3})
        unlock(number);
}

/// Registers and unregisters ranges of a few bytes to a few pages at random,
/// and locks pages as the program itself does. Each page stays locked exactly
/// as long as a registration or a lock of the program covers it.
TEST_F(Registered, InAnyOrderAPageIsLockedAsLongAsItShouldBe) {
    std::mt19937 random(1);
    std::map<std::size_t, std::size_t> registered; // size by offset
    std::set<std::size_t> own;
    const auto users = [&](std::size_t number) {
        return std::count_if(registered.begin(), registered.end(), [&](const auto& each) {
            return each.first / page <= number && (each.first + each.second - 1) / page >= number;
        });
    };
    for (int i = 0; i < 5000; i++) {
        const std::size_t from = random() % memory().size();
        const std::size_t bytes =
            std::min(random() % 2 == 0 ? random() % 64 + 1 : random() % (4 * page) + 1,
                     memory().size() - from);
        if (random() % 3 == 0 && !registered.empty()) {
            const auto gone =
                std::next(registered.begin(), static_cast<long>(random() % registered.size()));
            ASSERT_EQ(remove(gone->first), hmmSuccess);
            registered.erase(gone);
        } else if (random() % 4 == 0) {
            const std::size_t number = from / page;
            if (users(number) > 0) continue; // a later lock cannot be distinguished
            if (own.erase(number) == 0) own.insert(number);
            (own.count(number) != 0) ? lock(number) : unlock(number);
        } else {
            const auto next = registered.lower_bound(from);
            const bool free = (next == registered.end() || from + bytes <= next->first) &&
                              (next == registered.begin() ||
                               std::prev(next)->first + std::prev(next)->second <= from);
            kernel.memory.populate_error = random() % 4 == 0 ? ENOMEM : 0;
            const bool fails = kernel.memory.populate_error != 0;
            EXPECT_EQ(add(from, bytes), !free   ? hmmErrorHostMemoryAlreadyRegistered
                                        : fails ? hmmErrorMemoryAllocation
                                                : hmmSuccess);
            kernel.memory.populate_error = 0;
            if (free && !fails) registered[from] = bytes;
        }
        for (std::size_t number = 0; number < pages; number++)
            ASSERT_EQ(kernel.memory.locked.count(address(number * page)) != 0,
                      users(number) > 0 || own.count(number) != 0)
                << "page " << number << " after " << i << " steps";
    }
    for (const auto& each : registered)
        ASSERT_EQ(remove(each.first), hmmSuccess);
    for (const std::size_t number : own)
        unlock(number);
}

/// Another thread uses the memory while it migrates back to system memory, and
/// while it is locked. The registration must not block that thread and must not
/// be visible to it.
TEST_F(Registered, AnUnfinishedRegistrationIsInvisibleAndBlocksNoThread) {
    hmm::prefetch(memory(), hmm::device(0)); // so that the registration has pages to move back
    hmm::synchronize();
    std::byte* const first = &memory()[page + 100];
    const auto meanwhile = [&] {
        hmmPointerAttributes found = {};
        unsigned flags = 0;
        EXPECT_EQ(hmmPointerGetAttributes(&found, first), hmmSuccess);
        EXPECT_EQ(found.type, hmmMemoryTypeUnregistered);
        EXPECT_EQ(hmmHostGetFlags(&flags, first), hmmErrorInvalidValue);
        EXPECT_EQ(hmmHostUnregister(first), hmmErrorHostMemoryNotRegistered);
        EXPECT_EQ(hmmHostRegister(first + page, 1, 0), hmmErrorHostMemoryAlreadyRegistered);
        EXPECT_EQ(hmmHostUnregister(memory().data()), hmmSuccess);
        EXPECT_EQ(hmmHostRegister(first + 2 * page, page, 0), hmmSuccess);
    };
    for (auto* const hook : {&kernel.memory.while_prefetching, &kernel.memory.while_locking}) {
        for (const int error : {0, ENOMEM}) {
            EXPECT_EQ(hmmHostRegister(memory().data(), page + 100, 0), hmmSuccess);
            std::future<void> other;
            std::atomic<bool> begun = false;
            *hook = [&] {
                if (begun.exchange(true)) return;
                other = std::async(std::launch::async, meanwhile);
                EXPECT_EQ(other.wait_for(std::chrono::seconds(30)), std::future_status::ready);
                kernel.memory.populate_error = error;
            };
            EXPECT_EQ(hmmHostRegister(first, 2 * page, 0),
                      error != 0 ? hmmErrorMemoryAllocation : hmmSuccess);
            kernel.memory.populate_error = 0;
            other.get();
            *hook = nullptr;
            if (error != 0) {
                expect_locked({3, 4});
            } else {
                expect_locked({1, 2, 3, 4});
                EXPECT_EQ(hmmHostUnregister(first), hmmSuccess);
            }
            EXPECT_EQ(hmmHostUnregister(first + 2 * page), hmmSuccess);
            expect_locked({});
        }
    }
}

TEST_F(Registered, WhatIsRefusedMovesNothing) {
    prefetch(memory(), hmm::device(0));
    kernel.memory.lock_error = ENOMEM;
    EXPECT_EQ(add(0, page), hmmErrorMemoryAllocation);
    kernel.memory.lock_error = 0;
    auto* const before_hole = reinterpret_cast<std::byte*>(fakes::fake_memory::hole) - page;
    EXPECT_EQ(hmmHostRegister(before_hole, 2 * page, 0), hmmErrorInvalidValue);
    EXPECT_EQ(kernel.memory.prefetches.size(), 1u);
    EXPECT_EQ(hmm::residency(memory()).on(hmm::host), 0u);
}

TEST_F(Registered, AByteThatIsRegisteredAlreadyMovesNothing) {
    EXPECT_EQ(add(0, 1), hmmSuccess);
    prefetch(memory(), hmm::device(0));
    const std::size_t before = kernel.memory.prefetches.size();
    EXPECT_EQ(add(0, page), hmmErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(kernel.memory.prefetches.size(), before);
}

TEST_F(Registered, MemoryMigratesBackFirst) {
    prefetch(memory(), hmm::device(0));
    EXPECT_EQ(add(0, page), hmmSuccess);
    EXPECT_EQ(hmm::residency(memory()).on(hmm::host), 1u);
}

TEST_F(Registered, ArgumentsAreChecked) {
    EXPECT_EQ(add(0, 0), hmmErrorInvalidValue);
    EXPECT_EQ(add(0, SIZE_MAX), hmmErrorInvalidValue);
    EXPECT_EQ(add(0, page, 16), hmmErrorInvalidValue);
    EXPECT_EQ(add(0, page, hmmHostRegisterIoMemory), hmmErrorNotSupported);
    EXPECT_EQ(hmmHostRegister(hole(), page, 0), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"not mapped"}));
    expect_locked({});
}

TEST_F(Registered, PointersIntoItHaveFlagsAndAreGoodOnDevices) {
    constexpr unsigned some = hmmHostRegisterPortable | hmmHostRegisterReadOnly;
    EXPECT_EQ(add(16, 32, some), hmmSuccess);
    unsigned flags = 0;
    void* pointer = nullptr;
    EXPECT_EQ(hmmHostGetFlags(&flags, &memory()[47]), hmmSuccess);
    EXPECT_EQ(flags, some | hmmHostRegisterMapped);
    EXPECT_EQ(hmmHostGetDevicePointer(&pointer, &memory()[20], 0), hmmSuccess);
    EXPECT_EQ(pointer, &memory()[20]);
    EXPECT_EQ(hmmHostGetDevicePointer(&pointer, &memory()[20], 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostGetDevicePointer(nullptr, &memory()[20], 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostGetFlags(nullptr, &memory()[20]), hmmErrorInvalidValue);
    for (const std::size_t outside : {15, 48}) {
        EXPECT_EQ(hmmHostGetFlags(&flags, &memory()[outside]), hmmErrorInvalidValue);
        EXPECT_EQ(hmmHostGetDevicePointer(&pointer, &memory()[outside], 0), hmmErrorInvalidValue);
    }
}

TEST_F(Registered, OwnersMoveTheirRegistration) {
    hmm::registered_memory first(memory().first(page));
    hmm::registered_memory second = std::move(first);
    EXPECT_TRUE(first.get().empty());
    EXPECT_EQ(second.get().data(), memory().data());
    expect_locked({0});
    EXPECT_THROW(static_cast<void>(hmm::registered_memory(memory().first(1))), hmm::error);
}

} // namespace
