// SPDX-License-Identifier: MIT
#include "program_memory.hpp"

#include "patterns.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>
#include <system_error>

namespace bench {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::byte* huge_page_at(std::byte* address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    return address + (-number & (huge_page_bytes - 1));
}

} // namespace

mapping::mapping(std::size_t bytes, page_kind pages)
    : all_bytes_(bytes + huge_page_bytes), bytes_(bytes) {
    void* const all =
        mmap(nullptr, all_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "memory of a measurement");
    all_ = static_cast<std::byte*>(all);
    data_ = huge_page_at(all_);
    // These fail on kernels without huge pages, which is fine.
    if (pages == page_kind::single) madvise(all_, all_bytes_, MADV_NOHUGEPAGE);
    if (pages == page_kind::huge) madvise(data_, bytes_, MADV_HUGEPAGE);
}

mapping::~mapping() {
    munmap(all_, all_bytes_);
}

void read_pages(const std::byte* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += page_bytes)
        static_cast<void>(*static_cast<const volatile std::byte*>(at + i));
}

} // namespace bench
