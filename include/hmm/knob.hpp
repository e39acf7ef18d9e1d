// SPDX-License-Identifier: MIT
/*
 * Knobs: tunable parameters of the migration policy.
 *
 *     const hmm::knob threshold("prefetch_threshold");
 *     threshold.set(30);                   // for this process
 *     threshold.set(80, std::span(table)); // for this memory
 *     threshold.reset(std::span(table));
 *
 * Empty spans are ignored.
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

/// The scope of a knob: this process, a device or a range of memory.
class knob_scope {
  public:
    // Processes, devices and spans convert implicitly.
    // NOLINTBEGIN(google-explicit-constructor)
    constexpr knob_scope(this_process_t) noexcept : value_{hmmKnobScopeTypeProcess, nullptr, 0} {}
    /// The device, for all processes.
    constexpr knob_scope(device all) noexcept
        : value_{hmmKnobScopeTypeDevice, nullptr, 0}, device_(all) {}
    template <class T, std::size_t Extent>
    constexpr knob_scope(std::span<T, Extent> memory) noexcept
        : value_{hmmKnobScopeTypeRange, memory.data(), memory.size_bytes()} {}
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] constexpr hmmKnobScope get() const noexcept { return value_; }
    [[nodiscard]] constexpr bool empty() const noexcept {
        return value_.type == hmmKnobScopeTypeRange && value_.bytes == 0;
    }
    /// The device of a device scope, else the calling thread's current device.
    [[nodiscard]] device which() const { return device_ ? *device_ : current_device(); }

  private:
    hmmKnobScope value_;
    std::optional<device> device_;
};

/// The name of a knob. The knob need not exist.
class knob {
  public:
    explicit knob(std::string name) noexcept : name_(std::move(name)) {}

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Describes the knob, with the value that applies in @where. For an empty
    /// span: the value that applies to the process.
    [[nodiscard]] hmmKnob get(knob_scope where = this_process) const {
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
    /// Removes the value in @where.
    void reset(knob_scope where = this_process) const {
        if (where.empty()) return;
        const scoped_device use(where.which());
        check(hmmKnobReset(name_.c_str(), where.get()), "knob reset");
    }

  private:
    std::string name_;
};

/// Returns all knobs of a device, with the values that apply to the device.
[[nodiscard]] inline std::vector<hmmKnob> knobs(device of = current_device()) {
    const scoped_device use(of);
    int count = 0;
    check(hmmKnobGetCount(&count), "knobs");
    std::vector<hmmKnob> result(static_cast<std::size_t>(count));
    for (int i = 0; i < count; i++)
        check(hmmKnobGetByIndex(&result[static_cast<std::size_t>(i)], i), "knobs");
    return result;
}

} // namespace hmm
