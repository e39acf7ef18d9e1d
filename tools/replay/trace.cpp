// SPDX-License-Identifier: MIT
#include "trace.hpp"

#include "failure.hpp"
#include "recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace replay {
namespace {

using hmmctl::failure;

constexpr std::string_view first_line = "hmmrt-accesses 1";

struct kind_name {
    step_kind what;
    std::string_view first, second;
};

constexpr std::array kind_names = {
    kind_name{step_kind::device_read, "device", "read"},
    kind_name{step_kind::device_write, "device", "write"},
    kind_name{step_kind::cpu_read, "cpu", "read"},
    kind_name{step_kind::cpu_write, "cpu", "write"},
    kind_name{step_kind::prefetch_device, "prefetch", "device"},
    kind_name{step_kind::prefetch_cpu, "prefetch", "cpu"},
    kind_name{step_kind::unmap, "unmap", ""},
    kind_name{step_kind::wait, "wait", ""},
};

/// The words of one line, and where it is.
class line_reader {
  public:
    line_reader(const std::string& from, std::size_t number, std::string_view text)
        : from_(from), number_(number), left_(text.substr(0, text.find('#'))) {}

    /// Returns the next word, "" at the end of the line.
    std::string_view word() {
        constexpr std::string_view blanks = " \t\r";
        left_.remove_prefix(std::min(left_.find_first_not_of(blanks), left_.size()));
        const std::string_view found = left_.substr(0, left_.find_first_of(blanks));
        left_.remove_prefix(found.size());
        return found;
    }

    /// Returns the next number, or @otherwise if the line ends.
    std::uint32_t number(const char* what, std::uint64_t least, std::uint64_t most,
                         std::uint64_t otherwise) {
        const std::string_view text = word();
        std::uint64_t value = otherwise;
        if (!text.empty()) {
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size())
                fail(fmt::format("'{}' is no number of {}", text, what));
        }
        if (value < least || value > most)
            fail(fmt::format("{} is {}, expected {} to {}", what, value, least, most));
        return static_cast<std::uint32_t>(value);
    }

    [[noreturn]] void fail(const std::string& why) const {
        throw failure(fmt::format("{}:{}: {}", from_, number_, why));
    }
    void expect_end() {
        if (const std::string_view more = word(); !more.empty())
            fail(fmt::format("'{}' is one word too many", more));
    }

  private:
    const std::string& from_;
    std::size_t number_;
    std::string_view left_;
};

step_kind kind_of(line_reader& line, std::string_view first) {
    std::string_view second;
    for (const kind_name& one : kind_names) {
        if (one.first != first) continue;
        if (one.second.empty()) return one.what;
        if (second.empty()) second = line.word();
        if (one.second == second) return one.what;
    }
    if (second.empty() && first != "device" && first != "cpu" && first != "prefetch")
        line.fail(fmt::format("'{}' is not one of device, cpu, prefetch, unmap and wait", first));
    line.fail(first == "prefetch" ? fmt::format("expected device or cpu, not '{}'", second)
                                  : fmt::format("expected read or write, not '{}'", second));
}

/// Reads a step of a trace whose pages are known.
step step_from(line_reader& line, std::string_view first, const trace& of) {
    constexpr std::uint64_t most = ~std::uint32_t{0};
    step result;
    result.what = kind_of(line, first);
    if (result.what == step_kind::wait) {
        result.count = line.number("microseconds", 1, most, 0);
        return result;
    }
    result.first = line.number("first page", 0, of.pages - 1, most);
    result.count = line.number("count of pages", 1, of.pages - result.first, 1);
    if (!is_device(result.what)) return result;
    for (std::uint32_t page = result.first; page < result.first + result.count; page++)
        if (!of.absent.empty() && of.absent[page])
            line.fail(fmt::format("page {} is absent", page));
    result.accesses = line.number("accesses", 1, most, page_lines);
    result.lines = static_cast<std::uint8_t>(
        line.number("lines", 1, std::min<std::uint64_t>(page_lines, result.accesses),
                    std::min(page_lines, result.accesses)));
    return result;
}

void add_absent(line_reader& line, trace& into) {
    if (!into.steps.empty()) line.fail("'absent' has to come before all accesses");
    const std::uint64_t first = line.number("first page", 0, into.pages - 1, ~std::uint32_t{0}),
                        count = line.number("count of pages", 1, into.pages - first, 1);
    into.absent.resize(into.pages);
    for (std::uint64_t page = first; page < first + count; page++)
        into.absent[page] = true;
}

std::string text_of_absent(const std::vector<bool>& absent) {
    std::string text;
    for (auto at = absent.begin(); (at = std::find(at, absent.end(), true)) != absent.end();) {
        const auto end = std::find(at, absent.end(), false);
        text += fmt::format("absent {} {}\n", at - absent.begin(), end - at);
        at = end;
    }
    return text;
}

std::string text_of(const step& of) {
    const auto found = std::find_if(kind_names.begin(), kind_names.end(),
                                    [&](const kind_name& one) { return one.what == of.what; });
    std::string text(found->first);
    if (!found->second.empty()) text += fmt::format(" {}", found->second);
    if (of.what == step_kind::wait) return text + fmt::format(" {}\n", of.count);
    text += fmt::format(" {} {}", of.first, of.count);
    if (is_device(of.what)) text += fmt::format(" {} {}", of.accesses, of.lines);
    return text + '\n';
}

} // namespace

void trace::add(const step& next) {
    if (!steps.empty() && next.what != step_kind::wait) {
        step& last = steps.back();
        if (last.what == next.what && last.lines == next.lines && last.accesses == next.accesses &&
            last.first + last.count == next.first) {
            last.count += next.count;
            return;
        }
    }
    steps.push_back(next);
}

trace parse_trace(std::string_view text, const std::string& from) {
    trace result;
    bool began = false;
    std::uint64_t visits = 0;
    for (std::size_t number = 1; !text.empty(); number++) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        line_reader line(from, number, text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string_view word = line.word();
        if (word.empty()) continue;
        if (!began) {
            if (word != "hmmrt-accesses" || line.word() != "1")
                line.fail(fmt::format("is no trace: expected the line '{}'", first_line));
            began = true;
        } else if (result.pages == 0) {
            if (word != "pages")
                line.fail(fmt::format("expected the line 'pages N', not '{}'", word));
            result.pages = line.number("pages", 1, most_pages, 0);
        } else if (word == "absent") {
            add_absent(line, result);
        } else {
            result.steps.push_back(step_from(line, word, result));
            const step& last = result.steps.back();
            if (is_device(last.what)) visits += last.count;
            if (visits > most_visits)
                line.fail(fmt::format("up to here there are {} accesses to pages, expected at most "
                                      "{}",
                                      visits, most_visits));
        }
        line.expect_end();
    }
    if (result.steps.empty()) throw failure(from + ": has no accesses to replay");
    return result;
}

std::string text_of(const trace& of) {
    std::string text = fmt::format("{}\npages {}\n", first_line, of.pages);
    text += text_of_absent(of.absent);
    for (const step& one : of.steps)
        text += text_of(one);
    return text;
}

trace read_trace(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad())
        throw failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return text.starts_with('{') ? trace_of_recording(text, path) : parse_trace(text, path);
}

void write_trace(const trace& of, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    file << text_of(of) << std::flush;
    if (!file) throw failure(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

} // namespace replay
