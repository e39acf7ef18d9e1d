// SPDX-License-Identifier: MIT
#include "program_memory.hpp"

#include "patterns.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <system_error>

namespace bench {

mapping::mapping(std::size_t bytes)
    : data_(static_cast<std::byte*>(
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
      bytes_(bytes) {
    if (data_ == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "memory of a measurement");
    madvise(data_, bytes_, MADV_NOHUGEPAGE); // fails on kernels that have none
}

mapping::~mapping() {
    munmap(data_, bytes_);
}

void read_pages(const std::byte* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += page_bytes)
        static_cast<void>(*static_cast<const volatile std::byte*>(at + i));
}

} // namespace bench
