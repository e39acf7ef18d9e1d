// SPDX-License-Identifier: MIT
// Every call for memory objects and reserved ranges, once.
#pragma once

#include "virtual_memory_fixture.hpp"

#include "interface.hpp"
#include "sys/syscalls.hpp"

#include <cstdint>
#include <vector>

struct outcome {
    const char* name;
    hmmError_t code;
};

/// Calls for memory objects; each uses the result of an earlier one.
inline std::vector<outcome> map_and_unmap() {
    constexpr hmmMemLocation first = {hmmMemLocationTypeDevice, 0};
    constexpr auto type = hmmMemHandleTypePosixFileDescriptor;
    const hmmMemAllocationProp prop = pinned_on(first);
    const hmmMemAccessDesc access = {first, hmmMemAccessFlagsProtReadWrite};
    hmmMemAllocationProp found = {};
    hmmMemGenericAllocationHandle handle = 0, other = 0;
    hmmDeviceptr ptr = 0;
    int fd = -1;
    unsigned long long flags = 0;
    const auto file = [&] { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); };
    std::vector<outcome> all = {
        {"hmmMemCreate", hmmMemCreate(&handle, unit, &prop, 0)},
        {"hmmMemGetAllocationPropertiesFromHandle",
         hmmMemGetAllocationPropertiesFromHandle(&found, handle)},
        {"hmmMemExportToShareableHandle", hmmMemExportToShareableHandle(&fd, handle, type, 0)},
        {"hmmMemImportFromShareableHandle", hmmMemImportFromShareableHandle(&other, file(), type)},
        {"hmmMemRelease", hmmMemRelease(other)},
        {"hmmMemAddressReserve", hmmMemAddressReserve(&ptr, unit, 0, 0, 0)},
        {"hmmMemMap", hmmMemMap(ptr, unit, 0, handle, 0)},
        {"hmmMemSetAccess", hmmMemSetAccess(ptr, unit, &access, 1)},
        {"hmmMemGetAccess", hmmMemGetAccess(&flags, &access.location, ptr)},
        {"hmmMemGetAddressRange", hmmMemGetAddressRange(&ptr, nullptr, ptr)},
        {"hmmMemRetainAllocationHandle",
         hmmMemRetainAllocationHandle(&other, reinterpret_cast<void*>(ptr))},
        {"hmmMemRelease", hmmMemRelease(other)},
        {"hmmMemUnmap", hmmMemUnmap(ptr, unit)},
        {"hmmMemAddressFree", hmmMemAddressFree(ptr, unit)},
        {"hmmMemRelease", hmmMemRelease(handle)},
    };
    const hmmrt::no_cancellation until_the_end; // closing is a cancellation point
    if (fd >= 0) hmmrt::sys::close_file(fd);
    return all;
}
