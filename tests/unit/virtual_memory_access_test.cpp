// SPDX-License-Identifier: MIT
// Access to mappings of memory objects, and such mappings in other calls, in
// other threads and in children.
#include "virtual_memory_fixture.hpp"

namespace {

// ---- access

TEST_F(VirtualMemory, AccessIsOfTheLocationsThatAreNamed) {
    const auto [handle, ptr] = map_fresh(2);
    for (const hmmMemLocation& each : {on(0), on(1), host})
        EXPECT_EQ(access(ptr, each), hmmMemAccessFlagsProtNone);
    const hmmMemAccessDesc both[] = {{on(1), hmmMemAccessFlagsProtRead},
                                     {host, hmmMemAccessFlagsProtReadWrite}};
    ASSERT_EQ(hmmMemSetAccess(ptr + unit, unit, both, 2), hmmSuccess);
    EXPECT_EQ(access(ptr + unit, on(0)), hmmMemAccessFlagsProtNone);
    EXPECT_EQ(access(ptr + unit + 1, on(1)), hmmMemAccessFlagsProtRead);
    EXPECT_EQ(access(ptr + unit, host), hmmMemAccessFlagsProtReadWrite);
    EXPECT_EQ(access(ptr + unit, {hmmMemLocationTypeHostNuma, 99}), hmmMemAccessFlagsProtReadWrite);
    EXPECT_EQ(access(ptr, on(1)), hmmMemAccessFlagsProtNone);
    ASSERT_EQ(kernel.objects.accesses.size(), 1u) << "the CPU's is not the kernel's business";
    const hmmrt_access& told = kernel.objects.accesses[0];
    EXPECT_EQ(told.addr, ptr + unit);
    EXPECT_EQ(told.len, unit);
    EXPECT_EQ(told.device_id, 2u);
    EXPECT_EQ(told.access, HMMRT_ACCESS_READ);
    EXPECT_EQ(told.operation, HMMRT_ACCESS_SET);

    ASSERT_EQ(set(ptr, 2, on(1), hmmMemAccessFlagsProtNone), hmmSuccess);
    EXPECT_EQ(access(ptr + unit, on(1)), hmmMemAccessFlagsProtNone);
    EXPECT_EQ(access(ptr + unit, host), hmmMemAccessFlagsProtReadWrite) << "it was not named";
    give_back(handle, ptr, 2);
}

TEST_F(VirtualMemory, PeerCopiesNeedAccessOfTheDeviceThatCopies) {
    const auto [handle, ptr] = map_fresh(2);
    ASSERT_EQ(allow_host(ptr, 2), hmmSuccess);
    ASSERT_EQ(set(ptr, 1, on(0), hmmMemAccessFlagsProtReadWrite), hmmSuccess);
    ASSERT_EQ(set(ptr + unit, 1, on(0), hmmMemAccessFlagsProtRead), hmmSuccess);
    at(ptr + unit)[5] = 7;
    EXPECT_EQ(hmmMemcpyPeer(at(ptr), 0, at(ptr + unit), 1, page), hmmSuccess);
    EXPECT_EQ(at(ptr)[5], 7);
    EXPECT_EQ(hmmMemcpyPeer(at(ptr + unit), 1, at(ptr), 0, page), hmmErrorNotSupported);
    hmmSetDevice(1);
    EXPECT_EQ(hmmMemcpyPeer(at(ptr), 0, at(ptr + unit), 1, page), hmmErrorNotSupported);
    EXPECT_EQ(hmmMemcpyPeer(at(ptr), 0, at(ptr + unit), 1, 0), hmmSuccess) << "nothing is copied";
    hmmSetDevice(0);
    give_back(handle, ptr, 2);
}

TEST_F(VirtualMemory, TheLastOfTwoDescriptionsOfALocationCounts) {
    const auto [handle, ptr] = map_fresh(1);
    const hmmMemAccessDesc all[] = {{on(0), hmmMemAccessFlagsProtReadWrite},
                                    {host, hmmMemAccessFlagsProtReadWrite},
                                    {on(0), hmmMemAccessFlagsProtRead},
                                    {{hmmMemLocationTypeHostNuma, 0}, hmmMemAccessFlagsProtNone}};
    ASSERT_EQ(hmmMemSetAccess(ptr, unit, all, 4), hmmSuccess);
    EXPECT_EQ(access(ptr, on(0)), hmmMemAccessFlagsProtRead);
    EXPECT_EQ(access(ptr, host), hmmMemAccessFlagsProtNone);
    EXPECT_EQ(kernel.objects.accesses.size(), 1u);
    give_back(handle, ptr, 1);
}

TEST_F(VirtualMemory, AccessThatCannotBeSetIsRefused) {
    const auto [handle, ptr] = map_fresh(1, 2);
    const hmmMemAccessDesc good = {on(0), hmmMemAccessFlagsProtRead};
    EXPECT_EQ(hmmMemSetAccess(ptr, 2 * unit, &good, 1), hmmErrorInvalidValue) << "a hole";
    EXPECT_EQ(hmmMemSetAccess(ptr + unit, unit, &good, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemSetAccess(ptr, 0, &good, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemSetAccess(ptr, page, &good, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemSetAccess(ptr, unit, &good, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemSetAccess(ptr, unit, nullptr, 1), hmmErrorInvalidValue);
    EXPECT_EQ(set(ptr, 1, on(0), static_cast<hmmMemAccessFlags>(2)), hmmErrorInvalidValue);
    EXPECT_EQ(set(ptr, 1, on(2), hmmMemAccessFlagsProtRead), hmmErrorInvalidDevice);
    EXPECT_EQ(set(ptr, 1, {hmmMemLocationTypeInvalid, 0}, hmmMemAccessFlagsProtRead),
              hmmErrorInvalidValue);
    unsigned long long flags = 77;
    const hmmMemLocation none = {hmmMemLocationTypeInvalid, 0}, missing = on(2), first = on(0);
    EXPECT_EQ(hmmMemGetAccess(&flags, &none, ptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemGetAccess(&flags, &missing, ptr), hmmErrorInvalidDevice);
    EXPECT_EQ(hmmMemGetAccess(&flags, nullptr, ptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemGetAccess(&flags, &first, ptr + unit), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemGetAccess(&flags, &first, address()), hmmErrorInvalidValue);
    EXPECT_EQ(flags, 77u);
    EXPECT_TRUE(kernel.objects.accesses.empty());
    give_back(handle, ptr, 1, 2);
}

TEST_F(VirtualMemory, AccessThatTheSecondDeviceCannotHaveIsTakenBackFromTheFirst) {
    const auto [handle, ptr] = map_fresh(2);
    ASSERT_EQ(set(ptr, 1, on(0), hmmMemAccessFlagsProtRead), hmmSuccess);
    const hmmMemAccessDesc all[] = {{host, hmmMemAccessFlagsProtReadWrite},
                                    {on(0), hmmMemAccessFlagsProtReadWrite},
                                    {on(1), hmmMemAccessFlagsProtReadWrite}};
    const struct {
        int error;
        hmmError_t code;
    } errors[] = {{EOPNOTSUPP, hmmErrorNotSupported},
                  {ENOMEM, hmmErrorMemoryAllocation},
                  {EINVAL, hmmErrorInvalidValue}};
    for (const auto& each : errors) {
        kernel.objects.accesses.clear();
        kernel.objects.access_error = each.error;
        kernel.objects.accesses_before_error = 1;
        EXPECT_EQ(hmmMemSetAccess(ptr, 2 * unit, all, 3), each.code);
        kernel.objects.access_error = 0;
        ASSERT_EQ(kernel.objects.accesses.size(), 3u);
        EXPECT_EQ(kernel.objects.accesses[1].addr, ptr);
        EXPECT_EQ(kernel.objects.accesses[1].len, unit);
        EXPECT_EQ(kernel.objects.accesses[1].access, HMMRT_ACCESS_READ) << "as it was";
        EXPECT_EQ(kernel.objects.accesses[2].addr, ptr + unit);
        EXPECT_EQ(kernel.objects.accesses[2].access, 0u);
        EXPECT_EQ(access(ptr, on(0)), hmmMemAccessFlagsProtRead);
        EXPECT_EQ(access(ptr + unit, on(0)), hmmMemAccessFlagsProtNone);
        EXPECT_EQ(access(ptr, host), hmmMemAccessFlagsProtNone);
    }
    give_back(handle, ptr, 2);
}

TEST_F(VirtualMemory, AccessThatTheCpuCannotHaveIsTakenBackFromAll) {
    const auto first = create(1), second = create(1);
    const hmmDeviceptr ptr = reserve(3);
    ASSERT_EQ(map(ptr, 1, first), hmmSuccess);
    ASSERT_EQ(map(ptr + unit, 1, second), hmmSuccess);
    ASSERT_EQ(map(ptr + 2 * unit, 1, first), hmmSuccess);
    ASSERT_EQ(set(ptr + unit, 1, host, hmmMemAccessFlagsProtRead), hmmSuccess);
    const hmmMemAccessDesc all[] = {{on(0), hmmMemAccessFlagsProtReadWrite},
                                    {host, hmmMemAccessFlagsProtReadWrite}};
    kernel.objects.protect_error = EACCES;
    EXPECT_EQ(hmmMemSetAccess(ptr, 3 * unit, all, 2), hmmErrorNotSupported);
    kernel.objects.protect_error = ENOMEM;
    kernel.objects.protects_before_error = 0;
    EXPECT_EQ(hmmMemSetAccess(ptr, 3 * unit, all, 2), hmmErrorMemoryAllocation);
    for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(access(ptr + i * unit, on(0)), hmmMemAccessFlagsProtNone);
        EXPECT_EQ(access(ptr + i * unit, host),
                  i == 1 ? hmmMemAccessFlagsProtRead : hmmMemAccessFlagsProtNone);
        EXPECT_EQ(kernel.objects.accesses.back().access, 0u);
    }
    EXPECT_EQ(at(ptr)[unit], 0) << "still readable";
    kernel.objects.protect_error = 0;
    ASSERT_EQ(hmmMemSetAccess(ptr, 3 * unit, all, 2), hmmSuccess);
    at(ptr)[3 * unit - 1] = 1;
    EXPECT_EQ(at(ptr)[unit - 1], 1);
    unmap_and_free(ptr, 3);
    EXPECT_EQ(hmmMemRelease(first), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(second), hmmSuccess);
}

TEST_F(VirtualMemory, AccessEndsWithTheMappingAndWithTheDevice) {
    const auto [handle, ptr] = map_fresh(1);
    const hmmMemAccessDesc all[] = {{on(0), hmmMemAccessFlagsProtRead},
                                    {on(1), hmmMemAccessFlagsProtRead},
                                    {host, hmmMemAccessFlagsProtRead}};
    ASSERT_EQ(hmmMemSetAccess(ptr, unit, all, 3), hmmSuccess);
    hmmSetDevice(1);
    ASSERT_EQ(hmmDeviceReset(), hmmSuccess);
    EXPECT_EQ(access(ptr, on(0)), hmmMemAccessFlagsProtRead);
    EXPECT_EQ(access(ptr, on(1)), hmmMemAccessFlagsProtNone);
    EXPECT_EQ(access(ptr, host), hmmMemAccessFlagsProtRead);
    ASSERT_EQ(hmmMemUnmap(ptr, unit), hmmSuccess);
    ASSERT_EQ(map(ptr, 1, handle), hmmSuccess);
    EXPECT_EQ(access(ptr, on(0)), hmmMemAccessFlagsProtNone);
    EXPECT_EQ(access(ptr, host), hmmMemAccessFlagsProtNone);
    give_back(handle, ptr, 1);
}

/// Touch memory without a SIGSEGV handler: sanitizers install one.
void read_byte(const volatile char* memory) {
    std::signal(SIGSEGV, SIG_DFL);
    static_cast<void>(*memory);
}

void write_byte(volatile char* memory) {
    std::signal(SIGSEGV, SIG_DFL);
    *memory = 1;
}

TEST_F(VirtualMemory, TouchingMemoryWithoutAccessOfTheCpuRaisesSigsegv) {
    const auto [handle, ptr] = map_fresh(1, 2);
    const volatile char* const memory = at(ptr);
    EXPECT_EXIT(read_byte(memory), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(read_byte(memory + unit), testing::KilledBySignal(SIGSEGV), "");
    ASSERT_EQ(set(ptr, 1, host, hmmMemAccessFlagsProtRead), hmmSuccess);
    EXPECT_EQ(memory[0], 0);
    EXPECT_EXIT(write_byte(at(ptr)), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EQ(hmmMemUnmap(ptr, unit), hmmSuccess);
    EXPECT_EXIT(read_byte(memory), testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EQ(hmmMemAddressFree(ptr, 2 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

// ---- with the rest of the interface

TEST_F(VirtualMemory, PointersHaveTheKindOfTheirMemoryObject) {
    hmmMemAllocationProp migratable = pinned_on(on(1));
    migratable.type = hmmMemAllocationTypeManaged;
    const auto of_device = create(1, on(1)), of_host = create(1, host);
    hmmMemGenericAllocationHandle managed = 0;
    ASSERT_EQ(hmmMemCreate(&managed, unit, &migratable, 0), hmmSuccess);
    const hmmDeviceptr ptr = reserve(4);
    const hmmMemoryType types[] = {hmmMemoryTypeDevice, hmmMemoryTypeHost, hmmMemoryTypeManaged};
    const int devices[] = {1, 0, 1};
    const hmmMemGenericAllocationHandle handles[] = {of_device, of_host, managed};
    for (std::size_t i = 0; i < 3; i++)
        ASSERT_EQ(map(ptr + i * unit, 1, handles[i]), hmmSuccess);
    ASSERT_EQ(set(ptr, 1, on(0), hmmMemAccessFlagsProtRead), hmmSuccess);
    ASSERT_EQ(allow_host(ptr + unit, 2), hmmSuccess);
    for (std::size_t i = 0; i < 3; i++) {
        const hmmPointerAttributes found = attributes_of(at(ptr) + i * unit + 9);
        EXPECT_EQ(found.type, types[i]);
        EXPECT_EQ(found.device, devices[i]);
        EXPECT_EQ(found.devicePointer, i == 0 ? at(ptr) + 9 : nullptr);
        EXPECT_EQ(found.hostPointer, i == 0 ? nullptr : at(ptr) + i * unit + 9);
    }
    const hmmPointerAttributes found = attributes_of(at(ptr) + 3 * unit);
    EXPECT_EQ(found.type, hmmMemoryTypeUnregistered) << "only reserved";
    EXPECT_EQ(found.devicePointer, nullptr);
    EXPECT_EQ(found.location, hmmInvalidDeviceId);
    EXPECT_EQ(hmmMemUnmap(ptr, 3 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(ptr, 4 * unit), hmmSuccess);
    for (const auto handle : handles)
        EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

TEST_F(VirtualMemory, OtherCallsThatFreeOrRegisterMemoryRefuseIt) {
    const auto [handle, ptr] = map_fresh(1, 2);
    ASSERT_EQ(allow_host(ptr, 1), hmmSuccess);
    EXPECT_EQ(hmmFree(at(ptr)), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeHost(at(ptr)), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFreeAsync(at(ptr), nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostRegister(at(ptr), page, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostRegister(at(ptr) - 1, 2, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmHostRegister(at(ptr) + 2 * unit - 1, 2, 0), hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.memory.locked.empty());
    give_back(handle, ptr, 1, 2);
    EXPECT_EQ(hmmHostRegister(memory().data(), page, 0), hmmSuccess) << "other memory";
    EXPECT_EQ(hmmHostUnregister(memory().data()), hmmSuccess);
}

TEST_F(VirtualMemory, CopiesReachItThroughTheDevice) {
    const auto [handle, ptr] = map_fresh(1);
    const hmmMemAccessDesc both[] = {{on(0), hmmMemAccessFlagsProtReadWrite},
                                     {host, hmmMemAccessFlagsProtReadWrite}};
    ASSERT_EQ(hmmMemSetAccess(ptr, unit, both, 2), hmmSuccess); // lanes of the fake are threads
    ASSERT_EQ(hmmMemset(at(ptr), 5, unit), hmmSuccess);
    ASSERT_EQ(hmmMemcpy(memory().data(), at(ptr) + unit - page, page, hmmMemcpyDeviceToHost),
              hmmSuccess);
    EXPECT_EQ(memory()[page - 1], std::byte{5});
    give_back(handle, ptr, 1);
}

TEST_F(VirtualMemory, AChildOfForkHasNoDescriptors) {
    std::vector<hmmMemGenericAllocationHandle> handles;
    for (int i = 0; i < 600; i++) // more than fit into a table of the fork guard
        handles.push_back(create(1));
    EXPECT_TRUE(holds_in_child([&] { return kernel.objects.open() == files_; }));
    for (const auto handle : handles)
        EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

TEST_F(VirtualMemory, ThreadsMapAndUnmapSideBySide) {
    const auto handle = create(4);
    std::atomic<int> wrong = 0;
    const auto expect = [&](hmmError_t code) { wrong += code != hmmSuccess; };
    const auto work = [&](int thread) {
        for (int i = 0; i < 200; i++) {
            hmmDeviceptr ptr = 0;
            expect(hmmMemAddressReserve(&ptr, 2 * unit, 0, 0, 0));
            expect(map(ptr, 2, handle, static_cast<std::size_t>(i % 3)));
            expect(allow_host(ptr + unit, 1));
            at(ptr)[unit + static_cast<std::size_t>(thread)] = 1;
            hmmMemGenericAllocationHandle again = 0;
            expect(hmmMemRetainAllocationHandle(&again, at(ptr)));
            expect(hmmMemRelease(again));
            expect(hmmMemUnmap(ptr, unit));
            expect(hmmMemUnmap(ptr + unit, unit));
            expect(hmmMemAddressFree(ptr, 2 * unit));
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

} // namespace
