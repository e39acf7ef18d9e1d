// SPDX-License-Identifier: MIT
#include "event_names.hpp"

#include <fmt/format.h>

#include <array>
#include <span>

namespace hmmctl {
namespace {

constexpr std::array types = {
    "none",       "bind",       "unbind",    "device_fault", "fault_batch",    "replay",
    "cpu_fault",  "migration",  "eviction",  "duplicate",    "duplicate_drop", "map",
    "map_remote", "invalidate", "thrashing", "throttle",     "refusal",        "prefetch",
    "advise",     "mark",       "section",   "name",         "access",
};
static_assert(types.size() == HMMRT_EVENT_TYPES);

constexpr std::array causes = {"none",      "device_fault", "cpu_fault", "prefetch",
                               "exclusive", "unbind",       "eviction",  "access_counter"};
static_assert(causes.size() == HMMRT_CAUSE_ACCESS_COUNTER + 1);

constexpr std::array rules = {
    "none",
    "not_migratable",
    "no_migrate",
    "never",
    "too_small",
    "read_mostly_read",
    "preferred_here",
    "preferred_elsewhere",
    "thrashing",
    "read_mostly_write",
    "accessed_by",
    "on_count",
    "read_duplication",
    "default",
    "no_memory",
    "quota",
};
static_assert(rules.size() == HMMRT_EVENT_RULE_QUOTA + 1);

constexpr std::array thrashing_steps = {"detected", "throttled", "pinned", "released", "reset"};
static_assert(thrashing_steps.size() == HMMRT_EVENT_THRASHING_RESET + 1);

constexpr std::array phases = {"queue", "decide", "allocate", "unmap", "copy", "map", "replay"};
static_assert(phases.size() == HMMRT_EVENT_PHASES);

constexpr std::array stays = {"busy",   "no_memory", "pinned", "file",    "hugetlb",
                              "merged", "special",   "policy", "watched", "quota"};
static_assert(stays.size() == HMMRT_STAY_QUOTA + 1);

constexpr std::array advices = {
    "none",
    "set_read_mostly",
    "unset_read_mostly",
    "set_preferred_location",
    "unset_preferred_location",
    "set_accessed_by",
    "unset_accessed_by",
    "set_no_migrate",
    "unset_no_migrate",
    "set_granularity",
    "unset_granularity",
};
static_assert(advices.size() == HMMRT_ADVICE_UNSET_GRANULARITY + 1);

constexpr std::array changes = {"unmap",           "clear",      "protection_vma",
                                "protection_page", "soft_dirty", "release",
                                "migrate",         "exclusive",  "other"};
static_assert(changes.size() == HMMRT_EVENT_CHANGE_OTHER + 1);

std::string name_in(std::span<const char* const> names, std::size_t number) {
    return number < names.size() ? names[number] : std::to_string(number);
}

} // namespace

std::string type_name(std::size_t type) {
    return name_in(types, type);
}

std::string cause_name(std::uint16_t cause) {
    return name_in(causes, cause);
}

std::string reason_name(const hmmrt_event& event) {
    switch (event.type) {
    case HMMRT_EVENT_DEVICE_FAULT:
        return name_in(rules, event.reason);
    case HMMRT_EVENT_INVALIDATE:
        return name_in(changes, event.reason);
    case HMMRT_EVENT_THRASHING:
        return name_in(thrashing_steps, event.reason);
    case HMMRT_EVENT_REFUSAL:
        return name_in(stays, event.reason);
    case HMMRT_EVENT_ADVISE:
        return name_in(advices, event.reason);
    default:
        return event.reason == 0 ? "" : std::to_string(event.reason);
    }
}

std::string phase_name(std::size_t phase) {
    return name_in(phases, phase);
}

bool is_device(std::uint32_t location) {
    return location < HMMRT_LOCATION_HOST_NODE(0);
}

std::string location_name(std::uint32_t location) {
    if (location == HMMRT_LOCATION_HOST) return "host";
    if (location == HMMRT_LOCATION_NONE) return "none";
    if (is_device(location)) return fmt::format("device {}", location);
    return fmt::format("node {}", location - HMMRT_LOCATION_HOST_NODE(0));
}

std::string access_name(std::uint16_t access) {
    std::string letters;
    if (access & HMMRT_ACCESS_READ) letters += 'r';
    if (access & HMMRT_ACCESS_WRITE) letters += 'w';
    if (access & HMMRT_ACCESS_EXEC) letters += 'x';
    return letters;
}

bool has_phases(const hmmrt_event& event) {
    for (const std::uint32_t nanoseconds : event.phase)
        if (nanoseconds != 0) return true;
    return false;
}

} // namespace hmmctl
