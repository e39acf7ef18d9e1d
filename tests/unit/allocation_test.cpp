// SPDX-License-Identifier: MIT
// Memory that the library allocates on devices and on the host, and its attributes.
#include "base/own_memory.hpp"
#include "memory_fixture.hpp"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace {

class Allocation : public MemoryOverFakes {
  protected:
    static bool is_zero(const char* memory, std::size_t bytes) {
        return std::all_of(memory, memory + bytes, [](char each) { return each == 0; });
    }
};

TEST_F(Allocation, OfADevicePrefersItAndCanBeTouchedHere) {
    char* memory = nullptr;
    const hmm::scoped_device use(hmm::device(1));
    ASSERT_EQ(hmmMalloc(&memory, 5 * page + 1), hmmSuccess);
    EXPECT_TRUE(is_zero(memory, 5 * page + 1));
    EXPECT_EQ(hmm::attributes(std::span(memory, 6 * page)).preferred.id, 1);
    const hmmPointerAttributes found = attributes_of(memory + 5 * page);
    EXPECT_EQ(found.type, hmmMemoryTypeDevice);
    EXPECT_EQ(found.device, 1);
    EXPECT_EQ(hmmFreeHost(memory), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(memory + page), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
    EXPECT_EQ(hmmFree(memory), hmmErrorInvalidValue);
    EXPECT_EQ(attributes_of(memory).type, hmmMemoryTypeUnregistered);
}

TEST_F(Allocation, OfNothingIsNull) {
    char* memory = reinterpret_cast<char*>(1);
    EXPECT_EQ(hmmMalloc(&memory, 0), hmmSuccess);
    EXPECT_EQ(memory, nullptr);
    memory = reinterpret_cast<char*>(1);
    EXPECT_EQ(hmmHostAlloc(&memory, 0, hmmHostAllocDefault), hmmSuccess);
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(hmmMallocManaged(&memory, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(nullptr), hmmSuccess);
    EXPECT_EQ(hmmFreeHost(nullptr), hmmSuccess);
}

TEST_F(Allocation, OfTooMuchIsAnErrorAndLeavesThePointer) {
    char* memory = nullptr;
    EXPECT_EQ(hmmMalloc(&memory, SIZE_MAX), hmmErrorMemoryAllocation);
    EXPECT_EQ(hmmMalloc(&memory, SIZE_MAX / 2), hmmErrorMemoryAllocation);
    EXPECT_EQ(hmmHostAlloc(&memory, SIZE_MAX, 0), hmmErrorMemoryAllocation);
    EXPECT_EQ(memory, nullptr);
}

TEST_F(Allocation, OfTheHostIsLockedUntilItIsFreed) {
    char* memory = nullptr;
    ASSERT_EQ(hmmMallocHost(&memory, 2 * page, hmmHostAllocWriteCombined), hmmSuccess);
    const auto begin = reinterpret_cast<std::uint64_t>(memory);
    EXPECT_EQ(kernel.memory.locked, (std::set<std::uint64_t>{begin, begin + page}));
    EXPECT_TRUE(is_zero(memory, 2 * page));
    unsigned flags = 0;
    EXPECT_EQ(hmmHostGetFlags(&flags, memory + 7), hmmSuccess);
    EXPECT_EQ(flags, hmmHostAllocWriteCombined | hmmHostAllocMapped);
    char* same = nullptr;
    EXPECT_EQ(hmmHostGetDevicePointer(&same, memory), hmmSuccess);
    EXPECT_EQ(same, memory);
    EXPECT_EQ(attributes_of(memory).type, hmmMemoryTypeHost);
    EXPECT_EQ(attributes_of(memory).device, 0);
    EXPECT_EQ(hmmHostUnregister(memory), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(memory), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeHost(memory + page), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeHost(memory), hmmSuccess);
    EXPECT_EQ(hmmFreeHost(memory), hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.memory.locked.empty());
    EXPECT_EQ(hmmHostAlloc(&memory, page, 8), hmmErrorInvalidValue);
}

TEST_F(Allocation, OfTheHostThatMayNotBeLockedIsGivenBack) {
    char* memory = nullptr;
    kernel.memory.lock_error = EPERM;
    EXPECT_EQ(hmmMallocHost(&memory, page), hmmErrorNotPermitted);
    kernel.memory.lock_error = ENOMEM;
    EXPECT_EQ(hmmMallocHost(&memory, page), hmmErrorMemoryAllocation);
    EXPECT_EQ(memory, nullptr);
    kernel.memory.lock_error = 0;
    EXPECT_EQ(hmmMallocHost(&memory, page), hmmSuccess);
    EXPECT_EQ(hmmFreeHost(memory), hmmSuccess);
}

TEST_F(Allocation, TellsTheDeviceThatWasCurrentAndWhereItIs) {
    char* managed = nullptr;
    const hmm::scoped_device use(hmm::device(1));
    ASSERT_EQ(hmmMallocManaged(&managed, page, hmmMemAttachHost), hmmSuccess);
    hmmPointerAttributes found = attributes_of(managed);
    EXPECT_EQ(found.type, hmmMemoryTypeManaged);
    EXPECT_EQ(found.device, 1);
    EXPECT_EQ(found.location, hmmCpuDeviceId);
    EXPECT_EQ(hmmMemPrefetchAsync(managed, page, 0), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    found = attributes_of(managed);
    EXPECT_EQ(found.device, 1);
    EXPECT_EQ(found.location, 0);
    EXPECT_EQ(hmmFree(managed), hmmSuccess);

    const hmm::registered_memory registered(memory().first(page));
    EXPECT_EQ(attributes_of(memory().data()).device, 1);
    EXPECT_EQ(attributes_of(&memory()[page]).device, hmmInvalidDeviceId) << "just memory";
}

TEST_F(Allocation, IsAttachedWithoutAnyEffectIfTheArgumentsAreRight) {
    char* managed = nullptr;
    const hmm::stream in;
    ASSERT_EQ(hmmMallocManaged(&managed, 2 * page), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), managed), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(nullptr, managed, 0, hmmMemAttachGlobal), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(nullptr, managed, 0, hmmMemAttachHost), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), managed, page), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(nullptr, managed, 0, hmmMemAttachSingle),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), managed, 0, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), managed, 0, 8), hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), managed + page), hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), memory().data()), hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), memory().data(), 1), hmmSuccess);
    static int variable[2], of_devices;
    ASSERT_EQ(hmmRegisterVariable(variable, sizeof(variable), 1), hmmSuccess);
    ASSERT_EQ(hmmRegisterVariable(&of_devices, sizeof(of_devices), 0), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), variable), hmmSuccess);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), &variable[1]), hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAttachMemAsync(in.get(), &of_devices), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocManaged(&managed, page, hmmMemAttachSingle), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(managed), hmmSuccess);
}

