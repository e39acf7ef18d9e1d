// SPDX-License-Identifier: MIT
#include "command_line.hpp"

namespace hmmctl {
namespace {

void add_commands(std::vector<named_command>& found, const std::string& name, const CLI::App& app) {
    found.push_back({name, &app});
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        add_commands(found, name + ' ' + command->get_name(), *command);
}

void add_printer(CLI::App& app, request& asked, const char* name, const char* description,
                 std::string (*print)(const CLI::App&)) {
    CLI::App& command = *app.add_subcommand(name, description);
    command.callback([&app, &asked, &command, print] {
        refuse_json(command, asked);
        asked.command = [&app, print] { return output{print(app), "", 0}; };
    });
}

} // namespace

void refuse_json(const CLI::App& command, const request& asked) {
    if (asked.as_json)
        throw CLI::ValidationError(command.get_name(), "--json is not supported by this command");
}

std::vector<named_command> commands_of(const CLI::App& app) {
    std::vector<named_command> found;
    add_commands(found, app.get_name(), app);
    return found;
}

std::string value_of(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return "";
    return option.nonpositional() ? option.get_type_name() : option.get_name(true);
}

std::vector<std::string> words_of_set(const std::string& value) {
    const std::size_t open = value.find('{'), close = value.rfind('}');
    if (open == std::string::npos || close == std::string::npos) return {};
    return CLI::detail::split(value.substr(open + 1, close - open - 1), ',');
}

void add_tree_commands(CLI::App& app, request& asked) {
    add_printer(app, asked, "completion", "Print a completion script for bash", completion_of);
    add_printer(app, asked, "manual", "Print the manual page", manual_of);
}

} // namespace hmmctl
