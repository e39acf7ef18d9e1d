// SPDX-License-Identifier: MIT
// The modules' devices.
#pragma once

#include "lib/files.hpp"

#include <linux/hmmrt.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hmmctl {

/// Opens /dev/hmmrt. Throws failure if the node is missing or we lack permission.
tools::descriptor open_manager();

/// An open /dev/hmmrt that isn't a space: it only reports devices and their knobs.
class manager {
  public:
    manager() : file_(open_manager()) {}

    hmmrt_info info() const;
    /// Returns nothing if there is no such device.
    std::optional<hmmrt_device_info> device(std::uint32_t id) const;
    std::vector<hmmrt_device_info> devices() const;
    /// Returns a device's knobs and their values.
    std::vector<hmmrt_knob> knobs(std::uint32_t id) const;

  private:
    tools::descriptor file_;
};

std::string name_of(const hmmrt_device_info& device);
std::string name_of(const hmmrt_knob& knob);

} // namespace hmmctl
