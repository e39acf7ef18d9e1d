// SPDX-License-Identifier: MIT
#include "observe.hpp"

#include "failure.hpp"
#include "html_report.hpp"
#include "json.hpp"
#include "recorder.hpp"
#include "summary_text.hpp"
#include "timeline.hpp"
#include "trace_export.hpp"
#include "trace_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>

namespace hmmctl {
namespace {

class trace_sink : public event_sink {
  public:
    explicit trace_sink(trace_writer& file) : file_(file) {}

    void take(std::span<const hmmrt_event> events) override { file_.add(events); }
    void take(const observed_process& process) override { file_.add(process); }
    void take(std::span<const allocation_record> records) override { file_.add(records); }

  private:
    trace_writer& file_;
};

class summary_sink : public event_sink {
  public:
    explicit summary_sink(std::uint32_t page_size) : sums(page_size) {}

    void take(std::span<const hmmrt_event> events) override {
        sums.add(events);
        if (when) when->add(events);
        if (rocprof_sys) rocprof_sys->add(events);
    }
    void take(const observed_process& process) override {
        processes.insert_or_assign(process.space, process);
    }
    void take(std::span<const allocation_record> records) override { sums.add(records); }

    summary sums;
    std::optional<timeline> when; ///< this and the next one only if needed
    std::optional<rocprof_sys_summary> rocprof_sys;
    std::map<std::uint64_t, observed_process> processes;
};

std::unique_ptr<event_source> open_source(const observation& wanted, recording_limits& limits) {
    if (wanted.machine) return open_ring_of_machine(wanted.ring_events);
    if (wanted.pid == 0) return open_ring_of_children(wanted.ring_events, wanted.accesses);
    const process target = find_process(wanted.pid);
    auto source = open_ring_of_space(target.file, wanted.ring_events);
    limits.process = look_at(target.mirrored.id, target.pid);
    return source;
}

/// What an observation opens before it writes anything, because that can fail for lack of
/// permission.
struct opened {
    recording_limits limits;
    std::unique_ptr<event_source> source;
    trace_header header;
    std::unique_ptr<allocation_file> allocations; ///< if requested
    std::vector<std::string> environment = {};    ///< the command's additional variables
};

opened open(const observation& wanted) {
    opened found;
    found.limits.seconds = wanted.seconds;
    found.source = open_source(wanted, found.limits);
    found.header = header_of_now(wanted.command);
    if (wanted.allocations_from == 0) return found;
    found.allocations = std::make_unique<allocation_file>(wanted.allocations_from);
    found.limits.allocations = found.allocations.get();
    found.environment = found.allocations->environment();
    return found;
}

struct observed_run {
    recording what;
    std::optional<child> command; ///< may still be running

    int status() const { return command ? command->wait() : 0; }
};

/// Records while a command runs. Reports a failure only after the command has ended.
observed_run observe(const observation& wanted, opened from, event_sink& sink) {
    observed_run result;
    std::optional<child>& command = result.command;
    std::exception_ptr failed;
    {
        const signal_watch signals;
        if (!wanted.command.empty())
            from.limits.command = &command.emplace(wanted.command, signals, from.environment);
        try {
            result.what = record(*from.source, sink, signals, from.limits);
        } catch (...) {
            failed = std::current_exception();
        }
    }
    if (!failed) return result;
    from.source.reset();
    result.status();
    std::rethrow_exception(failed);
}

/// A file or standard output.
class text_file {
  public:
    explicit text_file(const std::string& path)
        : name_(path.empty() ? "the result" : path),
          file_(path.empty() ? stdout : std::fopen(path.c_str(), "we")) {
        if (!file_) fail();
    }
    text_file(const text_file&) = delete;
    text_file& operator=(const text_file&) = delete;
    ~text_file() {
        if (file_ && file_ != stdout) std::fclose(file_);
    }

    void write(std::string_view text) const {
        if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
    }
    void finish() const {
        if (std::fflush(file_) != 0) fail();
    }

  private:
    [[noreturn]] void fail() const {
        throw failure(fmt::format("cannot write {}: {}", name_, std::strerror(errno)));
    }

