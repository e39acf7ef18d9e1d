// SPDX-License-Identifier: MIT
// The C interface: versions, device flags and limits, function attributes and
// occupancy.
#include "api/interface.hpp"
#include "thread/lane_thread.hpp"

#include "hmm/version.hpp"

#include <algorithm>
#include <limits>

namespace hmmrt {
namespace {

constexpr int library_version = 1000 * HMM_VERSION_MAJOR + 10 * HMM_VERSION_MINOR;
static_assert(library_version == HMMRT_VERSION);

int driver_version() {
    try {
        process::get().where().info();
        return library_version;
    } catch (const failure& error) {
        if (error.code() == hmmErrorNoDevice || error.code() == hmmErrorInsufficientDriver)
            return 0;
        throw;
    }
}

void check_flags(unsigned flags) {
    require((flags & ~hmmDeviceMask) == 0, "unknown flags");
    const unsigned schedule = flags & hmmDeviceScheduleMask;
    require((schedule & (schedule - 1)) == 0, "more than one schedule flag");
}

std::size_t limit_of(hmmLimit limit) {
    switch (limit) {
    case hmmLimitStackSize:
        return lane_stack_bytes();
    case hmmLimitMallocHeapSize:
        return std::numeric_limits<std::size_t>::max();
    case hmmLimitPrintfFifoSize:
    case hmmLimitDevRuntimeSyncDepth:
    case hmmLimitDevRuntimePendingLaunchCount:
    case hmmLimitMaxL2FetchGranularity:
    case hmmLimitPersistingL2CacheSize:
        throw failure(hmmErrorUnsupportedLimit, hmmGetErrorString(hmmErrorUnsupportedLimit));
    }
    throw failure(hmmErrorInvalidValue, "unknown limit");
}

void check_function(const void* function) {
    if (function == nullptr)
        throw failure(hmmErrorInvalidDeviceFunction,
                      hmmGetErrorString(hmmErrorInvalidDeviceFunction));
}

int active_blocks(const void* function, int block_size, std::size_t shared_memory, unsigned flags) {
    check_function(function);
    require(block_size > 0, "the block size is not positive");
    require((flags & ~hmmOccupancyDisableCachingOverride) == 0, "unknown flags");
    current_device();
    return shared_memory == 0 ? 1 : 0;
}

void choose_block(int& grid, int& block, const void* function, std::size_t shared_memory,
                  int limit) {
    check_function(function);
    require(limit >= 0, "the limit is negative");
    if (shared_memory != 0) throw failure(hmmErrorNotSupported, "shared memory is not supported");
    grid = static_cast<int>(current_device().lanes());
    block = limit > 0 ? std::min(limit, threads_per_block) : threads_per_block;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmRuntimeGetVersion(int* version) {
    return guarded("hmmRuntimeGetVersion", [&] {
        require(version != nullptr, "version is NULL");
        *version = library_version;
    });
}

hmmError_t hmmDriverGetVersion(int* version) {
    return guarded("hmmDriverGetVersion", [&] {
        require(version != nullptr, "version is NULL");
        *version = driver_version();
    });
}

hmmError_t hmmSetDeviceFlags(unsigned int flags) {
    return guarded("hmmSetDeviceFlags", [&] {
        check_flags(flags);
        current_device().set_flags(flags);
    });
}

hmmError_t hmmGetDeviceFlags(unsigned int* flags) {
    return guarded("hmmGetDeviceFlags", [&] {
        require(flags != nullptr, "flags is NULL");
        *flags = current_device().flags();
    });
}

hmmError_t hmmDeviceGetLimit(size_t* value, hmmLimit limit) {
    return guarded("hmmDeviceGetLimit", [&] {
        require(value != nullptr, "value is NULL");
        current_device();
        *value = limit_of(limit);
    });
}

hmmError_t hmmDeviceSetLimit(hmmLimit limit, size_t value) {
    return guarded("hmmDeviceSetLimit", [&] {
        current_device();
        require(value <= limit_of(limit), "the value exceeds the limit, which cannot be changed");
    });
}

hmmError_t hmmFuncGetAttributes(hmmFuncAttributes* attributes, const void* function) {
    return guarded("hmmFuncGetAttributes", [&] {
        require(attributes != nullptr, "attributes is NULL");
        check_function(function);
        current_device();
        *attributes = {};
        attributes->maxThreadsPerBlock = threads_per_block;
    });
}

hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                        int blockSize, size_t sharedMem) {
    return guarded("hmmOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
        require(blocks != nullptr, "blocks is NULL");
        *blocks = active_blocks(function, blockSize, sharedMem, hmmOccupancyDefault);
    });
}

hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                 int blockSize, size_t sharedMem,
                                                                 unsigned int flags) {
    return guarded("hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", [&] {
        require(blocks != nullptr, "blocks is NULL");
        *blocks = active_blocks(function, blockSize, sharedMem, flags);
    });
}

hmmError_t hmmOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, const void* function,
                                             size_t sharedMem, int blockSizeLimit) {
    return guarded("hmmOccupancyMaxPotentialBlockSize", [&] {
        require(minGridSize != nullptr && blockSize != nullptr, "an output pointer is NULL");
        choose_block(*minGridSize, *blockSize, function, sharedMem, blockSizeLimit);
    });
}

hmmError_t hmmOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                    int blockSize) {
    return guarded("hmmOccupancyAvailableDynamicSMemPerBlock", [&] {
        require(bytes != nullptr, "bytes is NULL");
        require(blocks > 0, "the number of blocks is not positive");
        active_blocks(function, blockSize, 0, hmmOccupancyDefault);
        *bytes = 0;
    });
}
