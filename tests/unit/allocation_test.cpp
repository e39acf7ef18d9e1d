// SPDX-License-Identifier: MIT
// Memory that the library allocates, of devices and of the host, and its
// attributes.
#include "memory_fixture.hpp"
#include "own_memory.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <vector>

using fakes::kernel;

namespace {

class Allocation : public MemoryOverFakes {
  protected:
    static hmmPointerAttributes attributes_of(const void* ptr) {
        hmmPointerAttributes found;
        std::memset(&found, 0xff, sizeof(found));
        EXPECT_EQ(hmmPointerGetAttributes(&found, ptr), hmmSuccess);
        for (const int each : found.reserved)
            EXPECT_EQ(each, 0);
        return found;
    }
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
    EXPECT_EQ(flags, hmmHostAllocWriteCombined);
    char* same = nullptr;
    EXPECT_EQ(hmmHostGetDevicePointer(&same, memory), hmmSuccess);
    EXPECT_EQ(same, memory);
    EXPECT_EQ(attributes_of(memory).type, hmmMemoryTypeHost);
    EXPECT_EQ(attributes_of(memory).device, 0);
    EXPECT_EQ(hmmHostUnregister(memory), hmmErrorHostMemoryNotRegistered);
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

} // namespace
