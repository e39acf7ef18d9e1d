// SPDX-License-Identifier: MIT
/*
 * Locations: programs identify devices by number, the kernel by id. The host is
 * hmmCpuDeviceId in programs and HMMRT_LOCATION_HOST in the kernel.
 */
#pragma once

#include "hmm/hmm_runtime.h"

#include <array>
#include <cstdint>

#include <linux/hmmrt.h>

namespace hmmrt {

class device;

/// Converts a location to the kernel's id. Starts the location's device unless
/// that is @started, so that it is bound. Throws failure.
std::uint32_t location_id(const hmmMemLocation& location, const device* started = nullptr);

/// Maps device ids to the device numbers of this process.
class device_numbers {
  public:
    device_numbers();

    /// Has type Invalid for HMMRT_LOCATION_NONE and for unknown devices.
    hmmMemLocation location(std::uint32_t id) const;
    /// Device number, hmmCpuDeviceId or hmmInvalidDeviceId.
    int number_of(std::uint32_t id) const;
    /// Converts a mask of ids (with HMMRT_BY_CPU) to a mask of device numbers
    /// (with hmmByCpu).
    std::uint32_t mask(std::uint32_t ids) const;

  private:
    std::array<int, HMMRT_MAX_DEVICES> number_; ///< indexed by id
};

} // namespace hmmrt
