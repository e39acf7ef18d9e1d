// SPDX-License-Identifier: MIT
// Memory objects, reserved ranges and mappings: the requests that calls lead to, and the state
// after errors.
#include "virtual_memory_fixture.hpp"

#include "sys/syscalls.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace {

// ---- memory objects

TEST_F(VirtualMemory, GranularityIsThatOfTheBlocksForBothOptions) {
    const hmmMemAllocationProp prop = pinned_on(on(0));
    for (const auto option :
         {hmmMemAllocationGranularityMinimum, hmmMemAllocationGranularityRecommended}) {
        std::size_t found = 0;
        EXPECT_EQ(hmmMemGetAllocationGranularity(&found, &prop, option), hmmSuccess);
        EXPECT_EQ(found, unit);
    }
    std::size_t found = 0;
    const auto other = static_cast<hmmMemAllocationGranularity>(2);
    EXPECT_EQ(hmmMemGetAllocationGranularity(&found, &prop, other), hmmErrorInvalidValue);
}

TEST_F(VirtualMemory, PropertiesThatNoMemoryObjectHasAreRefused) {
    struct wrong_property {
        const char* name;
        hmmError_t code;
        void (*change)(hmmMemAllocationProp&);
    };
    using prop_type = hmmMemAllocationProp;
    const wrong_property all[] = {
        {"no type", hmmErrorInvalidValue,
         [](prop_type& p) { p.type = hmmMemAllocationTypeInvalid; }},
        {"unknown type", hmmErrorInvalidValue,
         [](prop_type& p) { p.type = static_cast<hmmMemAllocationType>(3); }},
        {"no location", hmmErrorInvalidValue,
         [](prop_type& p) { p.location.type = hmmMemLocationTypeInvalid; }},
        {"no such node", hmmErrorInvalidValue,
         [](prop_type& p) {
             p.location = {hmmMemLocationTypeHostNuma, -1};
         }},
        {"no such device", hmmErrorInvalidDevice, [](prop_type& p) { p.location.id = 2; }},
        {"Windows", hmmErrorNotSupported,
         [](prop_type& p) { p.requestedHandleTypes = hmmMemHandleTypeWin32; }},
        {"fabric", hmmErrorNotSupported,
         [](prop_type& p) { p.requestedHandleTypes = hmmMemHandleTypeFabric; }},
        {"unknown handle type", hmmErrorInvalidValue,
         [](prop_type& p) {
             p.requestedHandleTypes = static_cast<hmmMemAllocationHandleType>(0x10);
         }},
        {"metadata", hmmErrorInvalidValue, [](prop_type& p) { p.win32HandleMetaData = &p; }},
        {"unknown compression", hmmErrorInvalidValue,
         [](prop_type& p) { p.allocFlags.compressionType = 2; }},
        {"RDMA", hmmErrorNotSupported, [](prop_type& p) { p.allocFlags.gpuDirectRDMACapable = 1; }},
        {"usage", hmmErrorNotSupported, [](prop_type& p) { p.allocFlags.usage = 1; }},
        {"reserved", hmmErrorInvalidValue, [](prop_type& p) { p.allocFlags.reserved[3] = 1; }},
    };
    for (const wrong_property& each : all) {
        hmmMemAllocationProp prop = pinned_on(on(0));
        each.change(prop);
        hmmMemGenericAllocationHandle handle = 0;
        std::size_t found = 0;
        EXPECT_EQ(hmmMemCreate(&handle, unit, &prop, 0), each.code) << each.name;
        EXPECT_EQ(hmmMemGetAllocationGranularity(&found, &prop, hmmMemAllocationGranularityMinimum),
                  each.code)
            << each.name;
    }
    EXPECT_TRUE(kernel.objects.creations.empty());
}

TEST_F(VirtualMemory, OtherSizesAndFlagsAreRefused) {
    const hmmMemAllocationProp prop = pinned_on(on(0));
    hmmMemGenericAllocationHandle handle = 0;
    for (const std::size_t wrong :
         {std::size_t{0}, std::size_t{1}, unit - 1, unit + page, SIZE_MAX})
        EXPECT_EQ(hmmMemCreate(&handle, wrong, &prop, 0), hmmErrorInvalidValue) << wrong;
    EXPECT_EQ(hmmMemCreate(&handle, unit, &prop, 1), hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.objects.creations.empty());
}

