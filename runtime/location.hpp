// SPDX-License-Identifier: MIT
/*
 * Places: the program names devices by number, the kernel by id; the host is
 * hmmCpuDeviceId here and HMMRT_LOCATION_HOST there.
 */
#pragma once

#include "hmm/hmm_runtime.h"

#include <array>
#include <cstdint>

#include <linux/hmmrt.h>

namespace hmmrt {

class device;

/// What the kernel calls a place. Starts a device that is named, so that it is bound, if
/// it is not @started already. Throws failure.
std::uint32_t location_id(const hmmMemLocation& location, const device* started = nullptr);

/// The numbers that this process has for ids of devices.
class device_numbers {
  public:
    device_numbers();

    /// Invalid for HMMRT_LOCATION_NONE, and for a device that this process does not know.
    hmmMemLocation location(std::uint32_t id) const;
    /// Device number, hmmCpuDeviceId or hmmInvalidDeviceId.
    int place(std::uint32_t id) const;
    /// A mask of ids, with HMMRT_BY_CPU, as one of device numbers, with hmmByCpu.
    std::uint32_t mask(std::uint32_t ids) const;

  private:
    std::array<int, HMMRT_MAX_DEVICES> number_; ///< by id
};

} // namespace hmmrt
