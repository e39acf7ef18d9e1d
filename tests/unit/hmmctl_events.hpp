// SPDX-License-Identifier: MIT
// Events for tests of hmmctl.
#pragma once

#include <linux/hmmrt_event.h>

#include <cstdint>
#include <cstring>

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t tested_space = 5;
constexpr int tested_pid = 1234;

/// An event of this type. Its device and locations are unset.
inline hmmrt_event event_of(hmmrt_event_type type) {
    static std::uint64_t serial = 0;
    hmmrt_event event = {};
    event.serial = ++serial;
    event.type = static_cast<__u16>(type);
    event.space = tested_space;
    event.pid = tested_pid;
    event.tid = tested_pid + 1;
    event.device = event.from = event.to = HMMRT_LOCATION_NONE;
    return event;
}

inline hmmrt_event migration(std::uint32_t from, std::uint32_t to, std::uint64_t pages,
                             std::uint64_t duration = 0, hmmrt_cause cause = HMMRT_CAUSE_PREFETCH) {
    hmmrt_event event = event_of(HMMRT_EVENT_MIGRATION);
    event.from = from;
    event.to = to;
    event.pages = pages;
    event.duration = duration;
    event.cause = static_cast<__u16>(cause);
    return event;
}

inline hmmrt_event device_fault(std::uint32_t device, std::uint64_t addr, std::uint64_t ip = 0,
                                int error = 0) {
    hmmrt_event event = event_of(HMMRT_EVENT_DEVICE_FAULT);
    event.device = device;
    event.addr = addr;
    event.ip = ip;
    event.error = error;
    event.access = HMMRT_ACCESS_READ;
    event.reason = HMMRT_EVENT_RULE_DEFAULT;
    event.duration = 700;
    for (std::uint32_t i = 0; i < HMMRT_EVENT_PHASES; i++)
        event.phase[i] = 25 * (i + 1); // 700 in all
    return event;
}

/// An annotation of a process. The text is truncated to fit into an event.
inline hmmrt_event annotation(hmmrt_event_type type, const char* text) {
    hmmrt_event event = event_of(type);
    std::strncpy(event.text, text, sizeof(event.text) - 1);
    return event;
}

inline hmmrt_event name_of_memory(std::uint64_t addr, std::uint64_t pages, const char* text) {
    hmmrt_event event = annotation(HMMRT_EVENT_NAME, text);
    event.addr = addr;
    event.pages = pages;
    return event;
}