TEST_F(VirtualMemory, TheKernelIsToldSizeLocationAndKind) {
    constexpr std::uint32_t node = 3; // of the calling thread
    const struct {
        hmmMemLocation given;
        std::uint32_t told;
        hmmMemLocation reported;
    } locations[] = {
        {on(0), 0, on(0)},
        {on(1), 2, on(1)}, // its id
        {host, HMMRT_LOCATION_HOST, host},
        {{hmmMemLocationTypeHostNuma, 1},
         HMMRT_LOCATION_HOST_NODE(1u),
         {hmmMemLocationTypeHostNuma, 1}},
        {{hmmMemLocationTypeHostNumaCurrent, 7},
         HMMRT_LOCATION_HOST_NODE(node),
         {hmmMemLocationTypeHostNuma, 3}},
    };
    for (const auto& each : locations)
        for (const auto type : {hmmMemAllocationTypePinned, hmmMemAllocationTypeManaged}) {
            hmmMemAllocationProp prop = pinned_on(each.given), found = {};
            prop.type = type;
            prop.allocFlags.compressionType = hmmMemAllocationCompressionGeneric;
            hmmMemGenericAllocationHandle handle = 0;
            ASSERT_EQ(hmmMemCreate(&handle, 3 * unit, &prop, 0), hmmSuccess);
            const hmmrt_object_create& told = kernel.objects.creations.back();
            EXPECT_EQ(told.bytes, 3 * unit);
            EXPECT_EQ(told.location, each.told);
            EXPECT_EQ(told.flags,
                      type == hmmMemAllocationTypeManaged ? HMMRT_OBJECT_MIGRATABLE : 0u);
            ASSERT_EQ(hmmMemGetAllocationPropertiesFromHandle(&found, handle), hmmSuccess);
            EXPECT_EQ(found.type, type);
            EXPECT_EQ(found.location.type, each.reported.type);
            EXPECT_EQ(found.location.id, each.reported.id);
            EXPECT_EQ(found.requestedHandleTypes, hmmMemHandleTypePosixFileDescriptor);
            EXPECT_EQ(found.allocFlags.compressionType, hmmMemAllocationCompressionNone);
            EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
        }
}

TEST_F(VirtualMemory, ErrorsOfTheKernelAreThoseOfTheInterface) {
    const hmmMemAllocationProp prop = pinned_on(on(0));
    const struct {
        int error;
        hmmError_t code;
    } errors[] = {{ENOMEM, hmmErrorMemoryAllocation},  {ENODEV, hmmErrorInvalidDevice},
                  {EINVAL, hmmErrorInvalidValue},      {EMFILE, hmmErrorOperatingSystem},
                  {ENFILE, hmmErrorOperatingSystem},   {EOPNOTSUPP, hmmErrorNotSupported},
                  {ENOTTY, hmmErrorInsufficientDriver}};
    for (const auto& each : errors) {
        hmmMemGenericAllocationHandle handle = 77;
        kernel.objects.create_error = each.error;
        EXPECT_EQ(hmmMemCreate(&handle, unit, &prop, 0), each.code) << std::strerror(each.error);
        EXPECT_EQ(handle, 77u);
    }
}

TEST_F(VirtualMemory, AHandleIsReleasedAsOftenAsItWasGiven) {
    const auto handle = create(1), other = create(1);
    EXPECT_NE(handle, 0u);
    EXPECT_NE(handle, other);
    const hmmDeviceptr ptr = reserve(1);
    ASSERT_EQ(map(ptr, 1, handle), hmmSuccess);
    hmmMemGenericAllocationHandle again = 0;
    EXPECT_EQ(hmmMemRetainAllocationHandle(&again, at(ptr) + 12345), hmmSuccess);
    EXPECT_EQ(again, handle);
    give_back(handle, ptr, 1);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmMemRelease(other), hmmSuccess);
}

TEST_F(VirtualMemory, HandlesThatAreNoneAreRefused) {
    const auto released = create(1);
    ASSERT_EQ(hmmMemRelease(released), hmmSuccess);
    const hmmDeviceptr ptr = reserve(1);
    for (const hmmMemGenericAllocationHandle wrong :
         {released, hmmMemGenericAllocationHandle{0}, released + 1, ~0ull}) {
        hmmMemAllocationProp prop;
        int fd = -1;
        EXPECT_EQ(hmmMemRelease(wrong), hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmMemGetAllocationPropertiesFromHandle(&prop, wrong),
                  hmmErrorInvalidResourceHandle);
        EXPECT_EQ(hmmMemExportToShareableHandle(&fd, wrong, hmmMemHandleTypePosixFileDescriptor, 0),
                  hmmErrorInvalidResourceHandle);
        EXPECT_EQ(map(ptr, 1, wrong), hmmErrorInvalidResourceHandle);
    }
    EXPECT_EQ(hmmMemAddressFree(ptr, unit), hmmSuccess);
}