TEST_F(Allocation, OfTheRuntimesOwnObjectsGivesMemoryOrThrows) {
    for (const std::size_t bytes : {40, 700, 3000}) {
        std::vector<void*> all;
        kernel.map_error = ENOMEM;
        for (int i = 0; i < 3000; i++) {
            kernel.maps_before_error = i % 6;
            try {
                all.push_back(hmmrt::own_pool()->allocate(bytes));
                ASSERT_NE(all.back(), nullptr);
                std::memset(all.back(), 1, bytes);
            } catch (const std::bad_alloc&) {
                continue;
            }
        }
        kernel.map_error = 0;
        EXPECT_GT(all.size(), 100u);
        for (void* const each : all)
            hmmrt::own_pool()->deallocate(each, bytes);
    }
}

TEST_F(Allocation, OfTheRuntimeIsUnmappedLaterIfItCannotBeNow) {
    hmmrt::own_memory_allocator<char> own;
    char* const first = own.allocate(2 * page);
    char* const second = own.allocate(page);
    unsigned char there[2];
    kernel.unmap_error = ENOMEM;
    own.deallocate(first, 2 * page);
    EXPECT_EQ(mincore(first, 2 * page, there), 0) << "it is still mapped";
    kernel.unmap_error = 0;
    own.deallocate(second, page);
    EXPECT_EQ(mincore(first, 2 * page, there), -1);
    EXPECT_EQ(errno, ENOMEM);
}

// ---- small allocations, which share mappings

using allocator = hmmError_t (*)(void**, std::size_t);

constexpr struct {
    const char* name;
    allocator allocate;
    hmmError_t (*free)(void*);
} kinds[] = {
    {"managed",
     [](void** memory, std::size_t bytes) {
         return hmmMallocManaged(memory, bytes, hmmMemAttachGlobal);
     },
     [](void* memory) { return hmmFree(memory); }},
    {"device", [](void** memory, std::size_t bytes) { return hmmMalloc(memory, bytes); },
     [](void* memory) { return hmmFree(memory); }},
    {"host", [](void** memory, std::size_t bytes) { return hmmMallocHost(memory, bytes); },
     [](void* memory) { return hmmFreeHost(memory); }},
    {"pool",
     [](void** memory, std::size_t bytes) { return hmmMallocAsync(memory, bytes, nullptr); },
     [](void* memory) { return hmmFreeAsync(memory, nullptr); }},
};

