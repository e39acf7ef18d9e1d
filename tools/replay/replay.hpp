// SPDX-License-Identifier: MIT
// The command `hmmctl replay`. The helper hmmctl-replay does the simulation, because it is linked
// with code of the kernel module.
#pragma once

#include "commands.hpp"
#include "plot.hpp"
#include "replay_plan.hpp"

#include <string>

namespace hmmctl {

/// Lists policies and prices.
output list_replay(bool as_json);
/// Replays. Also plots the costs into @to, unless that is empty.
output run_replay(const replay_plan& plan, bool as_json, const std::string& to);

/// Returns a table of the answer of hmmctl-replay.
std::string text_of_replay(const json& answer);
/// Returns a gnuplot script with a panel of bars for each size of device memory.
std::string plot_of_replay(const json& answer, plot_format format);

} // namespace hmmctl