TEST_F(VirtualMemory, MemoryLivesAsLongAsAHandleOrAMapping) {
    const auto [handle, ptr] = map_fresh(2);
    ASSERT_EQ(allow_host(ptr, 2), hmmSuccess);
    std::memset(at(ptr), 42, 2 * unit);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmErrorInvalidResourceHandle) << "although it is mapped";
    EXPECT_EQ(at(ptr)[2 * unit - 1], 42);
    hmmMemGenericAllocationHandle again = 0;
    EXPECT_EQ(hmmMemRetainAllocationHandle(&again, at(ptr)), hmmSuccess);
    EXPECT_EQ(again, handle) << "and it is valid again";
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
    EXPECT_EQ(hmmMemUnmap(ptr, unit), hmmSuccess);
    EXPECT_EQ(kernel.objects.open(), files_ + 1);
    EXPECT_EQ(at(ptr)[unit], 42);
    EXPECT_EQ(hmmMemUnmap(ptr + unit, unit), hmmSuccess);
    EXPECT_EQ(kernel.objects.open(), files_) << "the last mapping is gone";
    EXPECT_EQ(hmmMemRetainAllocationHandle(&again, at(ptr)), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemAddressFree(ptr, 2 * unit), hmmSuccess);
}

// ---- other processes

TEST_F(VirtualMemory, AnExportedDescriptorIsImportedAsTheSameMemory) {
    const auto handle = create(1, on(1));
    int fd = -1;
    ASSERT_EQ(hmmMemExportToShareableHandle(&fd, handle, hmmMemHandleTypePosixFileDescriptor, 0),
              hmmSuccess);
    hmmMemGenericAllocationHandle imported = 0;
    void* const given = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
    ASSERT_EQ(
        hmmMemImportFromShareableHandle(&imported, given, hmmMemHandleTypePosixFileDescriptor),
        hmmSuccess);
    EXPECT_NE(imported, handle);
    hmmMemAllocationProp prop = {};
    ASSERT_EQ(hmmMemGetAllocationPropertiesFromHandle(&prop, imported), hmmSuccess);
    EXPECT_EQ(prop.type, hmmMemAllocationTypePinned);
    EXPECT_EQ(prop.location.type, hmmMemLocationTypeDevice);
    EXPECT_EQ(prop.location.id, 1);
    const hmmDeviceptr ptr = reserve(2);
    ASSERT_EQ(map(ptr, 1, handle), hmmSuccess);
    ASSERT_EQ(map(ptr + unit, 1, imported), hmmSuccess);
    ASSERT_EQ(allow_host(ptr, 2), hmmSuccess);
    at(ptr)[100] = 7;
    EXPECT_EQ(at(ptr)[unit + 100], 7);
    give_back(handle, ptr, 2);
    EXPECT_EQ(hmmMemRelease(imported), hmmSuccess);
    EXPECT_EQ(kernel.objects.open(), files_ + 1) << "the descriptor is the caller's";
    hmmrt::sys::close_file(fd);
}

