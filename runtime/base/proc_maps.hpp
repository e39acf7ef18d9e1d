// SPDX-License-Identifier: MIT
// Parsing /proc/self/maps.
#pragma once

#include "agent/control.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace hmmrt {

/// The vdso and its data pages ([vvar], [vvar_vclock]), lowest address first.
struct kernel_maps {
    std::vector<special_map> parts;
    std::uint64_t vdso = 0; ///< 0: no vdso
};

kernel_maps find_kernel_maps(std::string_view proc_maps);

struct mapped_part {
    std::uint64_t begin;
    std::uint64_t end;
};

/// The mappings in a range, clipped to the range, lowest address first.
std::vector<mapped_part> mappings_in(std::string_view proc_maps, std::uint64_t begin,
                                     std::uint64_t end);

} // namespace hmmrt
