// SPDX-License-Identifier: MIT
// Chromium's trace viewer imports a Chrome trace of hmmctl without warnings, and its model matches
// the recording. The tests must detect traces that are broken on purpose.
#include "browser.hpp"
#include "event_names.hpp"
#include "viewer_trace.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using hmmctl::is_device;
using nlohmann::json;

// ---- expected model of a recording

constexpr std::int64_t first_device_pid = 1 << 30;

std::int64_t pid_of(const hmmrt_event& event) {
    return event.pid > 0 ? event.pid : first_device_pid + event.device;
}

std::string place_of(std::uint32_t location) {
    return is_device(location) ? "device " + std::to_string(location) : "host";
}

class viewed {
  public:
    explicit viewed(const viewed_recording& of) : of_(of) {
        for (const hmmctl::observed_process& one : of.processes)
            process(one.pid)["name"] = one.name;
        for (const hmmctl::trace_device& one : of.header.devices)
            process(first_device_pid + one.id)["name"] =
                "device " + std::to_string(one.id) + ": " + one.name;
        for (const named_event& one : of.events) {
            add_slice(one);
            add_arrow(one);
            if (one.event.type != HMMRT_EVENT_MIGRATION) continue;
            add_to_link(one.event);
            for (const std::uint32_t device : {one.event.from, one.event.to})
                if (is_device(device)) count(one.event, device);
        }
    }

    json result() {
        json all = {{"problems", json::array()}, {"processes", json::array()}, {"arrows", arrows_}};
        for (auto& [key, thread] : threads_)
            process(key.first)["threads"].push_back(thread);
        for (auto& [device, counter] : counters_)
            process(first_device_pid + device)["counters"].push_back(
                {{"name", "moved bytes"}, {"series", counter}});
        for (auto& [pid, process] : processes_)
            all["processes"].push_back(process);
        const auto& events = of_.events;
        const auto earlier = [this](const auto& a, const auto& b) {
            return begin_of(a.event) < begin_of(b.event);
        };
        all["begin"] = begin_of(std::min_element(events.begin(), events.end(), earlier)->event);
        all["end"] = end_of(events.back().event);
        return all;
    }

  private:
    std::int64_t end_of(const hmmrt_event& event) const {
        return static_cast<std::int64_t>(event.time - of_.header.start);
    }
    std::int64_t begin_of(const hmmrt_event& event) const {
        return end_of(event) - static_cast<std::int64_t>(event.duration);
    }
    std::uint64_t bytes_of(const hmmrt_event& event) const {
        return event.pages * of_.header.page_size;
    }

    json& process(std::int64_t pid) {
        const json empty = {{"pid", pid}, {"threads", json::array()}, {"counters", json::array()}};
        return processes_.try_emplace(pid, empty).first->second;
    }
    json& thread(std::int64_t pid, std::int64_t tid) {
        const json empty = {{"tid", tid}, {"slices", json::array()}, {"links", json::array()}};
        return threads_.try_emplace({pid, tid}, empty).first->second;
    }

    /// Returns the name of the shortest event of the thread that this one is in.
    std::string around(const hmmrt_event& inner) const {
        const named_event* found = nullptr;
        for (const named_event& one : of_.events) {
            const hmmrt_event& event = one.event;
            if (pid_of(event) == pid_of(inner) && event.tid == inner.tid &&
                event.duration > inner.duration && begin_of(event) <= begin_of(inner) &&
                event.time >= inner.time && (!found || event.duration < found->event.duration))
                found = &one;
        }
        return found ? found->name : "";
    }

    void add_slice(const named_event& one) {
        const hmmrt_event& event = one.event;
        json& in = thread(pid_of(event), event.tid);
        char addr[32];
        std::snprintf(addr, sizeof(addr), "%#llx", static_cast<unsigned long long>(event.addr));
        in["slices"].push_back({{"name", one.name},
                                {"begin", begin_of(event)},
                                {"end", end_of(event)},
                                {"addr", addr},
                                {"inside", around(event)}});
        if (event.type == HMMRT_EVENT_DEVICE_FAULT)
            in["name"] = "lane " + std::to_string(event.tid) + " of " + place_of(event.device);
    }

    json end_of_arrow(const named_event& one) const {
        return {{"name", one.name},
                {"begin", begin_of(one.event)},
                {"pid", pid_of(one.event)},
                {"tid", one.event.tid}};
    }
    void add_arrow(const named_event& one) {
        for (const named_event& parent : of_.events)
            if (parent.event.serial == one.event.parent)
                arrows_.push_back({{"from", end_of_arrow(parent)}, {"to", end_of_arrow(one)}});
    }

    void add_to_link(const hmmrt_event& event) {
        const std::uint32_t device = is_device(event.to) ? event.to : event.from;
        thread(first_device_pid + device, 0)["links"].push_back(
            {{"name", place_of(event.from) + " to " + place_of(event.to)},
             {"begin", begin_of(event)},
             {"end", end_of(event)},
             {"bytes", bytes_of(event)}});
    }

    void count(const hmmrt_event& event, std::uint32_t device) {
        auto& [in, out] = sums_[device];
        (event.to == device ? in : out) += bytes_of(event);
        json& series = counters_[device];
        series["in"].push_back({{"time", end_of(event)}, {"value", in}});
        series["out"].push_back({{"time", end_of(event)}, {"value", out}});
    }

    const viewed_recording& of_;
    std::map<std::int64_t, json> processes_;
    std::map<std::pair<std::int64_t, std::int64_t>, json> threads_;
    std::map<std::uint32_t, json> counters_;
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> sums_;
    json arrows_ = json::array();
};

void sort_lists(json& value) {
    if (value.is_structured())
        for (json& each : value)
            sort_lists(each);
    if (value.is_array()) std::sort(value.begin(), value.end());
}

