// SPDX-License-Identifier: MIT
#include "machine/machine.hpp"

#include "base/failure.hpp"
#include "base/settings.hpp"
#include "machine/cpu_machine.hpp"
#include "machine/simulated_machine.hpp"

#include <string_view>

namespace hmmrt {
namespace {

std::unique_ptr<machine> make_cpu_machine() {
    const std::uint32_t devices = choose_device_count(sys::environment("HMMRT_DEVICES"));
    const std::uint64_t bytes =
        choose_device_memory(sys::environment("HMMRT_DEVICE_MEMORY"), sys::physical_memory());
    return std::make_unique<cpu_machine>(devices, bytes);
}

/// valgrind can't see the agent, which isn't a thread of the program.
void require_no_valgrind() {
    if (sys::under_valgrind())
        throw failure(
            hmmErrorInitializationError,
            "valgrind cannot see code that runs on a simulated device; set HMMRT_DEVICE=cpu");
}

} // namespace

std::unique_ptr<machine> choose_machine() {
    const machine_choice wanted = choose_kind(sys::environment("HMMRT_DEVICE"));
    if (wanted == machine_choice::cpu) return make_cpu_machine();
    if (wanted == machine_choice::simulated || modules_are_loaded()) {
        require_no_valgrind();
        return std::make_unique<simulated_machine>();
    }
    auto made = make_cpu_machine();
    constexpr std::string_view told = "hmmrt: no modules are loaded (no /dev/hmmrt); running "
                                      "device code on threads of this process (HMMRT_DEVICE=cpu)\n";
    sys::write_error(told.data(), told.size());
    return made;
}

machine& chosen_machine::get() {
    const std::lock_guard lock(lock_);
    if (!machine_) machine_ = choose_machine();
    return *machine_;
}

} // namespace hmmrt
