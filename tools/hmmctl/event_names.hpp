// SPDX-License-Identifier: MIT
// Names for the numbers in events, as hmmctl.schema.json lists them. Numbers that we don't know,
// for example from a later module, are printed as numbers.
#pragma once

#include <linux/hmmrt_event.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hmmctl {

std::string type_name(std::size_t type);
std::string cause_name(std::uint16_t cause);
/// Returns the name of event.reason, "" for event types that don't have one.
std::string reason_name(const hmmrt_event& event);
std::string phase_name(std::size_t phase);
/// Returns `host`, `node N`, `device N` or `none`.
std::string location_name(std::uint32_t location);
/// Returns letters, like `rw`.
std::string access_name(std::uint16_t access);

bool is_device(std::uint32_t location);
/// Is any element of event.phase nonzero?
bool has_phases(const hmmrt_event& event);

} // namespace hmmctl
