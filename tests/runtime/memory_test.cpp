// SPDX-License-Identifier: MIT
// Moves memory through the interface, and checks how much device memory is used.
#include "device_fixture.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <linux/hmmrt.h>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t bytes = 8 << 20;

class Memory : public OnDevice {
  protected:
    Memory() : memory_(map(MAP_PRIVATE | MAP_ANONYMOUS)) { std::memset(memory_.data(), 1, bytes); }
    ~Memory() override { munmap(memory_.data(), bytes); }

    static std::span<unsigned char> map(int flags) {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        return {static_cast<unsigned char*>(memory), bytes};
    }

    static int open_space() {
        const int space = open("/dev/hmmrt", O_RDWR | O_CLOEXEC);
        hmmrt_space_create create = {};
        create.size = sizeof(create);
        EXPECT_EQ(ioctl(space, HMMRT_IOC_SPACE_CREATE, &create), 0);
        return space;
    }

    static std::uint64_t device_faults() {
        const int space = open_space();
        hmmrt_stats stats = {};
        stats.size = sizeof(stats);
        EXPECT_EQ(ioctl(space, HMMRT_IOC_STATS, &stats), 0);
        close(space);
        return stats.out_device_faults;
    }

    /// Returns how many pages of @memory are at @location.
    static std::size_t pages_at(std::span<unsigned char> memory, std::uint32_t location) {
        const int space = open_space();
        std::vector<std::uint32_t> where(memory.size() / page);
        hmmrt_residency query = {};
        query.size = sizeof(query);
        query.addr = reinterpret_cast<std::uint64_t>(memory.data());
        query.len = memory.size();
        query.locations = reinterpret_cast<std::uint64_t>(where.data());
        EXPECT_EQ(ioctl(space, HMMRT_IOC_RESIDENCY, &query), 0) << strerror(errno);
        close(space);
        return static_cast<std::size_t>(std::count(where.begin(), where.end(), location));
    }

    static long sum(std::span<unsigned char> memory) {
        long result = 0;
        for (const unsigned char value : memory)
            result += value;
        return result;
    }

    std::span<unsigned char> memory_;
};

TEST_F(Memory, PrefetchMovesPagesThereAndBack) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(pages_at(memory_, 0), bytes / page);
    hmm::prefetch(memory_, hmm::host);
    hmm::synchronize();
    EXPECT_EQ(pages_at(memory_, HMMRT_LOCATION_HOST), bytes / page);
    EXPECT_EQ(sum(memory_), static_cast<long>(bytes));
}

TEST_F(Memory, PrefetchIsWidenedToPages) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_.subspan(page + 10, 1), hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(pages_at(memory_, 0), 1u);
}

TEST_F(Memory, ADeviceThatWritesHasThePagesAndTheCpuGetsThemBack) {
    NEEDS_PAGES_THAT_MOVE();
    unsigned char* const raw = memory_.data();
    hmm::launch(bytes, [=](std::size_t i) { raw[i]++; });
    hmm::synchronize();
    EXPECT_GT(pages_at(memory_, 0), bytes / page / 2);
    EXPECT_EQ(sum(memory_), 2 * static_cast<long>(bytes));
    EXPECT_EQ(pages_at(memory_, 0), 0u);
}

TEST_F(Memory, SharedMemoryStaysAndWorks) {
    NEEDS_PAGES_THAT_MOVE();
    const auto shared = map(MAP_SHARED | MAP_ANONYMOUS);
    std::memset(shared.data(), 1, bytes);
    hmm::prefetch(shared, hmm::device(0));
    hmm::launch(bytes, [raw = shared.data()](std::size_t i) { raw[i]++; });
    hmm::synchronize();
    EXPECT_EQ(pages_at(shared, 0), 0u);
    EXPECT_EQ(sum(shared), 2 * static_cast<long>(bytes));
    munmap(shared.data(), bytes);
}

TEST_F(Memory, PrefetchOfAHoleIsReportedOnceAndIsNotSticky) {
    expect_usable(); // start the device first: it must not map the hole
    munmap(memory_.data() + bytes / 2, page);
    hmm::prefetch(memory_, hmm::device(0));
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorInvalidValue);
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess);
    expect_usable();
}

TEST_F(Memory, PrefetchToAnotherDeviceStartsIt) {
    NEEDS_PAGES_THAT_MOVE();
    if (hmm::device_count() < 2) GTEST_SKIP();
    hmm::prefetch(memory_, hmm::device(1));
    hmm::synchronize();
    const std::uint32_t second = 1;
    EXPECT_EQ(pages_at(memory_, second), bytes / page);
    EXPECT_EQ(sum(memory_), static_cast<long>(bytes));
    hmm::reset(hmm::device(1));
}

