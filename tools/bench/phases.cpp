// SPDX-License-Identifier: MIT
#include "phases.hpp"

#include "devices.hpp"
#include "event_names.hpp"
#include "failure.hpp"

#include <cerrno>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::uint32_t ring_events = 1u << 17;

/// Opens this process's space. A process only has one, so it is the runtime's.
tools::descriptor own_space() {
    tools::descriptor file = hmmctl::open_manager();
    hmmrt_space_create create = {};
    create.size = sizeof(create);
    if (ioctl(file.get(), HMMRT_IOC_SPACE_CREATE, &create) != 0)
        throw hmmctl::failure(std::string("cannot open the space: ") + std::strerror(errno));
    return file;
}

bool has_wanted_phases(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_DEVICE_FAULT || event.type == HMMRT_EVENT_CPU_FAULT ||
           (event.type == HMMRT_EVENT_MIGRATION && event.cause == HMMRT_CAUSE_PREFETCH);
}

} // namespace

phase_recorder::phase_recorder()
    : space_(own_space()),
      ring_(hmmctl::open_ring_of_space({getpid(), space_.get()}, ring_events)) {}

phase_sums phase_recorder::take() {
    std::vector<hmmrt_event> events;
    ring_->read(events);
    phase_sums sums;
    for (std::size_t phase = 0; phase < HMMRT_EVENT_PHASES; phase++) {
        std::uint64_t& sum = sums[hmmctl::phase_name(phase)];
        for (const hmmrt_event& event : events)
            if (has_wanted_phases(event)) sum += event.phase[phase];
    }
    sums["dropped_events"] = hmmctl::sum_of(ring_->dropped());
    return sums;
}

} // namespace bench
