// SPDX-License-Identifier: MIT
// Measures all that a plan asks for.
#pragma once

#include "bench_plan.hpp"
#include "bench_result.hpp"

namespace bench {

/// Says on standard error how far it is. Throws hmmctl::failure, hmm::error and wrong_result.
hmmctl::bench_result measure(const hmmctl::bench_plan& plan);

} // namespace bench