TEST_F(Memory, MemGetInfoFollowsWhatIsOnTheDevice) {
    NEEDS_PAGES_THAT_MOVE();
    std::size_t before = 0, during = 0, total = 0;
    ASSERT_EQ(hmmMemGetInfo(&before, &total), hmmSuccess);
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    ASSERT_EQ(hmmMemGetInfo(&during, &total), hmmSuccess);
    EXPECT_GE(before - during, bytes);
    EXPECT_LT(before - during, 4 * bytes);
}

TEST_F(Memory, ResetMigratesMemoryBack) {
    unsigned char* const raw = memory_.data();
    hmm::launch(bytes, [=](std::size_t i) { raw[i] = 3; });
    hmm::synchronize();
    hmm::reset();
    EXPECT_EQ(sum(memory_), 3 * static_cast<long>(bytes));
}

TEST_F(Memory, ForkAfterMigrationLeavesBothWithTheirOwn) {
    unsigned char* const raw = memory_.data();
    hmm::launch(bytes, [=](std::size_t i) { raw[i] = 5; });
    hmm::synchronize();
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char go;
        static_cast<void>(!read(pipe_ends[0], &go, 1));
        _exit(sum(memory_) == 5 * static_cast<long>(bytes) ? 0 : 1);
    }
    hmm::launch(bytes, [=](std::size_t i) { raw[i] = 6; });
    hmm::synchronize();
    EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the child sees writes of the parent's device";
    EXPECT_EQ(sum(memory_), 6 * static_cast<long>(bytes));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

TEST_F(Memory, ADeviceWriteAfterMprotectDownAndUp) {
    unsigned char* const raw = memory_.data();
    hmm::launch(bytes, [=](std::size_t i) { raw[i] = 2; });
    hmm::synchronize();
    ASSERT_EQ(mprotect(raw, bytes, PROT_READ), 0);
    ASSERT_EQ(mprotect(raw, bytes, PROT_READ | PROT_WRITE), 0);
    hmm::launch(bytes, [=](std::size_t i) { raw[i]++; });
    hmm::synchronize();
    EXPECT_EQ(sum(memory_), 3 * static_cast<long>(bytes));
}

TEST_F(Memory, LaunchesDoNotMakeTheRuntimesPagesTravel) {
    NEEDS_PAGES_THAT_MOVE();
    const auto number = std::make_unique<int>(0);
    const auto launches = [raw = number.get()](int count) {
        for (int i = 0; i < count; i++) {
            hmm::launch(1, [=](std::size_t) { ++*raw; });
            hmm::synchronize();
        }
    };
    launches(20);
    const std::uint64_t before = device_faults();
    launches(100);
    EXPECT_LT(device_faults() - before, 50u); // each lane touches its own once
    EXPECT_EQ(*number, 120);
}

TEST_F(Memory, ForwardedCallsDoNotMakeTheThreadsPagesTravel) {
    NEEDS_PAGES_THAT_MOVE();
    const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const auto calls = [file](std::size_t count) {
        hmm::launch(count, [=](std::size_t i) { // a cancellation point: writes to the TLS
            if (pwrite(file, &i, sizeof(i), 0) != sizeof(i)) std::abort();
        });
        hmm::synchronize();
    };
    calls(20);
    const std::uint64_t before = device_faults();
    calls(100);
    EXPECT_LT(device_faults() - before, 50u); // each lane touches its own once
    close(file);
}

TEST_F(Memory, MappingsMadeOnTheDeviceAreTheProgramsOwn) {
    unsigned char* made = nullptr;
    on_device([&] {
        made = static_cast<unsigned char*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        made[100] = 9;
    });
    EXPECT_EQ(made[100], 9);
    on_device([&] { munmap(made, bytes); });
    EXPECT_EQ(msync(made, page, MS_ASYNC), -1);
    EXPECT_EQ(errno, ENOMEM);
}

// ---- many allocations

/// Returns a value from /proc/self/status, in KiB.
long status_of(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key + ':')) return std::atol(line.c_str() + key.size() + 1);
    return -1;
}

