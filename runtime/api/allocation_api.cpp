// SPDX-License-Identifier: MIT
// The C interface: memory allocation.
#include "api/interface.hpp"
#include "base/memory_range.hpp"
#include "memory/memory_pool.hpp"

#include <exception>
#include <utility>

namespace hmmrt {
namespace {

constexpr unsigned host_flags =
    hmmHostAllocPortable | hmmHostAllocMapped | hmmHostAllocWriteCombined;

/// Owns memory from allocate() until release().
class fresh_memory {
  public:
    fresh_memory(std::size_t bytes, memory_kind kind, device& where)
        : memory_(process::get().managed().allocate(bytes, kind, where).memory()) {}
    fresh_memory(const fresh_memory&) = delete;
    fresh_memory& operator=(const fresh_memory&) = delete;
    ~fresh_memory() {
        if (memory_ == nullptr) return;
        managed_memory& all = process::get().managed();
        all.release(*all.forget(memory_, [](const allocation&) { return true; }));
    }

    void* get() const { return memory_; }
    void* release() { return std::exchange(memory_, nullptr); }

  private:
    void* memory_;
};

/// Returns NULL for 0 bytes.
void* allocate_on_device(std::size_t bytes) {
    device& where = current_device();
    if (bytes == 0) return nullptr;
    where.start();
    return process::get().managed().allocate(bytes, memory_kind::device, where).memory();
}

/// Returns NULL for 0 bytes.
void* allocate_on_host(std::size_t bytes, unsigned flags) {
    require((flags & ~host_flags) == 0, "unknown flags");
    device& where = current_device();
    if (bytes == 0) return nullptr;
    fresh_memory fresh(bytes, memory_kind::host, where);
    registered_memory& all = process::get().registered();
    const auto begin = reinterpret_cast<std::uint64_t>(fresh.get());
    // the slab of a cell is already locked, and pages that no device can move need no lock
    if (process::get().managed().is_cell(begin) || process::get().where().shares_page_tables()) {
        all.add_without_lock(fresh.get(), bytes, flags, where.number());
    } else {
        const auto nothing_to_bring = [](const page_range&) noexcept {};
        all.add(fresh.get(), bytes, flags, where.number(), nothing_to_bring);
    }
    return fresh.release();
}

/// Frees the memory in its destructor, once no device uses it any more.
class giving_back {
  public:
    explicit giving_back(const allocation& gone) : gone_(gone), to_pool_(returned_memory(gone)) {}
    giving_back(const giving_back&) = delete;
    giving_back& operator=(const giving_back&) = delete;
    ~giving_back() {
        if (!due_) return;
        if (gone_.pool)
            gone_.pool->give_back(std::move(to_pool_), nullptr);
        else
            process::get().managed().release(gone_);
    }

    void set_due() { due_ = true; }

  private:
    const allocation gone_;
    kept_list to_pool_;
    bool due_ = false;
};

void free_memory(void* memory) {
    const auto wanted = [](const allocation& each) { return each.kind != memory_kind::host; };
    managed_memory& all = process::get().managed();
    const auto found = all.find(memory);
    const char* const wrong =
        "not allocated by hmmMalloc() or a similar function, or already freed";
    require(found.has_value(), wrong);
    giving_back back(*found);
    require(all.forget(memory, wanted).has_value(), wrong);
    back.set_due();
    process::get().synchronize();
}

void free_host(void* memory) {
    const auto wanted = [](const allocation& each) { return each.kind == memory_kind::host; };
    managed_memory& all = process::get().managed();
    const auto found = all.find(memory);
    const char* const wrong =
        "not allocated by hmmHostAlloc() or hmmMallocHost(), or already freed";
    require(found.has_value(), wrong);
    giving_back back(*found);
    require(all.forget(memory, wanted).has_value(), wrong);
    back.set_due();
    std::exception_ptr failed;
    try {
        process::get().synchronize();
    } catch (...) {
        failed = std::current_exception();
    }
    process::get().registered().remove(memory);
    if (failed) std::rethrow_exception(failed);
}

/// Checks a range. If @bytes is 0, it must be an allocation of the library or a
/// managed variable; otherwise any mapped memory will do.
void check_attached(const void* ptr, std::size_t bytes) {
    if (bytes > 0) {
        const page_range pages = pages_around(ptr, bytes);
        require(sys::is_mapped(pages.addr, pages.len), "part of the range is not mapped");
        return;
    }
    const auto at = reinterpret_cast<std::uint64_t>(ptr);
    const auto variable = process::get().variables().find(ptr);
    if (variable && variable->managed && variable->begin == at) return;
    const auto given = process::get().managed().find(ptr);
    require(given && given->kind == memory_kind::managed && given->begin == at,
            "the size is 0, and neither memory of hmmMallocManaged() nor a managed variable starts "
            "at this address");
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMallocManaged(void** memory, size_t bytes, unsigned int flags) {
    return guarded("hmmMallocManaged", [&] {
        require(memory != nullptr, "memory is NULL");
        require(bytes > 0, "the size is 0");
        require(flags == hmmMemAttachGlobal || flags == hmmMemAttachHost, "unknown flags");
        // without a device, fail here instead of when the memory is freed
        device& where = current_device();
        *memory = process::get().managed().allocate(bytes, memory_kind::managed, where).memory();
    });
}

hmmError_t hmmMalloc(void** memory, size_t bytes) {
    return guarded("hmmMalloc", [&] {
        require(memory != nullptr, "memory is NULL");
        *memory = allocate_on_device(bytes);
    });
}

hmmError_t hmmFree(void* memory) {
    return guarded("hmmFree", [&] {
        if (memory != nullptr) free_memory(memory);
    });
}

hmmError_t hmmHostAlloc(void** memory, size_t bytes, unsigned int flags) {
    return guarded("hmmHostAlloc", [&] {
        require(memory != nullptr, "memory is NULL");
        *memory = allocate_on_host(bytes, flags);
    });
}

hmmError_t hmmMallocHost(void** memory, size_t bytes) {
    return guarded("hmmMallocHost", [&] {
        require(memory != nullptr, "memory is NULL");
        *memory = allocate_on_host(bytes, hmmHostAllocDefault);
    });
}

hmmError_t hmmFreeHost(void* memory) {
    return guarded("hmmFreeHost", [&] {
        if (memory != nullptr) free_host(memory);
    });
}

hmmError_t hmmStreamAttachMemAsync(hmmStream_t stream, void* ptr, size_t bytes,
                                   unsigned int flags) {
    return guarded("hmmStreamAttachMemAsync", [&] {
        require(flags == hmmMemAttachGlobal || flags == hmmMemAttachHost ||
                    flags == hmmMemAttachSingle,
                "unknown flags");
        const stream_user where(stream);
        require(flags != hmmMemAttachSingle || where.get() != nullptr,
                "memory cannot be attached to the legacy default stream");
        check_attached(ptr, bytes);
    });
}
