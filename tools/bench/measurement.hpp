// SPDX-License-Identifier: MIT
// Does the measurements of a plan.
#pragma once

#include "bench_plan.hpp"
#include "bench_result.hpp"

namespace bench {

/// Does all measurements. Reports progress on standard error. Throws hmmctl::failure, hmm::error
/// and wrong_result.
hmmctl::bench_result measure(const hmmctl::bench_plan& plan);

/// Measures how throughput scales with lanes, devices and processes, in worker processes. @result
/// already describes the device.
void measure_scaling(const hmmctl::bench_plan& plan, unsigned devices,
                     hmmctl::bench_result& result);

} // namespace bench
