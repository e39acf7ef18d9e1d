// SPDX-License-Identifier: MIT
// Low-level virtual memory management: memory and addresses apart from each
// other, and mappings that join them.
#pragma once

#include <hmm/location.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hmm {

/// What a processor may do with mapped memory.
enum class memory_access : int {
    none = hmmMemAccessFlagsProtNone,
    read = hmmMemAccessFlagsProtRead,
    read_write = hmmMemAccessFlagsProtReadWrite
};

struct migratable_t {};
/// Kind of physical memory: moves and is evicted as other memory is.
inline constexpr migratable_t migratable;

/// Sizes, offsets and addresses below are multiples of this.
[[nodiscard]] inline std::size_t memory_granularity(location where) {
    hmmMemAllocationProp prop = {};
    prop.type = hmmMemAllocationTypePinned;
    prop.location = where.get();
    std::size_t result = 0;
    check(hmmMemGetAllocationGranularity(&result, &prop, hmmMemAllocationGranularityMinimum),
          "memory_granularity");
    return result;
}

/// Owns a handle of a memory object: memory without addresses, initially zero.
/// The memory lives until all its owners, mappings and descriptors are gone.
class physical_memory {
  public:
    /// Memory that stays at its location.
    physical_memory(std::size_t bytes, location where)
        : physical_memory(bytes, where, hmmMemAllocationTypePinned) {}
    physical_memory(std::size_t bytes, location where, migratable_t)
        : physical_memory(bytes, where, hmmMemAllocationTypeManaged) {}
    physical_memory(physical_memory&& other) noexcept
        : handle_(std::exchange(other.handle_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
    physical_memory& operator=(physical_memory&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~physical_memory() {
        if (handle_ != 0) hmmMemRelease(handle_);
    }

    /// The memory object of a descriptor, which stays the caller's. @bytes: its
    /// size, or less.
    [[nodiscard]] static physical_memory import_descriptor(int descriptor, std::size_t bytes) {
        hmmMemGenericAllocationHandle handle = 0;
        void* const given = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
        check(hmmMemImportFromShareableHandle(&handle, given, hmmMemHandleTypePosixFileDescriptor),
              "import_descriptor");
        return {handle, bytes};
    }
    /// Returns a new descriptor, which the caller closes.
    [[nodiscard]] int export_descriptor() const {
        int descriptor = -1;
        check(hmmMemExportToShareableHandle(&descriptor, handle_,
                                            hmmMemHandleTypePosixFileDescriptor, 0),
              "export_descriptor");
        return descriptor;
    }

    [[nodiscard]] hmmMemGenericAllocationHandle handle() const noexcept { return handle_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  private:
    physical_memory(hmmMemGenericAllocationHandle handle, std::size_t bytes) noexcept
        : handle_(handle), bytes_(bytes) {}
    physical_memory(std::size_t bytes, location where, hmmMemAllocationType type) : bytes_(bytes) {
        hmmMemAllocationProp prop = {};
        prop.type = type;
        prop.requestedHandleTypes = hmmMemHandleTypePosixFileDescriptor;
        prop.location = where.get();
        check(hmmMemCreate(&handle_, bytes, &prop, 0), "physical_memory");
    }

    hmmMemGenericAllocationHandle handle_ = 0;
    std::size_t bytes_ = 0;
};

/// Owns addresses. Mappings in it must be destroyed before.
class [[nodiscard]] address_range {
  public:
    /// @hint: where it begins if these addresses are free.
    explicit address_range(std::size_t bytes, std::size_t alignment = 0,
                           const void* hint = nullptr) {
        hmmDeviceptr begin = 0;
        check(hmmMemAddressReserve(
                  &begin, bytes, alignment,
                  static_cast<hmmDeviceptr>(reinterpret_cast<std::uintptr_t>(hint)), 0),
              "address_range");
        memory_ = {reinterpret_cast<std::byte*>(begin), bytes};
    }
    address_range(address_range&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    address_range& operator=(address_range&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~address_range() {
        if (!memory_.empty())
            hmmMemAddressFree(reinterpret_cast<hmmDeviceptr>(memory_.data()), memory_.size());
    }

    [[nodiscard]] std::span<std::byte> get() const noexcept { return memory_; }

  private:
    std::span<std::byte> memory_;
};

/// Sets what the processors at a location may do with mapped memory. Other locations
/// keep their access.
inline void set_access(std::span<std::byte> memory, location where, memory_access access) {
    if (memory.empty()) return;
    const hmmMemAccessDesc desc = {where.get(), static_cast<hmmMemAccessFlags>(access)};
    check(hmmMemSetAccess(reinterpret_cast<hmmDeviceptr>(memory.data()), memory.size(), &desc, 1),
          "set_access");
}

/// Sets the access of several locations, or of none if it fails.
inline void set_access(std::span<std::byte> memory, std::span<const hmmMemAccessDesc> all) {
    if (memory.empty() || all.empty()) return;
    check(hmmMemSetAccess(reinterpret_cast<hmmDeviceptr>(memory.data()), memory.size(), all.data(),
                          all.size()),
          "set_access");
}

[[nodiscard]] inline memory_access get_access(const void* pointer, location where) {
    unsigned long long flags = 0;
    const hmmMemLocation wanted = where.get();
    check(hmmMemGetAccess(&flags, &wanted, reinterpret_cast<hmmDeviceptr>(pointer)), "get_access");
    return static_cast<memory_access>(flags);
}

/// Owns a mapping of physical memory in an address range, which must outlive
/// it. The physical memory need not.
class [[nodiscard]] mapping {
  public:
    /// Maps all of @memory at @where.
    mapping(std::byte* where, const physical_memory& memory)
        : mapping(where, memory, 0, memory.bytes()) {}
    /// Maps @bytes of it from @offset on.
    mapping(std::byte* where, const physical_memory& memory, std::size_t offset,
            std::size_t bytes) {
        check(hmmMemMap(reinterpret_cast<hmmDeviceptr>(where), bytes, offset, memory.handle(), 0),
              "mapping");
        memory_ = {where, bytes};
    }
    mapping(mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    mapping& operator=(mapping&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    /// No processor can reach the memory here any more. Does not wait for work.
    ~mapping() {
        if (!memory_.empty())
            hmmMemUnmap(reinterpret_cast<hmmDeviceptr>(memory_.data()), memory_.size());
    }

    void set_access(location where, memory_access access) const {
        hmm::set_access(memory_, where, access);
    }
    [[nodiscard]] std::span<std::byte> get() const noexcept { return memory_; }

  private:
    std::span<std::byte> memory_;
};

} // namespace hmm