// ---- the viewer

/// Returns the viewer's folder. Go's sources contain the viewer for `go tool trace`.
std::string viewer_folder() {
    for (const char* const folder : {"/usr/share/go/src/cmd/trace/static/",
                                     "/usr/share/go/src/internal/trace/traceviewer/static/"})
        if (std::filesystem::exists(folder + std::string("trace_viewer_full.html"))) return folder;
    throw std::runtime_error("the trace viewer is missing: install the Debian package golang-src");
}

std::string page_with(const texts& traces) {
    const std::string viewer = viewer_folder();
    std::string data = json(traces).dump();
    for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
        data.replace(at, 1, "\\u003c");
    return "<!DOCTYPE html><script src=\"file://" + viewer + "webcomponents.min.js\"></script>" +
           contents_of(viewer + "trace_viewer_full.html") +
           "<script type=\"application/json\" id=\"traces\">" + data + "</script><script>" +
           contents_of(IMPORTED_JS) + "</script>";
}

/// Returns the viewer's model of each trace.
json imported(const texts& traces, const temporary_folder& folder) {
    const std::string page = folder / "page.html", begin = "<pre>";
    write(page, page_with(traces));
    const output shown = browse(page, folder, {"--dump-dom"});
    const std::size_t at = shown.out.find(begin);
    const std::size_t end = shown.out.find("</pre>", at);
    if (end == std::string::npos) throw std::runtime_error("the script fails:\n" + shown.err);
    json found = json::parse(shown.out.substr(at + begin.size(), end - at - begin.size()));
    for (json& one : found)
        sort_lists(one);
    return found;
}

// ---- tests

class TraceInAViewer : public testing::Test {
  protected:
    TraceInAViewer() {
        const viewed_recording recorded = recording_for_a_viewer();
        const std::string trace = folder_ / "trace";
        write_recording(recorded, trace);
        exported_ = run({HMMCTL, "trace", "export", trace}, {}, folder_).out;
        wanted_ = viewed(recorded).result();
        sort_lists(wanted_);
    }

    /// Returns the difference between the trace and the recording, as a patch.
    std::string differences(const json& found) const { return json::diff(wanted_, found).dump(1); }

    const temporary_folder folder_;
    std::string exported_;
    json wanted_;
};

TEST_F(TraceInAViewer, IsWhatWasRecorded) {
    EXPECT_EQ(wanted_["arrows"].size(), 40u);
    const json found = imported({exported_}, folder_)[0];
    EXPECT_EQ(found["problems"], json::array());
    EXPECT_EQ(differences(found), "[]");
}

/// Returns the first event with this phase and, unless it is empty, with this name.
json& first(json& events, const char* phase, const std::string& name = "") {
    return *std::find_if(events.begin(), events.end(), [&](const json& one) {
        return one["ph"] == phase && (name.empty() || one["name"] == name);
    });
}

void remove_first(json& events, const char* phase) {
    events.erase(events.begin() + (&first(events, phase) - &events[0]));
}

/// An error in a trace, and the finding that it must cause.
struct mistake {
    std::function<void(json& events)> make;
    const char* found;
};

const std::vector<mistake> mistakes = {
    {[](json& events) { events = json::array(); }, "\"path\": \"/processes"},
    {[](json& events) { first(events, "X").erase("ph"); }, "Unrecognized event phase: undefined"},
    {[](json& events) { first(events, "X").erase("dur"); }, "has no end"},
    {[](json& events) { first(events, "X")["dur"] = -1; }, "/end\""},
    {[](json& events) { first(events, "X", "fault_batch")["dur"] = 50; },
     "device_fault overlaps fault_batch"},
    {[](json& events) { first(events, "X")["ts"] = 1; }, "/begin\""},
    {[](json& events) { first(events, "X")["name"] = "another"; }, "another"},
    {[](json& events) { first(events, "M")["pid"] = "77"; }, "/pid\""},
    {[](json& events) { first(events, "M")["name"] = "name"; }, "Unrecognized metadata name"},
    {[](json& events) { remove_first(events, "M"); }, "/name\""},
    {[](json& events) { remove_first(events, "X"); }, "/slices/"},
    {[](json& events) { remove_first(events, "i"); }, "/slices/"},
    {[](json& events) { remove_first(events, "C"); }, "/counters/"},
    {[](json& events) { first(events, "C")["args"]["in"] = 1; }, "/series/in/"},
    {[](json& events) { remove_first(events, "b"); }, "was unmatched"},
    {[](json& events) { remove_first(events, "e"); }, "was unmatched"},
    {[](json& events) { remove_first(events, "s"); }, "no flow start found"},
    {[](json& events) { remove_first(events, "f"); }, "/arrows/"},
    {[](json& events) { first(events, "f")["ts"] = 1e6; }, "does not end at an actual slice"},
};

TEST_F(TraceInAViewer, IsFoundToBeBrokenByAMistake) {
    texts traces;
    for (const mistake& one : mistakes) {
        json trace = json::parse(exported_);
        one.make(trace["traceEvents"]);
        traces.push_back(trace.dump());
    }
    traces.push_back(exported_.substr(0, exported_.size() / 2));
    const json found = imported(traces, folder_);
    ASSERT_EQ(found.size(), mistakes.size() + 1);
    for (std::size_t i = 0; i < mistakes.size(); i++)
        EXPECT_NE(differences(found[i]).find(mistakes[i].found), std::string::npos)
            << "mistake " << i << ", " << mistakes[i].found << ":\n"
            << differences(found[i]).substr(0, 2000);
    EXPECT_FALSE(found.back().contains("processes")) << "of a file that was cut off";
}

} // namespace
