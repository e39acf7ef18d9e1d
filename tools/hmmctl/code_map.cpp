// SPDX-License-Identifier: MIT
#include "code_map.hpp"

#include "lib/files.hpp"
#include "lib/mappings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hmmctl {

std::vector<code_mapping> parse_code(std::string_view maps) {
    std::vector<code_mapping> code;
    for (tools::mapping& found : tools::parse_mappings(maps))
        if (found.executable)
            code.push_back({found.start, found.end, found.offset, std::move(found.name)});
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
    found.name = tools::read_file(folder + "/comm").value_or("");
    if (found.name.ends_with('\n')) found.name.pop_back();
    found.code = parse_code(tools::read_file(folder + "/maps").value_or(""));
    return found;
}

} // namespace hmmctl
