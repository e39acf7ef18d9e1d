// SPDX-License-Identifier: MIT
#include "command_line.hpp"
#include "replay.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace hmmctl {
namespace {

constexpr std::uint64_t chunk_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t most_device_bytes = std::uint64_t{64} << 30;
constexpr const char* usual_device_memory = "16M";

/// Returns a size like 16M in bytes, nothing if the text isn't one.
std::optional<std::uint64_t> size_from(std::string_view text) {
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const unsigned shift = unit == "M" ? 20 : unit == "G" ? 30 : 0;
    if (error != std::errc() || shift == 0 || size > most_device_bytes >> shift) return {};
    return size << shift;
}

std::string why_no_device_memory(const std::string& text) {
    const std::optional<std::uint64_t> size = size_from(text);
    if (size && *size > 0 && *size <= most_device_bytes && *size % chunk_bytes == 0) return "";
    return "expected a multiple of 2M, like 16M or 1G, up to 64G, not '" + text + "'";
}

std::string why_no_file(const std::string& text) {
    return text.empty() ? "expected a file name" : "";
}

void add_list(CLI::App& command, const char* name, std::vector<std::string>& into, const char* type,
              const char* description) {
    command.add_option(name, into, description)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name(type);
}

void set_command(const CLI::App& command, request& asked) {
    if (asked.lists) {
        asked.command = [&asked] { return list_replay(asked.as_json); };
        return;
    }
    replay_plan& plan = asked.replayed;
    if (plan.trace.empty() && plan.patterns.empty())
        throw CLI::ValidationError(command.get_name(),
                                   "nothing to replay: name a TRACE or a --pattern");
    if (asked.sizes.empty()) asked.sizes = {usual_device_memory};
    for (const std::string& size : asked.sizes)
        plan.device_memory.push_back(*size_from(size));
    asked.command = [&asked] { return run_replay(asked.replayed, asked.as_json, asked.to); };
}

} // namespace

void add_replay_commands(CLI::App& app, request& asked) {
    CLI::App& command = *app.add_subcommand(
        "replay", "Simulate policies on a trace of memory accesses. The simulator contains code of "
                  "the kernel module and is under GPL-2.0-only.");
    replay_plan& plan = asked.replayed;
    command.add_option("TRACE", plan.trace, "accesses of --write, or a recording of trace record")
        ->type_name("FILE")
        ->check(why_no_file);
    command.add_flag("--list", asked.lists, "list policies and prices, without replaying");
    add_list(command, "--pattern", plan.patterns, "NAME[:PART]",
             "patterns of bench, with a size as a fraction of the device's memory (default: 1.5)");
    add_list(command, "--policy", plan.policies, "NAME", "policies (default: all)");
    add_list(command, "--device-memory", asked.sizes, "SIZE",
             "sizes of the device's memory (default: 16M)");
    command.get_option("--device-memory")->check(why_no_device_memory);
    command.add_option("--prices", plan.prices, "what operations cost (default: guest)")
        ->type_name("NAME")
        ->check(why_no_file);
    command.add_option("--seed", plan.seed, "of policies with random numbers (default: 1)")
        ->type_name("N")
        ->check(why_no_number);
    command.add_option("--write", plan.write, "write the accesses of the pattern to a file")
        ->type_name("FILE")
        ->check(why_no_file);
    command.add_option("-o,--output", asked.to, "plot costs into a file (.svg or .png)")
        ->type_name("FILE")
        ->check(why_no_file);
    command.callback([&command, &asked] { set_command(command, asked); });
}

} // namespace hmmctl