class SmallAllocation : public Allocation {
  protected:
    static char* allocate(std::size_t bytes, const allocator from = kinds[0].allocate) {
        void* memory = nullptr;
        EXPECT_EQ(from(&memory, bytes), hmmSuccess);
        return static_cast<char*>(memory);
    }
    static bool is_there(const void* memory) {
        unsigned char there;
        const auto first = reinterpret_cast<std::uint64_t>(memory) & ~(page - 1);
        return mincore(reinterpret_cast<void*>(first), page, &there) == 0;
    }
};

TEST_F(SmallAllocation, NeedsNoMappingOfItsOwn) {
    constexpr std::size_t count = 5000;
    for (const auto& kind : kinds) {
        std::vector<char*> all;
        all.push_back(allocate(24, kind.allocate));
        kernel.map_error = ENOMEM;
        kernel.maps_before_error = 200; // for slabs, and for the tables of the runtime
        while (all.size() < count && !HasFailure())
            all.push_back(allocate(24, kind.allocate));
        kernel.map_error = 0;
        for (char* const each : all) {
            ASSERT_EQ(reinterpret_cast<std::uint64_t>(each) % 256, 0u) << kind.name;
            each[0] = each[255] = 1;
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << kind.name;
        for (char* const each : all)
            EXPECT_EQ(kind.free(each), hmmSuccess) << kind.name;
        EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
        EXPECT_FALSE(is_there(all[count / 2])) << kind.name << ": slabs without cells are unmapped";
    }
    EXPECT_TRUE(kernel.memory.locked.empty());
}

TEST_F(SmallAllocation, IsZeroWhenItIsUsedAgain) {
    for (const auto& kind : kinds) {
        if (kind.allocate == kinds[3].allocate) continue; // its contents are undefined
        for (const std::size_t bytes : {1ul, 256ul, 2000ul, page, 3 * page}) {
            char* const stays = allocate(bytes, kind.allocate);
            std::vector<char*> all;
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 50; i++) {
                    all.push_back(allocate(bytes, kind.allocate));
                    ASSERT_TRUE(is_zero(all.back(), bytes)) << kind.name << ' ' << bytes;
                    std::memset(all.back(), 1, bytes);
                }
                while (all.size() > 10) {
                    ASSERT_EQ(kind.free(all[all.size() / 2]), hmmSuccess);
                    all.erase(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
                }
            }
            for (char* const each : all)
                ASSERT_EQ(kind.free(each), hmmSuccess);
            ASSERT_EQ(kind.free(stays), hmmSuccess);
        }
    }
}

TEST_F(SmallAllocation, IsFreedOnceAndByItsStart) {
    for (const auto& kind : kinds) {
        char* const first = allocate(24, kind.allocate);
        char* const second = allocate(24, kind.allocate);
        EXPECT_EQ(kind.free(first + 8), hmmErrorInvalidValue) << kind.name;
        EXPECT_EQ(kind.free(first), hmmSuccess) << kind.name;
        EXPECT_EQ(kind.free(first), hmmErrorInvalidValue) << kind.name;
        second[0] = 1;
        EXPECT_EQ(kind.free(second), hmmSuccess) << kind.name;
    }
}

TEST_F(SmallAllocation, HasAttributesOfItsOwn) {
    char* const managed = allocate(24);
    char* const ours = allocate(24, kinds[1].allocate);
    const hmm::scoped_device use(hmm::device(1));
    char* const other = allocate(24, kinds[1].allocate);
    EXPECT_EQ(attributes_of(managed).type, hmmMemoryTypeManaged);
    EXPECT_EQ(attributes_of(ours + 255).device, 0);
    EXPECT_EQ(attributes_of(other).device, 1);
    EXPECT_NE(reinterpret_cast<std::uint64_t>(ours) / page,
              reinterpret_cast<std::uint64_t>(other) / page)
        << "devices share no page";
    EXPECT_EQ(hmm::attributes(std::span(other, 24)).preferred.id, 1);
    EXPECT_EQ(attributes_of(ours + 256).type, hmmMemoryTypeUnregistered);
    const auto start = reinterpret_cast<hmmDeviceptr>(ours);
    EXPECT_EQ(range_at(start + 100), address_range(start, 256));
    for (char* const each : {managed, ours, other})
        EXPECT_EQ(hmmFree(each), hmmSuccess);
}

