// SPDX-License-Identifier: MIT
/*
 * What policy goes by.
 *
 *     const hmm::knob threshold("prefetch_threshold");
 *     threshold.set(30);                   // of this process
 *     threshold.set(80, std::span(table)); // of this memory
 *     threshold.reset(std::span(table));
 *
 * Empty spans are left alone.
 */
#pragma once

#include <hmm/device.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hmm {

struct this_process_t {};
inline constexpr this_process_t this_process;

/// Where a knob is set: one of these.
class knob_scope {
  public:
    // Each is a scope as it stands. NOLINTBEGIN(google-explicit-constructor)
    constexpr knob_scope(this_process_t) noexcept : value_{hmmKnobScopeTypeProcess, nullptr, 0} {}
    /// For all processes.
    constexpr knob_scope(device all) noexcept
        : value_{hmmKnobScopeTypeDevice, nullptr, 0}, device_(all) {}
    template <class T, std::size_t Extent>
    constexpr knob_scope(std::span<T, Extent> memory) noexcept
        : value_{hmmKnobScopeTypeRange, memory.data(), memory.size_bytes()} {}
    // NOLINTEND(google-explicit-constructor)

    constexpr hmmKnobScope get() const noexcept { return value_; }
    constexpr bool empty() const noexcept {
        return value_.type == hmmKnobScopeTypeRange && value_.bytes == 0;
    }
    /// The one that is named, or the calling thread's.
    device which() const { return device_ ? *device_ : current_device(); }

  private:
    hmmKnobScope value_;
    std::optional<device> device_;
};

/// A knob by its name; says nothing about whether it exists.
class knob {
  public:
    explicit knob(std::string name) noexcept : name_(std::move(name)) {}

    const std::string& name() const noexcept { return name_; }
    /// What it is, and what holds there; of no memory, what holds for the process.
    hmmKnob get(knob_scope where = this_process) const {
        if (where.empty()) return get();
        const scoped_device use(where.which());
        hmmKnob result;
        check(hmmKnobGet(&result, name_.c_str(), where.get()), "knob get");
        return result;
    }
    void set(unsigned value, knob_scope where = this_process) const {
        if (where.empty()) return;
        const scoped_device use(where.which());
        check(hmmKnobSet(name_.c_str(), value, where.get()), "knob set");
    }
    /// As if it had never been set there.
    void reset(knob_scope where = this_process) const {
        if (where.empty()) return;
        const scoped_device use(where.which());
        check(hmmKnobReset(name_.c_str(), where.get()), "knob reset");
    }

  private:
    std::string name_;
};

/// All that a device has, with what holds for it.
inline std::vector<hmmKnob> knobs(device of = current_device()) {
    const scoped_device use(of);
    int count = 0;
    check(hmmKnobGetCount(&count), "knobs");
    std::vector<hmmKnob> result(static_cast<std::size_t>(count));
    for (int i = 0; i < count; i++)
        check(hmmKnobGetByIndex(&result[static_cast<std::size_t>(i)], i), "knobs");
    return result;
}

} // namespace hmm
