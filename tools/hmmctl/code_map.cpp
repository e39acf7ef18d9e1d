// SPDX-License-Identifier: MIT
#include "code_map.hpp"

#include "files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace hmmctl {
namespace {

/// Takes the text up to a delimiter from the start of @line.
std::string_view take_until(std::string_view& line, char delimiter) {
    const std::size_t end = std::min(line.find(delimiter), line.size());
    const std::string_view field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return field;
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// START-END PERMISSIONS OFFSET DEVICE INODE          PATH
std::optional<code_mapping> parse_line(std::string_view line) {
    const auto start = hexadecimal(take_until(line, '-'));
    const auto end = hexadecimal(take_until(line, ' '));
    const std::string_view permissions = take_until(line, ' ');
    const auto offset = hexadecimal(take_until(line, ' '));
    if (!start || !end || !offset || *start >= *end) return std::nullopt;
    if (permissions.find('x') == std::string_view::npos) return std::nullopt;
    take_until(line, ' ');
    take_until(line, ' ');
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return code_mapping{*start, *end, *offset, std::string(line)};
}

} // namespace

std::vector<code_mapping> parse_code(std::string_view maps) {
    std::vector<code_mapping> code;
    while (!maps.empty())
        if (auto found = parse_line(take_until(maps, '\n'))) code.push_back(std::move(*found));
    return code;
}

const code_mapping* mapping_of(const std::vector<code_mapping>& code, std::uint64_t ip) {
    const auto found = std::find_if(code.begin(), code.end(), [&](const code_mapping& one) {
        return ip >= one.start && ip < one.end;
    });
    return found == code.end() ? nullptr : &*found;
}

observed_process look_at(std::uint64_t space, pid_t pid, const std::string& proc) {
    observed_process found;
    found.space = space;
    found.pid = pid;
    if (pid <= 0) return found;
    const std::string folder = fmt::format("{}/{}", proc, pid);
    found.name = read_file(folder + "/comm").value_or("");
    if (found.name.ends_with('\n')) found.name.pop_back();
    found.code = parse_code(read_file(folder + "/maps").value_or(""));
    return found;
}

} // namespace hmmctl