TEST_F(SmallAllocation, PrefersItsDeviceAlsoAfterAReset) {
    char* const before = allocate(24, kinds[1].allocate);
    ASSERT_EQ(hmmDeviceReset(), hmmSuccess);
    kernel.memory.clear(); // the modules forget what names the device
    char* const after = allocate(24, kinds[1].allocate);
    EXPECT_EQ(hmm::attributes(std::span(after, 24)).preferred.id, 0);
    EXPECT_EQ(hmmFree(before), hmmSuccess);
    EXPECT_EQ(hmmFree(after), hmmSuccess);
}

TEST_F(SmallAllocation, AfterAResetLeavesTheAdviceForOthersAsItIs) {
    char* const before = allocate(2 * page, kinds[1].allocate);
    ASSERT_EQ(hmmDeviceReset(), hmmSuccess);
    kernel.memory.clear(); // the modules forget what names the device
    ASSERT_EQ(hmmMemAdvise(before, 2 * page, hmmMemAdviseSetPreferredLocation,
                           {hmmMemLocationTypeHost, 0}),
              hmmSuccess);
    char* const after = allocate(2 * page, kinds[1].allocate);
    EXPECT_EQ(hmm::attributes(std::span(before, 2 * page)).preferred.type, hmmMemLocationTypeHost);
    EXPECT_EQ(hmm::attributes(std::span(after, 2 * page)).preferred.type, hmmMemLocationTypeDevice);
    EXPECT_EQ(hmmFree(before), hmmSuccess);
    EXPECT_EQ(hmmFree(after), hmmSuccess);
}

TEST_F(SmallAllocation, OfTheHostKeepsItsFlags) {
    char *first = nullptr, *second = nullptr;
    ASSERT_EQ(hmmHostAlloc(&first, 24, hmmHostAllocPortable), hmmSuccess);
    ASSERT_EQ(hmmHostAlloc(&second, 24, hmmHostAllocWriteCombined), hmmSuccess);
    unsigned flags = 0;
    EXPECT_EQ(hmmHostGetFlags(&flags, first), hmmSuccess);
    EXPECT_EQ(flags, hmmHostAllocPortable | hmmHostAllocMapped);
    EXPECT_EQ(hmmHostGetFlags(&flags, second), hmmSuccess);
    EXPECT_EQ(flags, hmmHostAllocWriteCombined | hmmHostAllocMapped);
    EXPECT_EQ(hmmFreeHost(first), hmmSuccess);
    EXPECT_EQ(kernel.memory.locked.count(reinterpret_cast<std::uint64_t>(second) & ~(page - 1)), 1u)
        << "the page stays locked";
    EXPECT_EQ(hmmFreeHost(second), hmmSuccess);
    EXPECT_TRUE(kernel.memory.locked.empty());
}

TEST_F(SmallAllocation, GetsAMappingIfASlabCannotBeLocked) {
    kernel.memory.lock_error = ENOMEM;
    void* memory = nullptr;
    EXPECT_EQ(hmmMallocHost(&memory, 24), hmmErrorMemoryAllocation);
    kernel.memory.lock_error = 0;
    char* const found = allocate(24, kinds[2].allocate);
    EXPECT_EQ(hmmFreeHost(found), hmmSuccess);
    EXPECT_TRUE(kernel.memory.locked.empty());
}

/// Allocations from one page to 2 MiB and more, inside and outside of slabs.
TEST_F(SmallAllocation, ThatCannotBeUnmappedIsUnmappedLater) {
    for (const auto& kind : kinds) {
        std::vector<char*> all;
        for (const std::size_t bytes : {24ul, page, 16 * page, 20 * page, 1000 * page})
            for (int i = 0; i < 3; i++)
                all.push_back(allocate(bytes, kind.allocate));
        char* const last = allocate(page * 17, kind.allocate);
        kernel.unmap_error = ENOMEM;
        for (char* const each : all)
            EXPECT_EQ(kind.free(each), hmmSuccess) << kind.name;
        EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
        kernel.unmap_error = 0;
        EXPECT_EQ(kind.free(last), hmmSuccess);
        EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
        char* const again = allocate(24, kind.allocate); // slabs are tried again then
        for (char* const each : all)
            EXPECT_TRUE(!is_there(each) || (each >= again && each < again + (64 << 10)))
                << kind.name;
        EXPECT_EQ(kind.free(again), hmmSuccess);
        EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    }
}

} // namespace
