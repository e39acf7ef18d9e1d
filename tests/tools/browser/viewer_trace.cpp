// SPDX-License-Identifier: MIT
#include "viewer_trace.hpp"

#include "hmmctl_events.hpp"

#include <algorithm>
#include <random>
#include <utility>

using namespace hmmctl;

namespace {

constexpr std::uint32_t cpu = HMMRT_LOCATION_HOST;
constexpr std::uint64_t first_block = 0x7f0000000000, block = 2u << 20;
constexpr int other_pid = 77;
const char* const escaped = "</script>\"\\ <b>&";

struct thread {
    int pid, tid;
};
constexpr thread program = {tested_pid, tested_pid}, server = {tested_pid, tested_pid + 1},
                 waiting = {tested_pid, tested_pid + 2},
                 second_server = {tested_pid, tested_pid + 3},
                 of_device_1 = {tested_pid, tested_pid + 4}, other = {other_pid, other_pid + 1},
                 none = {0, 0};

class rounds {
  public:
    explicit rounds(std::uint64_t start) : round_(start) {}

    void add_round() {
        add_batch();
        add_second_device();
        add_cpu();
        constexpr std::uint64_t seconds = 37'000'000'000;
        round_ += seconds + random_(); // far apart: times have many digits
        addr_ += block;
    }

    std::vector<named_event> in_order() {
        std::stable_sort(events_.begin(), events_.end(),
                         [](const auto& a, const auto& b) { return a.event.time < b.event.time; });
        return std::move(events_);
    }

  private:
    /// Returns a slightly later time in the round.
    std::uint64_t about(std::uint64_t time) { return round_ + time + random_() % 97; }

    void add(hmmrt_event event, const char* name, thread in, std::uint64_t begin,
             std::uint64_t end) {
        event.pid = in.pid;
        event.tid = in.tid;
        event.addr = addr_;
        event.time = end;
        event.duration = end - begin;
        events_.push_back({event, name});
    }
    void add(const hmmrt_event& event, const char* name, thread in, std::uint64_t when) {
        add(event, name, in, when, when);
    }

    /// A lane serves its own fault and another lane's. A second lane of the device fetches memory
    /// at the same time.
    void add_batch() {
        hmmrt_event batch = event_of(HMMRT_EVENT_FAULT_BATCH), served = device_fault(0, 0),
                    replay = event_of(HMMRT_EVENT_REPLAY);
        batch.device = replay.device = 0;
        served.parent = batch.serial;
        const std::uint64_t end = about(6000), second_begin = about(600);
        add(served, "device_fault", waiting, about(0), about(9000));
        add(device_fault(0, 0), "device_fault", server, about(500), about(8000));
        add(batch, "fault_batch", server, about(1000), end);
        add(migration(cpu, 0, 512), "migration", server, about(1100), about(3000));
        add(migration(1, 0, 3), "migration", server, about(4000), end);
        add(replay, "replay", server, about(7000));
        add(device_fault(0, 0), "device_fault", second_server, second_begin, about(5000));
        add(migration(cpu, 0, 16), "migration", second_server, second_begin, about(4000));
    }

    void add_second_device() {
        hmmrt_event eviction = event_of(HMMRT_EVENT_EVICTION);
        eviction.device = 1;
        add(device_fault(1, 0), "device_fault", of_device_1, about(2000), about(7000));
        add(migration(0, 1, 1), "migration", of_device_1, about(2500), about(5000));
        add(migration(1, cpu, 512), "migration", other, about(3000), about(4500));
        add(eviction, "eviction", none, about(4700));
    }

    void add_cpu() {
        hmmrt_event fault = event_of(HMMRT_EVENT_CPU_FAULT);
        fault.from = 0;
        fault.to = cpu;
        const std::uint64_t end = about(6500);
        add(annotation(HMMRT_EVENT_SECTION, escaped), escaped, program, about(100), about(9500));
        add(fault, "cpu_fault", program, about(5500), end);
        add(migration(0, cpu, 8), "migration", program, about(5700), end);
        add(annotation(HMMRT_EVENT_MARK, "here"), "here", program, about(8000));
    }

    std::uint64_t round_, addr_ = first_block;
    std::vector<named_event> events_;
    std::minstd_rand random_; // the same numbers each time
};

} // namespace

viewed_recording recording_for_a_viewer() {
    constexpr std::uint64_t first = 1'000'000'123'456'789;
    constexpr int number = 40;
    viewed_recording made;
    made.header.start = first + 300; // the section has begun
    made.header.devices = {{0, "gpu0", 1 << 30}, {1, escaped, 1 << 30}};
    for (const int pid : {tested_pid, other_pid}) {
        observed_process process;
        process.space = tested_space + made.processes.size();
        process.pid = pid;
        process.name = pid == tested_pid ? escaped : "other";
        made.processes.push_back(process);
    }
    rounds all(first);
    for (int i = 0; i < number; i++)
        all.add_round();
    made.events = all.in_order();
    return made;
}

void write_recording(const viewed_recording& recorded, const std::string& path) {
    trace_writer file(path, recorded.header);
    for (const observed_process& process : recorded.processes)
        file.add(process);
    std::vector<hmmrt_event> events;
    for (const named_event& one : recorded.events)
        events.push_back(one.event);
    const std::uint64_t end = events.back().time;
    // a ring may have some before others that end earlier
    for (std::size_t i = 0; i + 2 < events.size(); i += 3)
        std::swap(events[i], events[i + 2]);
    file.add(events);
    file.finish({end, {}});
}
