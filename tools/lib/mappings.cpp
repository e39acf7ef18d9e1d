// SPDX-License-Identifier: MIT
#include "mappings.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

namespace tools {
namespace {

/// Removes the text up to a delimiter from the start of @line, and returns it.
std::string_view take_until(std::string_view& line, char delimiter) {
    const std::size_t end = std::min(line.find(delimiter), line.size());
    const std::string_view field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return field;
}

void skip_spaces(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
}

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// START-END PERMISSIONS OFFSET DEVICE INODE          PATH
std::optional<mapping> parse_first_line(std::string_view line) {
    const auto start = number_in(take_until(line, '-'), 16);
    const auto end = number_in(take_until(line, ' '), 16);
    const std::string_view permissions = take_until(line, ' ');
    const auto offset = number_in(take_until(line, ' '), 16);
    if (!start || !end || !offset || *start >= *end) return std::nullopt;
    take_until(line, ' ');
    take_until(line, ' ');
    skip_spaces(line);
    return mapping{*start,
                   *end,
                   *offset,
                   permissions.find('r') != std::string_view::npos,
                   permissions.find('x') != std::string_view::npos,
                   std::string(line),
                   std::nullopt,
                   ""};
}

/// `Rss:                 132 kB`
std::optional<std::uint64_t> resident_bytes_in(std::string_view line) {
    if (take_until(line, ':') != "Rss") return std::nullopt;
    skip_spaces(line);
    const auto kibibytes = number_in(take_until(line, ' '), 10);
    if (!kibibytes || line != "kB") return std::nullopt;
    return *kibibytes * 1024;
}

} // namespace

std::vector<mapping> parse_mappings(std::string_view text) {
    std::vector<mapping> found;
    while (!text.empty()) {
        const std::string_view line = take_until(text, '\n');
        if (auto first = parse_first_line(line))
            found.push_back(std::move(*first));
        else if (const auto resident = resident_bytes_in(line); resident && !found.empty())
            found.back().resident_bytes = resident;
        else if (line.starts_with("VmFlags:") && !found.empty())
            found.back().flags = line.substr(line.find(':') + 1);
    }
    return found;
}

bool is_object(const mapping& of) {
    return of.name.find("hmmrt-object") != std::string::npos;
}

bool is_anonymous(const mapping& of) {
    return of.name.empty() || of.name == "[heap]" || of.name == "[stack]" ||
           of.name.starts_with("[anon:") || of.name.starts_with("[anon_shmem:");
}

} // namespace tools
