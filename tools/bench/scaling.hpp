// SPDX-License-Identifier: MIT
// Measures how throughput scales with lanes, devices and processes.
#pragma once

#include "bench_plan.hpp"
#include "bench_result.hpp"

namespace bench {

/// Does the plan's scaling measurements, in worker processes. @result already describes the device.
void measure_scaling(const hmmctl::bench_plan& plan, unsigned devices,
                     hmmctl::bench_result& result);

} // namespace bench
