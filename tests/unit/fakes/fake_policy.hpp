// SPDX-License-Identifier: MIT
/*
 * Replaces the knobs, quotas, statistics and annotations of the modules: stores which value was set
 * where, with one value for all ranges, and fails on request.
 */
#pragma once

#include <linux/hmmrt.h>
#include <linux/hmmrt_event.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fakes {

struct fake_knob {
    std::string name;
    std::uint32_t min;
    std::uint32_t max;
    std::uint32_t by_default;
    std::uint32_t scopes;
    std::map<std::uint64_t, std::uint32_t> set; ///< by scope, and by id for devices
};

class fake_policy {
  public:
    int knob(hmmrt_knob& request);
    int quota(hmmrt_quota& request);
    /// The members have the values 1, 2, 3, ... in their order.
    int stats(hmmrt_stats& request);
    int annotate(const hmmrt_annotate& request);
    void clear();

    // Set by tests.
    int knob_change_error = 0; ///< positive; queries still succeed
    int quota_error = 0;
    int stats_error = 0;
    int annotation_error = 0;
    std::vector<fake_knob> knobs;

    // Read by tests.
    std::vector<hmmrt_knob> knob_changes;
    std::vector<hmmrt_quota> quotas;  ///< every call
    std::vector<hmmrt_stats> queries; ///< every call for statistics
    std::vector<hmmrt_annotate> annotations;

  private:
    std::mutex lock_;
    hmmrt_quota held_ = {};
};

} // namespace fakes
