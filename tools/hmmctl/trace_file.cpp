// SPDX-License-Identifier: MIT
#include "trace_file.hpp"

#include "devices.hpp"
#include "failure.hpp"
#include "intervals.hpp"
#include "json.hpp"
#include "lib/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace hmmctl {
namespace {

constexpr const char* format_name = "hmmrt-trace";
constexpr int format_version = 1;
constexpr std::string_view allocations_kind = "allocs"; // at most 8 bytes
constexpr std::uint32_t largest_page = 1u << 30;        // bytes

/// Precedes the contents of each part.
struct part_head {
    char kind[8];
    std::uint64_t bytes;
};

json to_json(const trace_header& header) {
    json devices = json::array();
    for (const trace_device& device : header.devices)
        devices.push_back(
            {{"id", device.id}, {"name", device.name}, {"memory_bytes", device.memory_bytes}});
    return {{"format", format_name},
            {"version", format_version},
            {"event_bytes", sizeof(hmmrt_event)},
            {"page_size", header.page_size},
            {"start", header.start},
            {"start_realtime", header.start_realtime},
            {"command", header.command},
            {"devices", std::move(devices)}};
}

json to_json(const observed_process& process) {
    json code = json::array();
    for (const code_mapping& one : process.code)
        code.push_back(
            {{"start", one.start}, {"end", one.end}, {"offset", one.offset}, {"path", one.path}});
    return {{"space", process.space},
            {"pid", process.pid},
            {"name", process.name},
            {"code", std::move(code)}};
}

trace_header header_from(const json& line) {
    trace_header header;
    header.page_size = line.at("page_size").get<std::uint32_t>();
    if (!std::has_single_bit(header.page_size) || header.page_size > largest_page)
        throw failure("invalid page size");
    header.start = line.at("start").get<std::uint64_t>();
    header.start_realtime = line.at("start_realtime").get<std::uint64_t>();
    header.command = line.at("command").get<std::vector<std::string>>();
    for (const json& device : line.at("devices"))
        header.devices.push_back({device.at("id").get<std::uint32_t>(),
                                  device.at("name").get<std::string>(),
                                  device.at("memory_bytes").get<std::uint64_t>()});
    return header;
}

observed_process process_from(const json& part) {
    observed_process process;
    process.space = part.at("space").get<std::uint64_t>();
    process.pid = part.at("pid").get<pid_t>();
    process.name = part.at("name").get<std::string>();
    for (const json& one : part.at("code"))
        process.code.push_back(
            {one.at("start").get<std::uint64_t>(), one.at("end").get<std::uint64_t>(),
             one.at("offset").get<std::uint64_t>(), one.at("path").get<std::string>()});
    return process;
}

trace_end end_from(const json& part) {
    trace_end end;
    end.end = part.at("end").get<std::uint64_t>();
    const auto dropped = part.at("dropped").get<std::vector<std::uint64_t>>();
    if (dropped.size() != end.dropped.size()) throw failure("its end is corrupted");
    std::copy(dropped.begin(), dropped.end(), end.dropped.begin());
    end.dropped_allocations = part.value("dropped_allocations", std::uint64_t{0});
    return end;
}

/// Parses and removes the first line. Sets the size of the file's events.
trace_header take_header(std::string_view& bytes, std::size_t& event_bytes) {
    const std::size_t end = bytes.find('\n');
    const json line =
        end == std::string_view::npos ? json() : json::parse(bytes.substr(0, end), nullptr, false);
    if (!line.is_object() || line.value("format", json()) != format_name)
        throw failure("not a trace of hmmctl");
    if (line.at("version") != format_version)
        throw failure("written by a different version of hmmctl");
    event_bytes = line.at("event_bytes").get<std::size_t>();
    if (event_bytes < smallest_event || event_bytes > largest_event)
        throw failure("invalid event size");
    bytes.remove_prefix(end + 1);
    return header_from(line);
}

/// Removes the next part and returns its kind, without trailing NULs, and its contents.
std::pair<std::string_view, std::string_view> take_part(std::string_view& bytes) {
    part_head head;
    if (bytes.size() < sizeof(head)) throw failure("the file is truncated");
    std::memcpy(&head, bytes.data(), sizeof(head));
    const std::string_view kind(bytes.data(), strnlen(head.kind, sizeof(head.kind)));
    bytes.remove_prefix(sizeof(head));
    if (head.bytes > bytes.size()) throw failure("the file is truncated");
    const std::string_view contents = bytes.substr(0, head.bytes);
    bytes.remove_prefix(head.bytes);
    return {kind, contents};
}

void add_events(trace& to, std::string_view contents, std::size_t event_bytes) {
    if (contents.size() % event_bytes != 0) throw failure("it contains an incomplete event");
    for (; !contents.empty(); contents.remove_prefix(event_bytes))
        to.events.push_back(event_from(contents.data(), event_bytes));
}

void add_allocations(trace& to, std::string_view contents) {
    if (contents.size() % sizeof(allocation_record) != 0)
        throw failure("it contains an incomplete allocation");
    if (contents.empty()) return;
    const std::size_t before = to.allocations.size();
    to.allocations.resize(before + contents.size() / sizeof(allocation_record));
    std::memcpy(to.allocations.data() + before, contents.data(), contents.size());
}

trace parse_parts(std::string_view bytes) {
    trace found;
    std::size_t event_bytes = 0;
    found.header = take_header(bytes, event_bytes);
    while (!bytes.empty()) {
        const auto [kind, contents] = take_part(bytes);
        if (kind == "events") {
            add_events(found, contents, event_bytes);
        } else if (kind == "process") {
            observed_process process = process_from(json::parse(contents));
            found.processes.insert_or_assign(process.space, std::move(process));
        } else if (kind == allocations_kind) {
            add_allocations(found, contents);
        } else if (kind == "end") {
            found.end = end_from(json::parse(contents));
        }
    }
    return found;
}

} // namespace

