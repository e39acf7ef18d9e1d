// SPDX-License-Identifier: MIT
// Evicts nothing, as with the knob oversubscription at 0.
#include "policy.hpp"

namespace replay {
namespace {

class never : public policy {
  public:
    when_full full(const fault&) override { return when_full::takes_rest; }
};

} // namespace

std::unique_ptr<policy> make_never(std::uint64_t) {
    return std::make_unique<never>();
}

} // namespace replay
