// SPDX-License-Identifier: MIT
#include "copy.hpp"

#include "shared_pool.hpp"

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

} // namespace hmmrt
