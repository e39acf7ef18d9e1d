// SPDX-License-Identifier: MIT
// Does all measurements of a plan.
#pragma once

#include "bench_plan.hpp"
#include "bench_result.hpp"

namespace bench {

/// Reports progress on standard error. Throws hmmctl::failure, hmm::error and wrong_result.
hmmctl::bench_result measure(const hmmctl::bench_plan& plan);

} // namespace bench