    std::string name_;
    std::FILE* file_;
};

/// Ensures that an output file doesn't overwrite the recording or another output.
void refuse_same_file(const std::string& path, const std::string& other, const char* option) {
    std::error_code missing;
    if (!path.empty() && !other.empty() && std::filesystem::equivalent(path, other, missing))
        throw failure(fmt::format("{} is already in use: give {} a different file", other, option));
}

/// Opens an output file early, so that we fail before the work if it can't be written.
std::optional<text_file> open_result(const std::string& path) {
    if (path.empty()) return std::nullopt;
    return std::optional<text_file>(std::in_place, path);
}

void write_whole(const text_file& file, std::string_view text) {
    file.write(text);
    file.finish();
}

/// Programs that write to the file at all report at least that they started, so an empty file means
/// that none did.
std::string allocations_note(const observation& wanted, const recording& what) {
    if (wanted.allocations_from == 0 || what.allocations + what.dropped_allocations != 0) return "";
    return "hmmctl: no allocations were recorded (statically linked and setuid programs cannot be "
           "traced)\n";
}

std::string dropped_note(const event_drops& dropped) {
    if (sum_of(dropped) == 0) return "";
    return fmt::format("hmmctl: {} events were dropped because the ring was full; use a larger "
                       "--events\n",
                       sum_of(dropped));
}

} // namespace

output record_trace(const observation& wanted, const std::string& path) {
    opened from = open(wanted);
    trace_writer file(path, from.header);
    trace_sink sink(file);
    const observed_run run = observe(wanted, std::move(from), sink);
    file.finish({run.what.end, run.what.dropped, run.what.dropped_allocations});
    return {"",
            fmt::format("hmmctl: {} events recorded in {}, {} dropped\n", run.what.events, path,
                        sum_of(run.what.dropped)) +
                allocations_note(wanted, run.what),
            run.status()};
}

output report_trace(const std::string& path, bool as_json, const std::string& html) {
    const trace found = read_trace(path);
    refuse_same_file(path, html, "--html");
    const auto page = open_result(html);
    summary sums(found.header.page_size);
    sums.add(found.allocations);
    sums.add(found.events);
    const trace_end end = found.end.value_or(trace_end());
    const summary_of what = {found.header, sums, found.processes, end.dropped,
                             end.dropped_allocations};
    if (page) {
        timeline when(found.header.start);
        when.add(found.events);
        if (found.end) when.extend(found.end->end);
        write_whole(*page, html_of(what, when));
    }
    const std::string note =
        found.end ? ""
                  : fmt::format("hmmctl: {} is incomplete, because its recording was interrupted\n",
                                path);
    if (!as_json) return {text_of(what), note, 0};
    json result = to_json(what);
    result["complete"] = found.end.has_value();
    return {json_text("report", std::move(result)), note, 0};
}

output export_trace(const std::string& path, const std::string& format, const std::string& to) {
    const trace found = read_trace(path);
    const text_file file(to);
    const text_sink sink = [&](std::string_view text) { file.write(text); };
    if (format == "chrome")
        export_chrome(found, sink);
    else if (format == "json")
        export_json(found, sink);
    else if (format == "rocprof-sys")
        export_rocprof_sys(found, sink);
    else
        export_csv(found, sink);
    file.finish();
    return {};
}

output profile(const observation& wanted, bool as_json, const profile_files& files) {
    opened from = open(wanted);
    const trace_header header = from.header;
    const auto file = open_result(files.to), page = open_result(files.html),
               rocprof_sys = open_result(files.rocprof_sys);
    refuse_same_file(files.to, files.html, "--html");
    refuse_same_file(files.to, files.rocprof_sys, "--rocprof-sys");
    refuse_same_file(files.html, files.rocprof_sys, "--rocprof-sys");
    summary_sink sink(header.page_size);
    if (page) sink.when.emplace(header.start);
    if (rocprof_sys) sink.rocprof_sys.emplace();
    const observed_run run = observe(wanted, std::move(from), sink);
    const summary_of what = {header, sink.sums, sink.processes, run.what.dropped,
                             run.what.dropped_allocations};
    if (page) {
        sink.when->extend(run.what.end);
        write_whole(*page, html_of(what, *sink.when));
    }
    if (rocprof_sys) write_whole(*rocprof_sys, sink.rocprof_sys->text_of(header));
    std::string text = as_json ? json_text("profile", to_json(what)) : text_of(what);
    if (file) {
        write_whole(*file, text);
        text.clear();
    }
    return {std::move(text), dropped_note(run.what.dropped) + allocations_note(wanted, run.what),
            run.status()};
}

} // namespace hmmctl
