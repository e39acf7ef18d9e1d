// SPDX-License-Identifier: MIT
// A million random touches. policy.c must choose the same windows as the model
// in tests/model, and later touches depend on the resulting locations. This
// test covers windows only; tests/uapi/model_test covers the rest.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

extern "C" {
#include "policy.h"
}
#include "windows.h"

namespace {

constexpr unsigned blocks = 4;
constexpr unsigned devices = 2;
constexpr unsigned words = MODEL_BLOCK / 64;

unsigned long steps() {
    const char* text = std::getenv("HMMRT_MODEL_OPS");
    return text ? std::strtoul(text, nullptr, 0) : 1000000;
}

unsigned seed() {
    const char* text = std::getenv("HMMRT_TEST_SEED");
    const unsigned value =
        text ? static_cast<unsigned>(std::strtoul(text, nullptr, 0)) : std::random_device()();
    std::printf("HMMRT_TEST_SEED=%u\n", value);
    return value;
}

// Pages of a block that a device has mapped, in the kernel's and the model's form.
struct Mapped {
    std::array<unsigned long, words> bits{};
    std::array<unsigned char, MODEL_BLOCK> bytes{};
    unsigned faults = 0;

    unsigned weight() const {
        unsigned n = 0;
        for (const auto byte : bytes)
            n += byte;
        return n;
    }
    void set(model_window window, bool value) {
        for (unsigned i = window.first; i < window.first + window.count; i++) {
            bytes[i] = value;
            const unsigned long bit = 1ul << i % 64;
            bits[i / 64] = value ? bits[i / 64] | bit : bits[i / 64] & ~bit;
        }
    }
};

class Walk {
  public:
    explicit Walk(unsigned seed) : random_(seed) { choose_knobs(); }

    // Returns false if policy.c and the model differ, after reporting it.
    bool step() {
        if (below(200) == 0) choose_knobs();
        const unsigned block = below(blocks);
        switch (below(16)) {
        case 0:
            take_away(block);
            return true;
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
            return host(block);
        default:
            return device(block, below(devices));
        }
    }

    unsigned long sweeps() const { return whole_; }

  private:
    unsigned below(unsigned n) {
        return std::uniform_int_distribution<unsigned>(0, n - 1)(random_);
    }

    void choose_knobs() {
        constexpr unsigned thresholds[] = {1, 25, 50, 51, 75, 99, 100};
        const unsigned threshold = below(2) ? 51 : thresholds[below(7)];
        model_ = {below(8) != 0, threshold, below(2) ? 1 : 1 + below(20), below(4) != 0,
                  below(2) ? 512 : 1 + below(512)};
        for (uint32_t i = 0; i < HMMRT_KNOBS; i++)
            knobs_.of[i] = hmmrt_knob_describe(i)->by_default;
        knobs_.of[HMMRT_KNOB_PREFETCH_ENABLE] = model_.enable;
        knobs_.of[HMMRT_KNOB_PREFETCH_THRESHOLD] = model_.threshold;
        knobs_.of[HMMRT_KNOB_PREFETCH_MIN_FAULTS] = model_.min_faults;
        knobs_.of[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS] = model_.across;
        knobs_.of[HMMRT_KNOB_CPU_FAULT_MAX_PAGES] = model_.most;
    }

    // Random advice for one touch.
    hmmrt_advice choose_advice(unsigned& granularity, bool& preferred) {
        hmmrt_advice advice = {};
        granularity = below(16) ? 0 : 1u << below(10);
        preferred = below(16) == 0;
        advice.granularity = granularity * HMMRT_POLICY_PAGE_SIZE;
        advice.preferred = preferred ? below(devices) : HMMRT_LOCATION_NONE;
        advice.last_prefetch = HMMRT_LOCATION_NONE;
        return advice;
    }

    // The next page of a sweep, or a random page.
    unsigned choose_page(unsigned& sweep) {
        if (below(3) == 0) sweep = below(4) ? below(MODEL_BLOCK) : 0;
        return sweep < MODEL_BLOCK ? sweep : below(MODEL_BLOCK);
    }

    bool same(const char* what, unsigned page, hmmrt_policy_window found, model_window expected) {
        EXPECT_EQ(found.first, expected.first) << what << ", page " << page;
        EXPECT_EQ(found.count, expected.count) << what << ", page " << page;
        whole_ += expected.count == MODEL_BLOCK;
        return found.first == expected.first && found.count == expected.count;
    }

    bool device(unsigned block, unsigned dev) {
        Mapped& mapped = mapped_[dev][block];
        const unsigned page = choose_page(device_sweep_[dev][block]);
        if (mapped.bytes[page]) return true;
        unsigned granularity;
        bool preferred;
        const hmmrt_advice advice = choose_advice(granularity, preferred);
        const unsigned before = block ? mapped_[dev][block - 1].weight() : 0;
        const unsigned after = block + 1 < blocks ? mapped_[dev][block + 1].weight() : 0;
        mapped.faults++;
        const hmmrt_policy_density kernel = {mapped.bits.data(), mapped.faults, before, after};
        const model_density density = {mapped.bytes.data(), mapped.faults, before, after};
        const model_window expected = model_device_window(&density, page, granularity, &model_);
        const bool right = same(
            "device", page, hmmrt_policy_device_window(&kernel, page, &advice, &knobs_), expected);
        move(block, dev, expected);
        device_sweep_[dev][block] = expected.first + expected.count;
        return right;
    }

    bool host(unsigned block) {
        const unsigned page = choose_page(host_sweep_[block]);
        unsigned granularity;
        bool preferred;
        const hmmrt_advice advice = choose_advice(granularity, preferred);
        const model_window expected =
            model_host_window(&model_runs_[block], block ? &model_runs_[block - 1] : nullptr, page,
                              granularity, preferred, &model_);
        const bool right =
            same("host", page,
                 hmmrt_policy_host_window(&runs_[block], block ? &runs_[block - 1] : nullptr, page,
                                          &advice, &knobs_),
                 expected);
        move(block, devices, expected);
        host_sweep_[block] = expected.first + expected.count;
        return right;
    }

    // To a device, or to system memory if `to` is no device.
    void move(unsigned block, unsigned to, model_window window) {
        for (unsigned dev = 0; dev < devices; dev++) {
            mapped_[dev][block].set(window, dev == to);
            if (!mapped_[dev][block].weight()) mapped_[dev][block].faults = 0;
        }
    }

    void take_away(unsigned block) {
        const unsigned first = below(MODEL_BLOCK);
        move(block, devices, {first, 1 + below(MODEL_BLOCK - first)});
    }

    std::mt19937 random_;
    model_knobs model_{};
    hmmrt_knobs knobs_{};
    std::array<std::array<Mapped, blocks>, devices> mapped_;
    std::array<std::array<unsigned, blocks>, devices> device_sweep_{};
    std::array<unsigned, blocks> host_sweep_{};
    std::array<model_run, blocks> model_runs_{};
    std::array<hmmrt_policy_run, blocks> runs_{};
    unsigned long whole_ = 0;
};

TEST(ResidencyWalk, EveryWindowIsWhatIsDocumented) {
    Walk walk(seed());
    const unsigned long count = steps();
    for (unsigned long i = 0; i < count; i++)
        ASSERT_TRUE(walk.step()) << "step " << i;
    // Enough windows were whole blocks.
    EXPECT_GT(walk.sweeps(), count / 1000);
}

} // namespace
