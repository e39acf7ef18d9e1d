// SPDX-License-Identifier: MIT
// A vector in device memory that grows without copying.
#pragma once

#include <hmm/memory.hpp>
#include <hmm/virtual_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hmm {

/// Owns a vector in memory of a device. It grows by mapping more memory after
/// its elements: without reserve(), it has addresses for all memory of the
/// device, if the process has as many. If the addresses after those that it has
/// are taken, it reserves a larger range, and maps the same memory there: nothing
/// is copied in either case.
///
/// Device code may use data(), size() and elements. A call that changes the size
/// is host code, and must not overlap other uses of the vector; one that moves
/// the elements, frees memory or ends the vector waits for all work of all
/// devices. Moving invalidates pointers: compare data() before and after, or
/// call reserve() first.
///
/// A function that throws has not changed elements, size and addresses.
template <class T>
requires std::is_trivially_copyable_v<T>
class growable_vector {
  public:
    /// An empty vector in memory of @where, for that device and for @others:
    /// other devices, and hmm::host if the CPU is to read and write elements.
    explicit growable_vector(device where, std::initializer_list<location> others = {})
        : where_(where), unit_(memory_granularity(where)) {
        add_access(where);
        for (const location& each : others)
            add_access(each);
    }
    growable_vector() : growable_vector(current_device()) {}
    growable_vector(growable_vector&& other) noexcept
        : where_(other.where_), unit_(other.unit_), access_(other.access_), host_(other.host_) {
        swap(other);
    }
    growable_vector& operator=(growable_vector&& other) noexcept {
        swap(other);
        return *this;
    }
    ~growable_vector() {
        if (!chunks_.empty()) wait();
    }

