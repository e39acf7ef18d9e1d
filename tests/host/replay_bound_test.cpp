// SPDX-License-Identifier: MIT
// Bounds of hmmctl replay: the offline bound for all policies, and that of the default policy by
// its two simple neighbours. HMMRT_TEST_SEED repeats a run; HMMRT_MODEL_OPS is the number of
// mixtures.
#include "replay_fixture.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace replay {
namespace {

/// A random program: some patterns after another on a random device.
struct mixture {
    trace of;
    std::uint64_t memory = 0;
};

class mixer {
  public:
    /// @all: also what the CPU and prefetches do
    explicit mixer(std::uint64_t seed, bool all = false)
        : numbers_(seed), kinds_(all ? 6 + std::size(others) : 6) {}

    mixture next() {
        mixture result;
        result.memory = below(2, 7) * block_bytes;
        result.of.pages = result.memory / page_bytes * below(4, 13) / 4;
        const unsigned parts = below(1, 5);
        for (unsigned i = 0; i < parts; i++)
            add_part(result.of);
        return result;
    }

  private:
    /// Returns a number from @least to below @end.
    std::uint32_t below(std::uint32_t least, std::uint32_t end) {
        return least + static_cast<std::uint32_t>(numbers_() % (end - least));
    }
    step access(std::uint32_t first, std::uint32_t count) {
        return {.what = write_ ? step_kind::device_write : step_kind::device_read,
                .lines = lines_,
                .first = first,
                .count = count,
                .accesses = lines_ * 8u};
    }
    void add_part(trace& to) {
        const auto pages = static_cast<std::uint32_t>(to.pages);
        const std::uint32_t first = below(0, pages), count = below(1, pages - first + 1);
        write_ = below(0, 2) == 0;
        lines_ = static_cast<std::uint8_t>(1u << below(0, 7));
        const unsigned kind = below(0, kinds_), rounds = below(1, 20);
        if (kind >= 6)
            to.steps.push_back({.what = others[kind - 6], .first = first, .count = count});
        if (kind == 4)
            to.steps.push_back({.what = step_kind::unmap, .first = first, .count = count});
        if (kind == 5) to.steps.push_back({.what = step_kind::wait, .count = below(1, 100'000)});
        for (unsigned round = 0; round < rounds && kind < 4; round++)
            add_round(to, kind, first, count);
    }
    void add_round(trace& to, unsigned kind, std::uint32_t first, std::uint32_t count) {
        const std::uint32_t stride = 1u << below(1, 8);
        if (kind == 0) to.steps.push_back(access(first, count));
        for (std::uint32_t i = 0; kind == 1 && i < count; i++)
            to.steps.push_back(access(first + below(0, count), 1));
        for (std::uint32_t i = 0; kind == 2 && i < count; i += stride)
            to.steps.push_back(access(first + i, 1));
        for (std::uint32_t i = 0; kind == 3 && i < count; i++) // often used pages, and a sweep
            to.steps.push_back(access(first + (i % 4 == 0 ? i : i % (count / 8 + 1)), 1));
    }

    static constexpr step_kind others[] = {step_kind::cpu_read, step_kind::cpu_write,
                                           step_kind::prefetch_device, step_kind::prefetch_cpu};

    std::mt19937_64 numbers_;
    unsigned kinds_;
    bool write_ = false;
    std::uint8_t lines_ = 1;
};

/// Then there are more mixtures, and other ones each time.
bool is_long() {
    const char* const text = std::getenv("HMMRT_TEST_LONG");
    return text != nullptr && std::string(text) == "yes";
}

class ReplayMixture : public testing::Test {
  protected:
    void SetUp() override {
        std::printf("HMMRT_TEST_SEED=%llu HMMRT_MODEL_OPS=%llu\n",
                    static_cast<unsigned long long>(seed_),
                    static_cast<unsigned long long>(mixtures_));
    }
    const std::uint64_t seed_ = from_environment("HMMRT_TEST_SEED",
                                                 is_long() ? std::random_device()() : 1),
                        mixtures_ = from_environment("HMMRT_MODEL_OPS", is_long() ? 10'000 : 100);
};

std::uint64_t misses(const counts& of) {
    return of.pages_in + of.remote_visits;
}

double cost(const mixture& of, const char* policy, const prices& costs) {
    return simulated(of.of, policy, costs, of.memory).cost.total();
}

// ---- what is optimal

/// Tries all choices for each visit.
std::uint64_t least_misses(const std::vector<std::uint32_t>& visits, std::size_t at,
                           std::vector<std::uint32_t> there, std::size_t capacity) {
    if (at == visits.size()) return 0;
    const std::uint32_t page = visits[at];
    if (std::find(there.begin(), there.end(), page) != there.end())
        return least_misses(visits, at + 1, there, capacity);
    std::uint64_t best = least_misses(visits, at + 1, there, capacity); // bypass
    if (there.size() < capacity) {
        there.push_back(page);
        return 1 + std::min(best, least_misses(visits, at + 1, there, capacity));
    }
    for (std::uint32_t& victim : there) {
        const std::uint32_t kept = std::exchange(victim, page);
        best = std::min(best, least_misses(visits, at + 1, there, capacity));
        victim = kept;
    }
    return 1 + best;
}

TEST(ReplayBound, IsTheOptimumOfShortTraces) {
    std::mt19937_64 numbers(7);
    for (unsigned i = 0; i < 200; i++) {
        trace of;
        of.pages = 5;
        std::vector<std::uint32_t> visits(9);
        for (std::uint32_t& page : visits) {
            page = static_cast<std::uint32_t>(numbers() % of.pages);
            of.steps.push_back({.first = page});
        }
        const std::size_t capacity = 1 + numbers() % 3;
        EXPECT_EQ(bound_of(of, guest, capacity * page_bytes).misses,
                  least_misses(visits, 0, {}, capacity));
    }
}

TEST(ReplayBound, CountsAVisitAfterTheCpuHadThePage) {
    trace of = sweeps(8, 2);
    EXPECT_EQ(bound_of(of, guest, usual_memory).misses, 8u);
    of.steps.insert(of.steps.begin() + 1, {.what = step_kind::cpu_write, .first = 2, .count = 3});
    EXPECT_EQ(bound_of(of, guest, usual_memory).misses, 11u);
}

TEST(ReplayBound, PricesWhatCannotBeSaved) {
    const double local = 8 * 2 * page_lines * gpu.local_line;
    const double extra = page_lines * (gpu.remote_line - gpu.local_line);
    EXPECT_NEAR(bound_of(sweeps(8, 2), gpu, usual_memory).cost,
                local + 8 * std::min(extra, gpu.page_in), 1e-6);
}

TEST(ReplayBound, NoPolicyBeatsItOnPatterns) {
    for (const bench::pattern& one : bench::patterns()) {
        const trace of = trace_of_pattern(one, 3 * mib);
        const bound least = bound_of(of, gpu, 2 * mib);
        for (const policy_entry& by : policies()) {
            const outcome result = simulated(of, std::string(by.name), gpu, 2 * mib);
            EXPECT_GE(misses(result.counted), least.misses) << one.name << ' ' << by.name;
            EXPECT_GE(result.cost.total(), least.cost) << one.name << ' ' << by.name;
        }
    }
}

TEST_F(ReplayMixture, NoPolicyBeatsTheBound) {
    mixer next(seed_);
    for (std::uint64_t i = 0; i < mixtures_ / 10 + 1; i++) {
        const mixture one = next.next();
        if (one.of.steps.empty()) continue;
        const bound least = bound_of(one.of, gpu, one.memory);
        for (const policy_entry& by : policies()) {
            const outcome result = simulated(one.of, std::string(by.name), gpu, one.memory);
            ASSERT_GE(misses(result.counted), least.misses) << "mixture " << i << ' ' << by.name;
            ASSERT_GE(result.cost.total(), least.cost) << "mixture " << i << ' ' << by.name;
        }
    }
}

/// Entries are those of the memory, whatever happens to it.
TEST_F(ReplayMixture, EntriesAgreeWithTheMemory) {
    mixer next(seed_, true);
    for (std::uint64_t i = 0; i < mixtures_; i++) {
        const mixture one = next.next();
        for (const policy_entry& by : policies()) {
            const auto decides = by.make(1);
            simulator machine(one.of, *decides, gpu, one.memory);
            for (const step& step : one.of.steps)
                machine.run(step);
            for (std::uint64_t page = 0; page < one.of.pages; page++) {
                const block& at = machine.block_at(page / block_pages);
                const auto index = static_cast<unsigned>(page % block_pages);
                const bool there = machine.memory().has(page), mapped = at.mapped.has(index);
                ASSERT_EQ(at.local.has(index), mapped && there)
                    << "mixture " << i << ' ' << by.name << " page " << page;
                ASSERT_LE(at.used.has(index), mapped)
                    << "mixture " << i << ' ' << by.name << " page " << page;
            }
        }
    }
}

// ---- the default policy

constexpr double most_regret = 1.3;

TEST(ReplayByUse, CostsLittleMoreThanTheBetterNeighbourOnPatterns) {
    for (const bench::pattern& one : bench::patterns())
        for (const double footprint : {1.1, 2.0}) {
            const mixture of = {pattern(std::string(one.name).c_str(), footprint, 4 * mib),
                                4 * mib};
            const double better = std::min(cost(of, "always", guest), cost(of, "never", guest));
            EXPECT_LE(cost(of, "by-use", guest), most_regret * better)
                << one.name << ' ' << footprint;
        }
}

TEST_F(ReplayMixture, CostsLittleMoreThanTheBetterNeighbour) {
    mixer next(seed_);
    for (std::uint64_t i = 0; i < mixtures_; i++) {
        const mixture one = next.next();
        const double better = std::min(cost(one, "always", guest), cost(one, "never", guest));
        ASSERT_LE(cost(one, "by-use", guest), most_regret * better) << "mixture " << i;
    }
}

/// With these prices a short program can lose more, because a block whose window doesn't fit takes
/// none of the memory that is left before the first look.
TEST_F(ReplayMixture, SeldomCostsMuchMoreOnAGpu) {
    mixer next(seed_);
    std::uint64_t over = 0;
    for (std::uint64_t i = 0; i < mixtures_; i++) {
        const mixture one = next.next();
        const double better = std::min(cost(one, "always", gpu), cost(one, "never", gpu));
        over += cost(one, "by-use", gpu) > most_regret * better;
    }
    EXPECT_LE(over, 2 + mixtures_ / 100);
}

} // namespace
} // namespace replay
