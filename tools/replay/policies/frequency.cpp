// SPDX-License-Identifier: MIT
// Evicts what the fewest looks found used; among equals, what was used longest ago.
#include "policy.hpp"

#include <algorithm>
#include <tuple>

namespace replay {
namespace {

class frequency : public policy {
  public:
    when_full full(const fault&) override { return when_full::evicts; }
    int victim(const machine& on, std::span<const int> candidates) override {
        return *std::min_element(candidates.begin(), candidates.end(), [&](int one, int other) {
            const chunk& left = (*on.chunks)[static_cast<std::size_t>(one)];
            const chunk& right = (*on.chunks)[static_cast<std::size_t>(other)];
            return std::tie(left.uses, left.order) < std::tie(right.uses, right.order);
        });
    }
};

} // namespace

std::unique_ptr<policy> make_frequency(std::uint64_t) {
    return std::make_unique<frequency>();
}

} // namespace replay