TEST_F(VirtualMemory, OnlyDescriptorsThatWereAskedForAreExported) {
    hmmMemAllocationProp prop = pinned_on(on(0));
    prop.requestedHandleTypes = hmmMemHandleTypeNone;
    hmmMemGenericAllocationHandle handle = 0;
    ASSERT_EQ(hmmMemCreate(&handle, unit, &prop, 0), hmmSuccess);
    int fd = -7;
    const auto descriptor = hmmMemHandleTypePosixFileDescriptor;
    EXPECT_EQ(hmmMemExportToShareableHandle(&fd, handle, descriptor, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);

    handle = create(1);
    EXPECT_EQ(hmmMemExportToShareableHandle(&fd, handle, descriptor, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemExportToShareableHandle(&fd, handle, hmmMemHandleTypeNone, 0),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemExportToShareableHandle(&fd, handle, hmmMemHandleTypeFabric, 0),
              hmmErrorNotSupported);
    kernel.objects.duplicate_error = EMFILE;
    EXPECT_EQ(hmmMemExportToShareableHandle(&fd, handle, descriptor, 0), hmmErrorOperatingSystem);
    EXPECT_EQ(fd, -7);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

TEST_F(VirtualMemory, OtherDescriptorsAreNotImported) {
    hmmMemGenericAllocationHandle handle = 77;
    const auto descriptor = hmmMemHandleTypePosixFileDescriptor;
    void* const closed = reinterpret_cast<void*>(99999);
    EXPECT_EQ(hmmMemImportFromShareableHandle(&handle, closed, descriptor), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemImportFromShareableHandle(&handle, closed, hmmMemHandleTypeWin32),
              hmmErrorNotSupported);
    EXPECT_EQ(hmmMemImportFromShareableHandle(&handle, closed, hmmMemHandleTypeNone),
              hmmErrorInvalidValue);
    kernel.objects.duplicate_error = EMFILE;
    EXPECT_EQ(hmmMemImportFromShareableHandle(&handle, closed, descriptor),
              hmmErrorOperatingSystem);
    EXPECT_EQ(handle, 77u);
}

// ---- reserved ranges

TEST_F(VirtualMemory, ReservedRangesAreAlignedAndNobodyElses) {
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, page, unit, 64 * unit}) {
        hmmDeviceptr ptr = 0;
        ASSERT_EQ(hmmMemAddressReserve(&ptr, 3 * unit, alignment, 0, 0), hmmSuccess);
        EXPECT_EQ(ptr % std::max(alignment, unit), 0u);
        void* const there = mmap(at(ptr), page, PROT_READ,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        EXPECT_EQ(there, MAP_FAILED);
        EXPECT_EQ(hmmMemAddressFree(ptr, 3 * unit), hmmSuccess);
    }
}

TEST_F(VirtualMemory, AHintIsFollowedWhereTheAddressesAreFree) {
    const hmmDeviceptr all = far_away;
    hmmDeviceptr first = 0, second = 0, third = 0, fourth = 0;
    ASSERT_EQ(hmmMemAddressReserve(&first, unit, 0, all, 0), hmmSuccess);
    ASSERT_EQ(hmmMemAddressReserve(&second, unit, 0, all + unit, 0), hmmSuccess);
    EXPECT_EQ(first, all);
    EXPECT_EQ(second, all + unit);
    ASSERT_EQ(hmmMemAddressReserve(&third, unit, 0, all, 0), hmmSuccess);
    EXPECT_NE(third, all) << "taken";
    ASSERT_EQ(hmmMemAddressReserve(&fourth, unit, 0, all + 2 * unit + page, 0), hmmSuccess);
    EXPECT_NE(fourth, all + 2 * unit + page) << "not aligned";
    for (const hmmDeviceptr beyond : {hmmDeviceptr{1} << 62, ~hmmDeviceptr{0} << 21}) {
        hmmDeviceptr ptr = 0;
        ASSERT_EQ(hmmMemAddressReserve(&ptr, unit, 0, beyond, 0), hmmSuccess);
        EXPECT_EQ(hmmMemAddressFree(ptr, unit), hmmSuccess);
    }
    for (const hmmDeviceptr each : {first, second, third, fourth})
        EXPECT_EQ(hmmMemAddressFree(each, unit), hmmSuccess);
}

TEST_F(VirtualMemory, ReservationsThatAreNotPossibleAreRefused) {
    hmmDeviceptr ptr = 77;
    for (const std::size_t wrong : {std::size_t{0}, page, unit + page})
        EXPECT_EQ(hmmMemAddressReserve(&ptr, wrong, 0, 0, 0), hmmErrorInvalidValue) << wrong;
    EXPECT_EQ(hmmMemAddressReserve(&ptr, unit, 3 * unit, 0, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemAddressReserve(&ptr, unit, 0, 0, 1), hmmErrorInvalidValue);
    constexpr std::size_t too_much = SIZE_MAX / unit * unit;
    EXPECT_EQ(hmmMemAddressReserve(&ptr, too_much, 0, 0, 0), hmmErrorMemoryAllocation);
    EXPECT_EQ(hmmMemAddressReserve(&ptr, too_much / 2 / unit * unit, 0, 0, 0),
              hmmErrorMemoryAllocation);
    kernel.map_error = ENOMEM;
    EXPECT_EQ(hmmMemAddressReserve(&ptr, unit, 0, 0, 0), hmmErrorMemoryAllocation);
    EXPECT_EQ(hmmMemAddressReserve(&ptr, unit, 0, unit, 0), hmmErrorMemoryAllocation);
    EXPECT_EQ(ptr, 77u);
}

TEST_F(VirtualMemory, ARangeIsFreedAsAWholeAndOnce) {
    const hmmDeviceptr ptr = reserve(4);
    EXPECT_EQ(hmmMemAddressFree(ptr, 2 * unit), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemAddressFree(ptr + 2 * unit, 2 * unit), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemAddressFree(ptr + page, 4 * unit), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemAddressFree(ptr, 0), hmmErrorInvalidValue);
    const auto handle = create(1);
    ASSERT_EQ(map(ptr + 3 * unit, 1, handle), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(ptr, 4 * unit), hmmErrorInvalidValue) << "a part is mapped";
    ASSERT_EQ(hmmMemUnmap(ptr + 3 * unit, unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(ptr, 4 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(ptr, 4 * unit), hmmErrorInvalidValue) << "twice";
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

// ---- mappings

TEST_F(VirtualMemory, MappingsThatAreNotPossibleAreRefused) {
    const auto handle = create(2);
    const hmmDeviceptr ptr = reserve(4);
    EXPECT_EQ(hmmMemMap(ptr, 0, 0, handle, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemMap(ptr, page, 0, handle, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemMap(ptr + page, unit, 0, handle, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemMap(ptr, unit, page, handle, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemMap(ptr, unit, 0, handle, 1), hmmErrorInvalidValue);
    EXPECT_EQ(map(ptr, 3, handle), hmmErrorInvalidValue) << "larger than the memory object";
    EXPECT_EQ(map(ptr, 2, handle, 1), hmmErrorInvalidValue);
    EXPECT_EQ(map(ptr, 1, handle, 2), hmmErrorInvalidValue);
    EXPECT_EQ(map(ptr, 1, handle, SIZE_MAX / unit), hmmErrorInvalidValue);
    EXPECT_EQ(map(ptr + 3 * unit, 2, handle), hmmErrorInvalidValue) << "beyond the range";
    EXPECT_EQ(map(ptr - unit, 1, handle), hmmErrorInvalidValue) << "before it";
    EXPECT_EQ(hmmMemMap(~0ull << 21, unit, 0, handle, 0), hmmErrorInvalidValue);
    ASSERT_EQ(map(ptr + unit, 1, handle), hmmSuccess);
    EXPECT_EQ(map(ptr, 2, handle), hmmErrorInvalidValue) << "its end is mapped";
    EXPECT_EQ(map(ptr + unit, 2, handle), hmmErrorInvalidValue) << "its start is mapped";
    EXPECT_EQ(hmmMemUnmap(ptr + unit, unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(ptr, 4 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

TEST_F(VirtualMemory, AMemoryObjectHasSeveralAddressesAndParts) {
    const auto [handle, ptr] = map_fresh(3, 5);
    ASSERT_EQ(map(ptr + 3 * unit, 2, handle, 1), hmmSuccess);
    ASSERT_EQ(allow_host(ptr, 5), hmmSuccess) << "several mappings at a time";
    at(ptr)[unit + 5] = 1;
    at(ptr)[2 * unit + 6] = 2;
    EXPECT_EQ(at(ptr)[3 * unit + 5], 1);
    EXPECT_EQ(at(ptr)[4 * unit + 6], 2);
    give_back(handle, ptr, 5);
}

TEST_F(VirtualMemory, ARangeMayCoverAdjacentReservations) {
    const hmmDeviceptr all = far_away;
    hmmDeviceptr first = 0, second = 0;
    ASSERT_EQ(hmmMemAddressReserve(&first, unit, 0, all, 0), hmmSuccess);
    ASSERT_EQ(hmmMemAddressReserve(&second, unit, 0, all + unit, 0), hmmSuccess);
    const auto handle = create(3);
    EXPECT_EQ(map(all, 3, handle), hmmErrorInvalidValue);
    ASSERT_EQ(map(all, 2, handle), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(second, unit), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemUnmap(all, 2 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(first, unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(second, unit), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

TEST_F(VirtualMemory, PartsOfAMappingAreUnmappedAndItsRestStays) {
    const auto [handle, ptr] = map_fresh(4);
    ASSERT_EQ(allow_host(ptr, 4), hmmSuccess);
    std::memset(at(ptr), 9, 4 * unit);
    EXPECT_EQ(hmmMemUnmap(ptr + unit, page), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemUnmap(ptr + unit, 2 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemUnmap(ptr, 2 * unit), hmmErrorInvalidValue) << "it has a hole";
    EXPECT_EQ(at(ptr)[unit - 1], 9);
    EXPECT_EQ(at(ptr)[3 * unit], 9);
    EXPECT_EQ(range_at(ptr + 3 * unit + 77), address_range(ptr + 3 * unit, unit));
    hmmDeviceptr base = 0;
    EXPECT_EQ(hmmMemGetAddressRange(&base, nullptr, ptr + unit), hmmErrorSymbolNotFound);
    EXPECT_EQ(hmmMemUnmap(ptr, unit), hmmSuccess);
    EXPECT_EQ(hmmMemUnmap(ptr + 3 * unit, unit), hmmSuccess);
    EXPECT_EQ(hmmMemAddressFree(ptr, 4 * unit), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

TEST_F(VirtualMemory, AddressRangesAreThoseOfMappingsAndAllocations) {
    const auto [handle, ptr] = map_fresh(2, 4);
    ASSERT_EQ(map(ptr + 2 * unit, 2, handle), hmmSuccess) << "another mapping behind it";
    ASSERT_EQ(allow_host(ptr + unit, 2), hmmSuccess) << "parts of both";
    hmmDeviceptr base = 0;
    std::size_t size = 0;
    EXPECT_EQ(range_at(ptr + 2 * unit - 1), address_range(ptr, 2 * unit));
    EXPECT_EQ(hmmMemGetAddressRange(nullptr, &size, ptr + 4 * unit - 1), hmmSuccess);
    EXPECT_EQ(hmmMemGetAddressRange(&base, nullptr, ptr + 4 * unit - 1), hmmSuccess);
    EXPECT_EQ(base, ptr + 2 * unit);
    give_back(handle, ptr, 4);

    void* memory = nullptr;
    ASSERT_EQ(hmmMalloc(&memory, page + 1), hmmSuccess);
    const auto allocated = reinterpret_cast<hmmDeviceptr>(memory);
    EXPECT_EQ(range_at(allocated + 5), address_range(allocated, 2 * page));
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
    EXPECT_EQ(hmmMemGetAddressRange(&base, &size, address()), hmmErrorSymbolNotFound);
    std::vector<char> program(100);
    const auto start = reinterpret_cast<hmmDeviceptr>(program.data());
    ASSERT_EQ(hmmHostRegister(program.data(), program.size(), 0), hmmSuccess);
    EXPECT_EQ(range_at(start + 99), address_range(start, 100));
    EXPECT_EQ(hmmMemGetAddressRange(&base, &size, start + 100), hmmErrorSymbolNotFound);
    EXPECT_EQ(hmmHostUnregister(program.data()), hmmSuccess);
}

TEST_F(VirtualMemory, AMappingThatFailsLeavesTheRangeReserved) {
    const auto handle = create(1);
    const hmmDeviceptr ptr = reserve(1);
    kernel.objects.map_error = ENOMEM;
    EXPECT_EQ(map(ptr, 1, handle), hmmErrorMemoryAllocation);
    EXPECT_EQ(
        mmap(at(ptr), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
        MAP_FAILED);
    EXPECT_EQ(hmmMemUnmap(ptr, unit), hmmErrorInvalidValue) << "nothing is mapped";
    kernel.objects.map_error = 0;
    EXPECT_EQ(map(ptr, 1, handle), hmmSuccess);
    give_back(handle, ptr, 1);
}

TEST_F(VirtualMemory, AnUnmappingThatFailsLeavesTheMapping) {
    const auto [handle, ptr] = map_fresh(2);
    ASSERT_EQ(allow_host(ptr, 2), hmmSuccess);
    at(ptr)[0] = 3;
    kernel.map_error = ENOMEM;
    EXPECT_EQ(hmmMemUnmap(ptr, unit), hmmErrorMemoryAllocation);
    kernel.map_error = 0;
    EXPECT_EQ(at(ptr)[0], 3);
    EXPECT_EQ(range_at(ptr), address_range(ptr, 2 * unit));
    give_back(handle, ptr, 2);
}

} // namespace
