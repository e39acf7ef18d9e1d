// SPDX-License-Identifier: MIT
// Memory objects and reserved ranges over the fakes.
#pragma once

#include "memory_fixture.hpp"

inline constexpr std::size_t unit = 2 << 20; ///< the granularity

/// Addresses that nothing else in a program uses.
inline constexpr hmmDeviceptr far_away = 0x200000000000;

inline hmmMemAllocationProp pinned_on(const hmmMemLocation& where) {
    hmmMemAllocationProp prop = {};
    prop.type = hmmMemAllocationTypePinned;
    prop.requestedHandleTypes = hmmMemHandleTypePosixFileDescriptor;
    prop.location = where;
    return prop;
}

inline char* at(hmmDeviceptr ptr) {
    return reinterpret_cast<char*>(ptr);
}

class VirtualMemory : public MemoryOverFakes {
  protected:
    VirtualMemory() {
        kernel.objects.clear();
        hmmSetDevice(0);
        files_ = kernel.objects.open();
    }
    /// A failing test may leave descriptors open.
    ~VirtualMemory() override {
        kernel.objects.clear();
        kernel.map_error = 0;
        if (HasFailure()) return;
        EXPECT_EQ(kernel.objects.open(), files_) << "descriptors are left";
    }

    static hmmMemGenericAllocationHandle create(std::size_t units, const hmmMemLocation& where) {
        hmmMemGenericAllocationHandle handle = 0;
        const hmmMemAllocationProp prop = pinned_on(where);
        EXPECT_EQ(hmmMemCreate(&handle, units * unit, &prop, 0), hmmSuccess);
        return handle;
    }
    static hmmMemGenericAllocationHandle create(std::size_t units) { return create(units, on(0)); }
    static hmmDeviceptr reserve(std::size_t units) {
        hmmDeviceptr ptr = 0;
        EXPECT_EQ(hmmMemAddressReserve(&ptr, units * unit, 0, 0, 0), hmmSuccess);
        return ptr;
    }
    static hmmError_t map(hmmDeviceptr to, std::size_t units, hmmMemGenericAllocationHandle handle,
                          std::size_t offset = 0) {
        return hmmMemMap(to, units * unit, offset * unit, handle, 0);
    }
    static hmmError_t set(hmmDeviceptr of, std::size_t units, const hmmMemLocation& where,
                          hmmMemAccessFlags flags) {
        const hmmMemAccessDesc desc = {where, flags};
        return hmmMemSetAccess(of, units * unit, &desc, 1);
    }
    static hmmError_t allow_host(hmmDeviceptr of, std::size_t units) {
        return set(of, units, host, hmmMemAccessFlagsProtReadWrite);
    }
    /// The access of a location; 99 for an error.
    static unsigned long long access(hmmDeviceptr of, const hmmMemLocation& where) {
        unsigned long long flags = 99;
        hmmMemGetAccess(&flags, &where, of);
        return flags;
    }
    static void unmap_and_free(hmmDeviceptr ptr, std::size_t units, std::size_t reserved) {
        EXPECT_EQ(hmmMemUnmap(ptr, units * unit), hmmSuccess);
        EXPECT_EQ(hmmMemAddressFree(ptr, reserved * unit), hmmSuccess);
    }
    static void unmap_and_free(hmmDeviceptr ptr, std::size_t units) {
        unmap_and_free(ptr, units, units);
    }

    /// A new memory object, and the range that it is mapped at the start of.
    struct mapped_object {
        hmmMemGenericAllocationHandle handle;
        hmmDeviceptr ptr;
    };
    static mapped_object map_fresh(std::size_t units, std::size_t reserved) {
        const mapped_object fresh = {create(units), reserve(reserved)};
        EXPECT_EQ(map(fresh.ptr, units, fresh.handle), hmmSuccess);
        return fresh;
    }
    static mapped_object map_fresh(std::size_t units) { return map_fresh(units, units); }
    /// Unmaps the first @units of a range, and gives up the range and the memory object.
    static void give_back(hmmMemGenericAllocationHandle handle, hmmDeviceptr ptr, std::size_t units,
                          std::size_t reserved) {
        unmap_and_free(ptr, units, reserved);
        EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
    }
    static void give_back(hmmMemGenericAllocationHandle handle, hmmDeviceptr ptr,
                          std::size_t units) {
        give_back(handle, ptr, units, units);
    }

    std::size_t files_ = 0;
};
