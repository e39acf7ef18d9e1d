// SPDX-License-Identifier: MIT
// Tracks: each recorded process has a track per thread, where events are sequential or nested. Each
// device is a separate process that shows its memory traffic, with a counter and a track per link,
// where migrations can overlap.
#include "annotations.hpp"
#include "event_names.hpp"
#include "json.hpp"
#include "trace_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hmmctl {
namespace {

/// Devices use process ids that no real process has.
constexpr std::uint32_t first_device_pid = 1u << 30;

struct moved_bytes {
    std::uint64_t in = 0, out = 0;
};

class chrome_export {
  public:
    chrome_export(const trace& of, const text_sink& out) : trace_(of), out_(out) {}

    void run() {
        out_("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
        for (std::size_t i = 0; i < trace_.events.size(); i++)
            by_serial_[trace_.events[i].serial] = i;
        name_processes();
        for (const hmmrt_event* event : sorted(begins_before))
            add_slice(*event);
        for (const hmmrt_event* event : sorted(ends_before)) {
            add_flow(*event);
            if (event->type == HMMRT_EVENT_MIGRATION) {
                add_to_link(*event);
                count_bytes(*event);
            }
        }
        out_("\n]}\n");
    }

  private:
    static std::uint32_t pid_of(const hmmrt_event& event) {
        if (event.pid > 0) return static_cast<std::uint32_t>(event.pid);
        return is_device(event.device) ? first_device_pid + event.device : 0;
    }

    static std::uint64_t begin_of(const hmmrt_event& event) { return event.time - event.duration; }

    template <typename Less>
    std::vector<const hmmrt_event*> sorted(Less less) const {
        std::vector<const hmmrt_event*> events;
        events.reserve(trace_.events.size());
        for (const hmmrt_event& event : trace_.events)
            events.push_back(&event);
        std::stable_sort(events.begin(), events.end(),
                         [&](const auto* a, const auto* b) { return less(*a, *b); });
        return events;
    }

    /// Viewers nest slices that begin at the same time in file order, so the longest comes first.
    static bool begins_before(const hmmrt_event& a, const hmmrt_event& b) {
        if (begin_of(a) != begin_of(b)) return begin_of(a) < begin_of(b);
        return a.duration > b.duration;
    }

    /// The ring isn't strictly sorted by the time at which events ended.
    static bool ends_before(const hmmrt_event& a, const hmmrt_event& b) { return a.time < b.time; }

    /// Returns microseconds since the start, negative for an event that began before the recording.
    double microseconds(std::uint64_t time) const {
        return static_cast<double>(static_cast<std::int64_t>(time - trace_.header.start)) / 1000;
    }
    double start_of(const hmmrt_event& event) const { return microseconds(begin_of(event)); }

    void add(const json& one) {
        out_(between_ + one.dump(-1, ' ', true, json::error_handler_t::replace));
        between_ = ",\n";
    }

    void name(const char* what, std::uint32_t pid, std::int32_t tid, const std::string& text) {
        add({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", text}}}});
    }

    void name_processes() {
        for (const auto& [space, process] : trace_.processes)
            if (process.pid > 0)
                name("process_name", static_cast<std::uint32_t>(process.pid), 0, process.name);
        for (const trace_device& device : trace_.header.devices)
            if (is_device(device.id))
                name("process_name", first_device_pid + device.id, 0,
                     fmt::format("device {}: {}", device.id, device.name));
    }

    /// A thread with device faults is a lane.
    void name_lane(const hmmrt_event& event) {
        if (event.type != HMMRT_EVENT_DEVICE_FAULT || !is_device(event.device)) return;
        if (lanes_.insert({pid_of(event), event.tid}).second)
            name("thread_name", pid_of(event), event.tid,
                 fmt::format("lane {} of device {}", event.tid, event.device));
    }

    json arguments(const hmmrt_event& event) const {
        json values = {{"addr", fmt::format("{:#x}", event.addr)}, {"pages", event.pages}};
        if (is_device(event.device)) values["device"] = event.device;
        if (event.from != HMMRT_LOCATION_NONE) values["from"] = location_name(event.from);
        if (event.to != HMMRT_LOCATION_NONE) values["to"] = location_name(event.to);
        if (event.cause != HMMRT_CAUSE_NONE) values["cause"] = cause_name(event.cause);
        if (const std::string reason = reason_name(event); !reason.empty())
            values["reason"] = reason;
        if (event.access != 0) values["access"] = access_name(event.access);
        if (event.ip != 0) values["ip"] = fmt::format("{:#x}", event.ip);
        if (event.error != 0) values["error"] = event.error;
        if (event.type == HMMRT_EVENT_NAME) values["text"] = text_of(event);
        if (event.count != 0) values["count"] = event.count;
        if (has_phases(event))
            for (std::size_t i = 0; i < HMMRT_EVENT_PHASES; i++)
                values[phase_name(i) + "_ns"] = event.phase[i];
        return values;
    }

    /// Marks and sections have the names that the program gave them.
    static std::string slice_name(const hmmrt_event& event) {
        const bool named = event.type == HMMRT_EVENT_MARK || event.type == HMMRT_EVENT_SECTION;
        return named ? text_of(event) : type_name(event.type);
    }

    void add_slice(const hmmrt_event& event) {
        name_lane(event);
        json one = {{"ph", event.duration ? "X" : "i"},
                    {"name", slice_name(event)},
                    {"cat", "hmmrt"},
                    {"pid", pid_of(event)},
                    {"tid", event.tid},
                    {"ts", start_of(event)}};
        if (event.duration)
            one["dur"] = static_cast<double>(event.duration) / 1000;
        else
            one["s"] = "t"; // of its thread
        one["args"] = arguments(event);
        add(one);
    }

    /// Adds an arrow from the parent event on another track. Viewers attach each end of an arrow to
    /// the slice that contains it. We use the slice's last nanosecond, which is inside however
    /// times are rounded.
    void add_flow(const hmmrt_event& event) {
        const auto found = by_serial_.find(event.parent);
        if (event.parent == 0 || found == by_serial_.end()) return;
        const hmmrt_event& parent = trace_.events[found->second];
        if (parent.tid == event.tid || parent.duration == 0 || event.duration == 0) return;
        add({{"ph", "s"},
             {"name", "part"},
             {"cat", "hmmrt"},
             {"id", event.serial},
             {"pid", pid_of(parent)},
             {"tid", parent.tid},
             {"ts", start_of(parent)}});
        add({{"ph", "f"},
             {"bp", "e"},
             {"name", "part"},
             {"cat", "hmmrt"},
             {"id", event.serial},
             {"pid", pid_of(event)},
             {"tid", event.tid},
             {"ts", microseconds(event.time - 1)}});
    }

    /// The link belongs to the device that gets the pages, or to the one that loses them to the
    /// host.
    void add_to_link(const hmmrt_event& event) {
        const std::uint32_t device = is_device(event.to) ? event.to : event.from;
        if (!is_device(device) || event.duration == 0) return;
        json one = {
            {"ph", "b"},
            {"name", fmt::format("{} to {}", location_name(event.from), location_name(event.to))},
            {"cat", "link"},
            {"id", event.serial},
            {"pid", first_device_pid + device},
            {"tid", 0},
            {"ts", start_of(event)},
            {"args",
             {{"bytes", event.pages * trace_.header.page_size},
              {"cause", cause_name(event.cause)},
              {"pid", event.pid}}}};
        add(one);
        one["ph"] = "e";
        one["ts"] = microseconds(event.time);
        one.erase("args");
        add(one);
    }

    void count_bytes(const hmmrt_event& event) {
        const std::uint64_t bytes = event.pages * trace_.header.page_size;
        if (is_device(event.to)) moved_[event.to].in += bytes;
        if (is_device(event.from)) moved_[event.from].out += bytes;
        for (const std::uint32_t device : {event.to, event.from})
            if (is_device(device)) add_counter(event, device);
    }

    void add_counter(const hmmrt_event& event, std::uint32_t device) {
        const moved_bytes& sums = moved_[device];
        add({{"ph", "C"},
             {"name", "moved bytes"},
             {"pid", first_device_pid + device},
             {"tid", 0},
             {"ts", microseconds(event.time)},
             {"args", {{"in", sums.in}, {"out", sums.out}}}});
    }

    const trace& trace_;
    const text_sink& out_;
    std::string between_ = "\n";
    std::unordered_map<std::uint64_t, std::size_t> by_serial_;
    std::map<std::uint32_t, moved_bytes> moved_; ///< by device
    std::set<std::pair<std::uint32_t, std::int32_t>> lanes_;
};

} // namespace

void export_chrome(const trace& of, const text_sink& out) {
    chrome_export(of, out).run();
}

} // namespace hmmctl
