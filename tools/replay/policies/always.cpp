// SPDX-License-Identifier: MIT
// Evicts for each touch of a full device, as with the knob oversubscription at 1.
#include "policy.hpp"

namespace replay {
namespace {

class always : public policy {
  public:
    when_full full(const fault&) override { return when_full::evicts; }
};

} // namespace

std::unique_ptr<policy> make_always(std::uint64_t) {
    return std::make_unique<always>();
}

} // namespace replay