    [[nodiscard]] T* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Elements for which there is memory, and for which there are addresses.
    [[nodiscard]] std::size_t capacity() const noexcept { return mapped_ / sizeof(T); }
    [[nodiscard]] std::size_t reserved() const noexcept { return reserved_ / sizeof(T); }
    [[nodiscard]] std::span<T> get() const noexcept { return {data_, size_}; }
    [[nodiscard]] T* begin() const noexcept { return data_; }
    [[nodiscard]] T* end() const noexcept { return data_ + size_; }
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_[index]; }

    /// Reserves addresses for @count elements, but no memory.
    void reserve(std::size_t count) {
        const std::size_t wanted = bytes_for(count);
        if (wanted > reserved_ && !extend(wanted)) move_to(address_range(wanted), nullptr);
    }

    /// Adds @count elements. They are zero, except those that the vector had
    /// before it was shrunk, which keep their values.
    void grow(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() - size_) throw_too_many();
        const std::size_t wanted = bytes_for(size_ + count);
        if (wanted > mapped_) add(wanted - mapped_);
        size_ += count;
    }

    /// Adds an element. Without memory for it, doubles the capacity, or adds as
    /// much as is left. Without access of the CPU, the device copies
    /// the element.
    void push_back(T value) {
        if (size_ == capacity()) add_for_next();
        if (host_)
            data_[size_] = value;
        else
            copy_by_device(value);
        size_++;
    }

    /// Removes elements from the end until there are @count, and frees memory
    /// that holds no element any more, in the parts in which it was added.
    void shrink(std::size_t count) {
        if (count >= size_) return;
        size_ = count;
        const std::size_t needed = bytes_for(count);
        if (chunks_.empty() || mapped_ - chunks_.back().memory.bytes() < needed) return;
        wait();
        while (!chunks_.empty() && mapped_ - chunks_.back().memory.bytes() >= needed) {
            mapped_ -= chunks_.back().memory.bytes();
            chunks_.pop_back();
        }
    }

    void swap(growable_vector& other) noexcept {
        std::swap(where_, other.where_);
        std::swap(unit_, other.unit_);
        std::swap(access_, other.access_);
        std::swap(host_, other.host_);
        std::swap(ranges_, other.ranges_);
        std::swap(chunks_, other.chunks_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(mapped_, other.mapped_);
        std::swap(reserved_, other.reserved_);
    }

  private:
    struct chunk {
        physical_memory memory;
        mapping mapped;
    };

    [[noreturn]] static void throw_too_many() {
        throw error(hmmErrorMemoryAllocation, "growable_vector", "too many elements", {});
    }

    void add_access(const location& where) {
        host_ = host_ || where.get().type != hmmMemLocationTypeDevice;
        access_->push_back({where.get(), hmmMemAccessFlagsProtReadWrite});
    }

    /// In whole units.
    [[nodiscard]] std::size_t bytes_for(std::size_t count) const {
        if (count > (std::numeric_limits<std::size_t>::max() - unit_) / sizeof(T)) throw_too_many();
        return (count * sizeof(T) + unit_ - 1) / unit_ * unit_;
    }

    [[nodiscard]] std::byte* start() const noexcept { return reinterpret_cast<std::byte*>(data_); }

    /// Reserves the addresses after the reserved ones, if they are free.
    bool extend(std::size_t wanted) {
        if (ranges_.empty()) return false;
        ranges_.reserve(ranges_.size() + 1);
        address_range behind(wanted - reserved_, 0, start() + reserved_);
        if (behind.get().data() != start() + reserved_) return false;
        ranges_.push_back(std::move(behind));
        reserved_ = wanted;
        return true;
    }

    /// Maps all memory in @fresh, and @more after it unless NULL. Then the old
    /// mappings and ranges go.
    void move_to(address_range&& fresh, physical_memory* more) {
        std::vector<address_range> ranges;
        std::vector<mapping> mappings;
        std::byte* const begin = fresh.get().data();
        std::size_t bytes = 0;
        const std::size_t reserved = fresh.get().size();
        ranges.push_back(std::move(fresh));
        mappings.reserve(chunks_.size() + 1);
        chunks_.reserve(chunks_.size() + 1);
        const auto map = [&](const physical_memory& memory) {
            mappings.emplace_back(begin + bytes, memory);
            bytes += memory.bytes();
        };
        for (const chunk& each : chunks_)
            map(each.memory);
        if (more != nullptr) map(*more);
        set_access({begin, bytes}, std::span<const hmmMemAccessDesc>(*access_));
        // nothing fails from here on
        if (!chunks_.empty()) wait();
        for (std::size_t i = 0; i < chunks_.size(); i++)
            std::swap(chunks_[i].mapped, mappings[i]);
        if (more != nullptr) chunks_.push_back({std::move(*more), std::move(mappings.back())});
        mappings.clear(); // before their range
        ranges_.swap(ranges);
        data_ = reinterpret_cast<T*>(begin);
        mapped_ = bytes;
        reserved_ = reserved;
    }

    /// Addresses for @wanted bytes and more. Those for all memory of the device
    /// cost no more than a few, and with them a vector need not move.
    [[nodiscard]] address_range addresses_for(std::size_t wanted) const {
        const std::size_t enough = std::max(wanted, 2 * reserved_);
        const std::size_t all = where_.memory().total / unit_ * unit_;
        if (all > enough) {
            try {
                return address_range(all);
            } catch (const error& full) {
                if (full.code() != hmmErrorMemoryAllocation) throw;
            }
        }
        return address_range(enough);
    }

    /// Adds memory for elements.
    void add(std::size_t bytes) {
        physical_memory more(bytes, where_);
        const std::size_t wanted = mapped_ + bytes;
        if (wanted > reserved_ && !extend(wanted)) return move_to(addresses_for(wanted), &more);
        chunks_.reserve(chunks_.size() + 1);
        mapping mapped(start() + mapped_, more);
        set_access(mapped.get(), std::span<const hmmMemAccessDesc>(*access_));
        chunks_.push_back({std::move(more), std::move(mapped)});
        mapped_ = wanted;
    }

    void add_for_next() {
        const std::size_t needed = bytes_for(size_ + 1) - mapped_;
        if (mapped_ > needed) {
            try {
                return add(mapped_);
            } catch (const error& full) {
                if (full.code() != hmmErrorMemoryAllocation) throw;
            }
        }
        add(needed);
    }

    void copy_by_device(const T& value) {
        const scoped_device use(where_);
        copy(std::span<T>(data_ + size_, 1), std::span<const T>(&value, 1));
        default_stream.synchronize();
    }

    /// Waits as the end of managed memory does, for all devices; errors stay for
    /// the next synchronisation.
    static void wait() noexcept {
        void* nothing = nullptr;
        if (hmmMallocManaged(&nothing, 1, hmmMemAttachGlobal) == hmmSuccess) {
            hmmFree(nothing);
            return;
        }
        int before = 0, count = 0; // no memory: wait for one device after the other
        if (hmmGetDevice(&before) != hmmSuccess || hmmGetDeviceCount(&count) != hmmSuccess) return;
        for (int i = 0; i < count; i++)
            if (hmmSetDevice(i) == hmmSuccess) hmmDeviceSynchronize();
        hmmSetDevice(before);
    }

    device where_;
    std::size_t unit_; ///< the granularity
    /// Not changed after construction; shared with vectors that it was moved to.
    std::shared_ptr<std::vector<hmmMemAccessDesc>> access_ =
        std::make_shared<std::vector<hmmMemAccessDesc>>();
    bool host_ = false;                 ///< the CPU has access
    std::vector<address_range> ranges_; ///< without gaps
    std::vector<chunk> chunks_;         ///< destroyed before their ranges
    T* data_ = nullptr;
    std::size_t size_ = 0;                  ///< elements
    std::size_t mapped_ = 0, reserved_ = 0; ///< bytes
};

} // namespace hmm
