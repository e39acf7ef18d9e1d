// SPDX-License-Identifier: MIT
// How much more several lanes, devices or processes do than one.
#pragma once

#include "bench_plan.hpp"
#include "bench_result.hpp"

namespace bench {

/// Measures what the plan asks for, in processes of their own. The result describes the device.
void measure_scaling(const hmmctl::bench_plan& plan, unsigned devices,
                     hmmctl::bench_result& result);

} // namespace bench
