// SPDX-License-Identifier: MIT
// The C interface: stream-ordered allocation.
#include "api/interface.hpp"
#include "base/memory_range.hpp"
#include "memory/memory_pool.hpp"

#include <algorithm>
#include <iterator>

namespace hmmrt {
namespace {

std::uint64_t number_of(hmmMemPool_t pool) {
    return reinterpret_cast<std::uint64_t>(pool);
}

hmmMemPool_t as_pool(std::uint64_t number) {
    return reinterpret_cast<hmmMemPool_t>(number);
}

pool_table& pools() {
    return process::get().pools();
}

/// Allocates from @pool, or from the current pool of the stream's device if
/// @pool is NULL.
void* allocate(std::size_t bytes, const hmmMemPool_t* pool, hmmStream_t stream) {
    const stream_user where(stream);
    where.get_device().start();
    const std::uint64_t handle =
        pool != nullptr ? number_of(*pool) : pools().current_of(where.get_device());
    const auto from = pools().find(handle);
    if (bytes == 0) return nullptr;
    return from->allocate(bytes, where.get_device(), where.get()).memory();
}

/// Returns the pool that gets freed memory. Memory from hmmMalloc() goes to the default pool of its
/// device.
std::shared_ptr<memory_pool> pool_for(const allocation& freed) {
    if (freed.pool) return freed.pool;
    return pools().find(pools().default_of(process::get().device_at(freed.device)));
}

/// Frees memory. It can be reused once all work that is now queued in the
/// stream is done.
void free_in(void* memory, hmmStream_t stream) {
    managed_memory& all = process::get().managed();
    const auto of_device = [](const allocation& each) { return each.kind == memory_kind::device; };
    const char* const wrong = "not allocated by hmmMalloc() or hmmMallocAsync(), or already freed";
    stream_user where(stream);
    if (memory == nullptr) return;
    const auto found = all.find(memory);
    require(found && found->memory() == memory && found->kind != memory_kind::host, wrong);
    if (!of_device(*found))
        throw failure(hmmErrorNotSupported,
                      "managed memory cannot be freed in stream order; use hmmFree()");
    const auto pool = pool_for(*found);
    kept_list gone = returned_memory(*found);
    event end(where.get_device(), hmmEventDisableTiming);
    where.submit([&](device& target, hmmrt::stream* in) { target.record(end, in); });
    require(all.forget(memory, of_device).has_value(), wrong);
    if (!found->pool) pool->take_over(found->bytes);
    pool->give_back(std::move(gone), end.point());
}

void check_props(const hmmMemPoolProps* props) {
    require(props != nullptr, "props is NULL");
    require(props->allocType == hmmMemAllocationTypePinned, "unknown allocation type");
    const auto is_zero = [](unsigned char byte) { return byte == 0; };
    require(std::all_of(std::begin(props->reserved), std::end(props->reserved), is_zero),
            "reserved members are not 0");
    if (props->handleTypes != hmmMemHandleTypeNone)
        throw failure(hmmErrorNotSupported, "pools cannot be shared with other processes");
    require(props->location.type != hmmMemLocationTypeInvalid, "unknown location type");
    if (props->location.type != hmmMemLocationTypeDevice)
        throw failure(hmmErrorNotSupported, "the location of a pool must be a device");
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMallocAsync(void** memory, size_t bytes, hmmStream_t stream) {
    return guarded("hmmMallocAsync", [&] {
        require(memory != nullptr, "memory is NULL");
        *memory = allocate(bytes, nullptr, stream);
    });
}

hmmError_t hmmMallocFromPoolAsync(void** memory, size_t bytes, hmmMemPool_t pool,
                                  hmmStream_t stream) {
    return guarded("hmmMallocFromPoolAsync", [&] {
        require(memory != nullptr, "memory is NULL");
        *memory = allocate(bytes, &pool, stream);
    });
}

hmmError_t hmmFreeAsync(void* memory, hmmStream_t stream) {
    return guarded("hmmFreeAsync", [&] { free_in(memory, stream); });
}

hmmError_t hmmMemPoolCreate(hmmMemPool_t* pool, const hmmMemPoolProps* props) {
    return guarded("hmmMemPoolCreate", [&] {
        require(pool != nullptr, "pool is NULL");
        check_props(props);
        device& target = process::get().device_at(props->location.id);
        *pool = as_pool(pools().create(target, props->maxSize != 0 ? props->maxSize : SIZE_MAX));
    });
}

hmmError_t hmmMemPoolDestroy(hmmMemPool_t pool) {
    return guarded("hmmMemPoolDestroy", [&] { pools().destroy(number_of(pool)); });
}

hmmError_t hmmMemPoolTrimTo(hmmMemPool_t pool, size_t minBytesToKeep) {
    return guarded("hmmMemPoolTrimTo",
                   [&] { pools().find(number_of(pool))->trim(minBytesToKeep); });
}

hmmError_t hmmMemPoolGetAttribute(hmmMemPool_t pool, hmmMemPoolAttr attr, void* value) {
    return guarded("hmmMemPoolGetAttribute", [&] {
        require(value != nullptr, "value is NULL");
        pools().find(number_of(pool))->get(attr, value);
    });
}

hmmError_t hmmMemPoolSetAttribute(hmmMemPool_t pool, hmmMemPoolAttr attr, void* value) {
    return guarded("hmmMemPoolSetAttribute", [&] {
        require(value != nullptr, "value is NULL");
        pools().find(number_of(pool))->set(attr, value);
    });
}

hmmError_t hmmDeviceGetDefaultMemPool(hmmMemPool_t* pool, int device) {
    return guarded("hmmDeviceGetDefaultMemPool", [&] {
        require(pool != nullptr, "pool is NULL");
        *pool = as_pool(pools().default_of(process::get().device_at(device)));
    });
}

hmmError_t hmmDeviceGetMemPool(hmmMemPool_t* pool, int device) {
    return guarded("hmmDeviceGetMemPool", [&] {
        require(pool != nullptr, "pool is NULL");
        *pool = as_pool(pools().current_of(process::get().device_at(device)));
    });
}

hmmError_t hmmDeviceSetMemPool(int device, hmmMemPool_t pool) {
    return guarded("hmmDeviceSetMemPool",
                   [&] { pools().set_current(process::get().device_at(device), number_of(pool)); });
}
