// SPDX-License-Identifier: MIT
#include "own_memory.hpp"

#include <mutex>

namespace hmmrt {
namespace {

class mapping_resource final : public std::pmr::memory_resource {
    // Mappings are page aligned, and no caller needs a larger alignment.
    void* do_allocate(std::size_t bytes, std::size_t) override {
        return own_memory_allocator<std::byte>().allocate(bytes);
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
        own_memory_allocator<std::byte>().deallocate(static_cast<std::byte*>(memory), bytes);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

class locked_pool final : public std::pmr::memory_resource, public in_own_memory {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard lock(lock_);
        return pool_.allocate(bytes, alignment);
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard lock(lock_);
        pool_.deallocate(memory, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::mutex lock_;
    mapping_resource mappings_;
    std::pmr::unsynchronized_pool_resource pool_{&mappings_};
};

} // namespace

std::pmr::memory_resource* own_pool() {
    static locked_pool* const instance = new locked_pool;
    return instance;
}

} // namespace hmmrt
