// SPDX-License-Identifier: MIT
// Evicts what was used last: the best victim for loops over more memory than the device has.
#include "policy.hpp"

#include <algorithm>

namespace replay {
namespace {

class mru : public policy {
  public:
    when_full full(const fault&) override { return when_full::evicts; }
    int victim(const machine& on, std::span<const int> candidates) override {
        return *std::max_element(candidates.begin(), candidates.end(), [&](int one, int other) {
            return (*on.chunks)[static_cast<std::size_t>(one)].order <
                   (*on.chunks)[static_cast<std::size_t>(other)].order;
        });
    }
};

} // namespace

std::unique_ptr<policy> make_mru(std::uint64_t) {
    return std::make_unique<mru>();
}

} // namespace replay