trace_header header_of_now(std::vector<std::string> command) {
    trace_header header;
    header.page_size = static_cast<std::uint32_t>(getpagesize());
    header.start = nanoseconds_of(CLOCK_MONOTONIC);
    header.start_realtime = nanoseconds_of(CLOCK_REALTIME);
    for (const hmmrt_device_info& device : manager().devices())
        header.devices.push_back({device.device_id, name_of(device), device.out_memory_bytes});
    header.command = std::move(command);
    return header;
}

trace_writer::trace_writer(std::string path, const trace_header& header)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wbe"), std::fclose) {
    if (!file_) throw failure(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    write(one_line(to_json(header)) + "\n");
    flush();
}

void trace_writer::write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
        throw failure(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void trace_writer::flush() {
    if (std::fflush(file_.get()) != 0)
        throw failure(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

/// Flushes each part, so that a recording that is killed leaves complete parts.
void trace_writer::write_part(std::string_view kind, std::string_view contents) {
    part_head head = {};
    std::memcpy(head.kind, kind.data(), std::min(kind.size(), sizeof(head.kind)));
    head.bytes = contents.size();
    write({reinterpret_cast<const char*>(&head), sizeof(head)});
    write(contents);
    flush();
}

void trace_writer::add(std::span<const hmmrt_event> events) {
    write_part("events", {reinterpret_cast<const char*>(events.data()), events.size_bytes()});
}

void trace_writer::add(const observed_process& process) {
    write_part("process", one_line(to_json(process)));
}

void trace_writer::add(std::span<const allocation_record> records) {
    write_part(allocations_kind,
               {reinterpret_cast<const char*>(records.data()), records.size_bytes()});
}

void trace_writer::finish(const trace_end& end) {
    write_part("end", one_line({{"end", end.end},
                                {"dropped", end.dropped},
                                {"dropped_allocations", end.dropped_allocations}}));
    if (std::fclose(file_.release()) != 0)
        throw failure(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

trace parse_trace(std::string_view bytes) {
    try {
        return parse_parts(bytes);
    } catch (const json::exception&) {
        throw failure("the file is corrupted");
    }
}

trace read_trace(const std::string& path) {
    const auto bytes = tools::read_file(path);
    if (!bytes) throw failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    try {
        return parse_trace(*bytes);
    } catch (const failure& why) {
        throw failure(fmt::format("cannot read {}: {}", path, why.what()));
    }
}

} // namespace hmmctl
