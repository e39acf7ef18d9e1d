// SPDX-License-Identifier: MIT
// Runs a pattern with a transfer: moves data to the device, and its result back.
#pragma once

#include "patterns.hpp"
#include "program_memory.hpp"

#include <hmm/hmm.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace bench {

/// One run of a pattern, in seconds.
struct sample {
    double move_in = 0, kernel = 0, read_back = 0;
    std::map<std::string, std::uint64_t> counts = {};
};

/// The results on the device and on the CPU differ.
class wrong_result : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Measures cases of one pattern and one size, each with new memory, and checks each result.
class case_runner {
  public:
    case_runner(const pattern& of, std::size_t bytes, page_kind pages)
        : pattern_(of), bytes_(bytes), pages_(pages) {}

    /// Runs on the CPU. The first run determines the expected result.
    sample run_on_cpu();
    /// Runs with a transfer of hmmctl::bench_transfers(), on one lane of device 0. Throws
    /// wrong_result, and hmm::error.
    sample run_on_device(std::string_view transfer);

  private:
    sample run_in_place(std::string_view transfer) const;
    sample run_in_copy() const;
    double run_kernel(std::byte* at) const;
    void check(const std::byte* at, std::string_view transfer) const;

    const pattern& pattern_;
    std::size_t bytes_;
    page_kind pages_;
    std::uint64_t expected_ = 0;
    bool is_expected_ = false;
};

} // namespace bench
