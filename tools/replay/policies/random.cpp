// SPDX-License-Identifier: MIT
// Evicts any chunk: what a policy has to beat that claims to know which memory is needed.
#include "policy.hpp"

#include <random>

namespace replay {
namespace {

class random_victim : public policy {
  public:
    explicit random_victim(std::uint64_t seed) : numbers_(seed) {}
    when_full full(const fault&) override { return when_full::evicts; }
    int victim(const machine&, std::span<const int> candidates) override {
        return candidates[numbers_() % candidates.size()];
    }

  private:
    std::mt19937_64 numbers_;
};

} // namespace

std::unique_ptr<policy> make_random(std::uint64_t seed) {
    return std::make_unique<random_victim>(seed);
}

} // namespace replay
