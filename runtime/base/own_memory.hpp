// SPDX-License-Identifier: MIT
/*
 * The runtime's own objects are in mappings of their own.
 *
 * Every launch accesses these objects. On the heap they would share pages, or
 * the unit that a device fault migrates, with program data that the device
 * uses, so that each launch would migrate those pages. Inaccessible pages on
 * both sides keep the kernel from merging the mapping with its neighbours.
 */
#pragma once

#include "sys/syscalls.hpp"

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace hmmrt {

/// Unmaps pages and the inaccessible pages around them. If that is impossible
/// now, we retry it whenever another mapping ends.
void unmap_own_memory(std::uint64_t inner, std::size_t bytes) noexcept;

/// For a few long-lived objects: uses one mapping per allocation.
template <class T>
struct own_memory_allocator {
    using value_type = T;

    own_memory_allocator() = default;
    template <class U>
    explicit own_memory_allocator(const own_memory_allocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        const std::size_t bytes = inner_bytes(count);
        const std::int64_t outer = sys::map(0, bytes + 2 * page_size, PROT_NONE, flags, -1);
        if (outer < 0) throw std::bad_alloc();
        const std::uint64_t inner = static_cast<std::uint64_t>(outer) + page_size;
        if (sys::map(inner, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1) < 0) {
            sys::unmap(inner - page_size, bytes + 2 * page_size);
            throw std::bad_alloc();
        }
        return reinterpret_cast<T*>(inner);
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        unmap_own_memory(reinterpret_cast<std::uint64_t>(memory), inner_bytes(count));
    }

    template <class U>
    friend bool operator==(const own_memory_allocator&, const own_memory_allocator<U>&) noexcept {
        return true;
    }

  private:
    static constexpr std::size_t inner_bytes(std::size_t count) {
        return (count * sizeof(T) + page_size - 1) & ~(page_size - 1);
    }
};

/// Base class: `new` allocates the object in its own mapping.
class in_own_memory {
  public:
    // The matching operator delete is the sized one.
    // NOLINTNEXTLINE(misc-new-delete-overloads)
    static void* operator new(std::size_t bytes) {
        return own_memory_allocator<std::byte>().allocate(bytes);
    }
    static void operator delete(void* memory, std::size_t bytes) noexcept {
        own_memory_allocator<std::byte>().deallocate(static_cast<std::byte*>(memory), bytes);
    }
};

/// Memory resource for small objects, which share such mappings. It is never
/// destroyed.
std::pmr::memory_resource* own_pool();

/// make_shared() in own_pool().
template <class T, class... Arguments>
std::shared_ptr<T> make_own_shared(Arguments&&... arguments) {
    return std::allocate_shared<T>(std::pmr::polymorphic_allocator<T>(own_pool()),
                                   std::forward<Arguments>(arguments)...);
}

} // namespace hmmrt
