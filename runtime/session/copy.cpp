// SPDX-License-Identifier: MIT
#include "session/copy.hpp"

#include "session/shared_pool.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace hmmrt {

void copy_closure::run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept {
    const auto& self = *static_cast<const copy_closure*>(raw);
    const std::size_t from = begin * item_bytes;
    const std::size_t bytes = std::min<std::size_t>(end * item_bytes, self.bytes_) - from;

    if (self.from_ != nullptr)
        std::memcpy(self.to_ + from, self.from_ + from, bytes);
    else
        std::memset(self.to_ + from, self.value_, bytes);
}

void copy_closure::destroy(void* closure) {
    static_cast<copy_head*>(closure)->~copy_head();
    shared_pool::get().free(closure);
}

copy_closure::pointer copy_closure::create(void* to, const void* from, int value, std::size_t bytes,
                                           staged_bytes staged) {
    auto* closure = new (shared_pool::get().allocate(sizeof(copy_closure))) copy_closure;
    closure->staged = std::move(staged);
    closure->to_ = static_cast<char*>(to);
    closure->from_ = static_cast<const char*>(from);
    closure->bytes_ = bytes;
    closure->value_ = value;
    return pointer(closure);
}

copy_closure::pointer copy_closure::copy(void* to, const void* from, std::size_t bytes,
                                         staged_bytes staged) {
    if (staged) from = std::memcpy(staged.data(), from, bytes);
    return create(to, from, 0, bytes, std::move(staged));
}

copy_closure::pointer copy_closure::fill(void* to, int value, std::size_t bytes) {
    return create(to, nullptr, value, bytes, {});
}

// ---- rows and boxes

namespace {

/// Returns the address of a row. Rows are numbered consecutively across layers.
char* address_of_row(const box_memory& memory, const box_size& size, std::size_t row) {
    return memory.begin + row / size.height * memory.layer + row % size.height * memory.pitch;
}

} // namespace

void box_closure::work_on_row(std::size_t row, std::size_t column, std::size_t bytes) const {
    char* const to = address_of_row(to_, size_, row) + column;
    if (from_.begin != nullptr)
        std::memcpy(to, address_of_row(from_, size_, row) + column, bytes);
    else
        std::memset(to, value_, bytes);
}

/// Packs the source into @packed, from where the copy will read it.
void box_closure::take_source(const box_memory& packed) {
    box_closure packing = {};
    packing.to_ = packed;
    packing.from_ = from_;
    packing.size_ = size_;
    for (std::size_t row = 0; row < size_.height * size_.depth; row++)
        packing.work_on_row(row, 0, size_.width);
    from_ = packed;
}

void box_closure::run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept {
    const auto& self = *static_cast<const box_closure*>(raw);
    const std::size_t width = self.size_.width;
    const std::size_t all = width * self.size_.height * self.size_.depth;
    const std::size_t last = std::min<std::size_t>(end * copy_closure::item_bytes, all);
    std::size_t at = begin * copy_closure::item_bytes;
    std::size_t row = at / width, column = at % width;

    while (at < last) {
        const std::size_t bytes = std::min(width - column, last - at);
        self.work_on_row(row++, column, bytes);
        at += bytes;
        column = 0;
    }
}

copy_closure::pointer box_closure::create(box_closure made) {
    void* const memory = shared_pool::get().allocate(sizeof(box_closure));
    return copy_closure::pointer(new (memory) box_closure(std::move(made)));
}

copy_closure::pointer box_closure::copy(const box_memory& to, const box_memory& from,
                                        const box_size& size, staged_bytes staged) {
    box_closure made = {};
    made.to_ = to;
    made.from_ = from;
    made.size_ = size;
    if (staged) {
        made.take_source({staged.data(), size.width, size.width * size.height});
        made.staged = std::move(staged);
    }
    return create(std::move(made));
}

copy_closure::pointer box_closure::fill(const box_memory& to, int value, const box_size& size) {
    box_closure made = {};
    made.to_ = to;
    made.size_ = size;
    made.value_ = value;
    return create(std::move(made));
}

} // namespace hmmrt
