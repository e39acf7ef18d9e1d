// SPDX-License-Identifier: MIT
// What hmmctl-replay does: replays each trace with each policy, and describes the results.
#pragma once

#include "replay_plan.hpp"

namespace replay {

/// Returns the answer of `hmmctl replay --json`. Throws hmmctl::failure.
hmmctl::json replayed(const hmmctl::replay_plan& plan);
/// Returns the answer of `hmmctl replay --list --json`.
hmmctl::json listed();

} // namespace replay