long mappings() {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

bool is_there(const void* memory) {
    unsigned char there;
    const auto first = reinterpret_cast<std::uint64_t>(memory) & ~(page - 1);
    return mincore(reinterpret_cast<void*>(first), 1, &there) == 0;
}

constexpr struct {
    const char* name;
    hmmError_t (*allocate)(void**, std::size_t);
    hmmError_t (*free)(void*);
} kinds[] = {
    {"managed",
     [](void** memory, std::size_t size) {
         return hmmMallocManaged(memory, size, hmmMemAttachGlobal);
     },
     hmmFree},
    {"device", hmmMalloc, hmmFree},
    {"host", hmmMallocHost, hmmFreeHost},
    {"pool", [](void** memory, std::size_t size) { return hmmMallocAsync(memory, size, nullptr); },
     [](void* memory) { return hmmFreeAsync(memory, nullptr); }},
};

class ManyAllocations : public OnDevice {};

TEST_F(ManyAllocations, NeedFewMappings) {
    struct node {
        node* next;
        std::size_t value;
    };
    constexpr std::size_t count = 5000;
    expect_usable();
    for (const auto& kind : kinds) {
        const long before = mappings(), locked = status_of("VmLck");
        std::vector<node*> all(count);
        for (std::size_t i = 0; i < count; i++) {
            void* memory = nullptr;
            ASSERT_EQ(kind.allocate(&memory, sizeof(node)), hmmSuccess) << kind.name;
            all[i] = new (memory) node{i == 0 ? nullptr : all[i - 1], i};
        }
        std::size_t sum = 0;
        on_device([&, last = all.back()] {
            for (const node* at = last; at != nullptr; at = at->next)
                sum += at->value;
        });
        EXPECT_EQ(sum, count * (count - 1) / 2) << kind.name;
        for (std::size_t i = 0; i < count; i += 2)
            ASSERT_EQ(kind.free(all[i]), hmmSuccess) << kind.name;
        hmm::synchronize();
        EXPECT_LT(mappings(), before + 100) << kind.name;
        for (std::size_t i = 1; i < count; i += 2)
            ASSERT_EQ(all[i]->value, i) << kind.name;
        for (std::size_t i = 1; i < count; i += 2)
            ASSERT_EQ(kind.free(all[i]), hmmSuccess) << kind.name;
        hmm::synchronize();
        EXPECT_LT(mappings(), before + 100) << kind.name;
        EXPECT_EQ(status_of("VmLck"), locked) << kind.name;
    }
}

/// Uses up the mappings of the process for its lifetime.
class no_mappings {
  public:
    no_mappings()
        : begin_(static_cast<char*>(
              mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        std::size_t at = page;
        while (at < size && mprotect(begin_ + at, page, PROT_NONE) == 0)
            at += 2 * page;
        used_up_ = at < size;
    }
    no_mappings(const no_mappings&) = delete;
    no_mappings& operator=(const no_mappings&) = delete;
    ~no_mappings() { munmap(begin_, size); }

    bool used_up() const { return used_up_; }

  private:
    static constexpr std::size_t size = 80000 * page;

    char* begin_;
    bool used_up_ = false;
};

TEST_F(ManyAllocations, WithoutMappingsAreFreedAndNothingIsLeft) {
    if (has_sanitizer) GTEST_SKIP() << "a sanitizer needs mappings";
    expect_usable();
    const long locked = status_of("VmLck");
    struct given {
        void* memory;
        hmmError_t (*free)(void*);
    };
    std::vector<given> all;
    for (const auto& kind : kinds)
        for (const std::size_t size : {std::size_t{24}, page, 32 * page})
            for (int i = 0; i < 30; i++) {
                void* memory = nullptr;
                ASSERT_EQ(kind.allocate(&memory, size), hmmSuccess) << kind.name;
                std::memset(memory, 1, size);
                all.push_back({memory, kind.free});
            }
    {
        const no_mappings none;
        if (!none.used_up()) GTEST_SKIP() << "vm.max_map_count is too large";
        for (std::size_t i = 0; i < all.size(); i += 2)
            EXPECT_EQ(all[i].free(all[i].memory), hmmSuccess) << i;
        hmm::synchronize();
        for (const auto& kind : kinds) {
            void* more = nullptr;
            const hmmError_t result = kind.allocate(&more, 40 * page);
            EXPECT_TRUE(result == hmmSuccess || result == hmmErrorMemoryAllocation) << result;
            if (result == hmmSuccess) {
                EXPECT_EQ(kind.free(more), hmmSuccess) << kind.name;
            }
        }
    }
    for (std::size_t i = 1; i < all.size(); i += 2)
        EXPECT_EQ(all[i].free(all[i].memory), hmmSuccess) << i;
    hmm::synchronize();
    for (std::size_t i = 0; i < all.size(); i++)
        EXPECT_FALSE(is_there(all[i].memory)) << i;
    EXPECT_EQ(status_of("VmLck"), locked);
}

} // namespace
