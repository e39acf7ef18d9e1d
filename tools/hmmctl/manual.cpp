// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

namespace hmmctl {
namespace {

/// Escapes text for roff, so that hyphens stay ASCII and no line is taken for a request.
std::string roff(const std::string& text) {
    std::string escaped;
    for (const char byte : text) {
        const bool at_start = escaped.empty() || escaped.back() == '\n';
        if (at_start && (byte == '.' || byte == '\'')) escaped += "\\&";
        if (byte == '-')
            escaped += "\\-";
        else if (byte == '\\')
            escaped += "\\e";
        else
            escaped += byte;
    }
    return escaped;
}

std::string bold(const std::string& text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
    return "\\fI" + roff(text) + "\\fR";
}

/// Turns the help text of an option or a command into a sentence.
std::string sentence(std::string text) {
    if (!text.empty())
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return roff(text) + (text.ends_with('.') ? "" : ".");
}

std::string value_text(const CLI::Option& option) {
    const std::string value = value_of(option);
    const std::vector<std::string> words = words_of_set(value);
    return words.empty() ? italic(value) : roff(fmt::format("{}", fmt::join(words, "|")));
}

std::string option_text(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames())
        names += (names.empty() ? "" : ", ") + bold("-" + name);
    for (const std::string& name : option.get_lnames())
        names += (names.empty() ? "" : ", ") + bold("--" + name);
    if (!value_of(option).empty()) names += (names.empty() ? "" : " ") + value_text(option);
    return fmt::format(".TP\n{}\n{}\n", names, sentence(option.get_description()));
}

bool is_help(const CLI::App& app, const CLI::Option* option) {
    return option == app.get_help_ptr();
}

std::string options_text(const CLI::App& app) {
    std::string text;
    for (const CLI::Option* option : app.get_options())
        if (!is_help(app, option)) text += option_text(*option);
    return text;
}

std::string arguments_of(const CLI::App& app) {
    std::string text;
    bool has_options = false;
    for (const CLI::Option* option : app.get_options()) {
        if (!option->nonpositional())
            text += option->get_required() ? ' ' + value_text(*option)
                                           : fmt::format(" [{}]", value_text(*option));
        else
            has_options = has_options || !is_help(app, option);
    }
    return (has_options ? " [" + italic("OPTIONS") + "]" : "") + text;
}

std::string command_text(const named_command& command) {
    const CLI::App& app = *command.app;
    std::string text = fmt::format(".TP\n{}{}\n{}\n", bold(command.name), arguments_of(app),
                                   sentence(app.get_description()));
    // commands inherit the footer of their parent
    if (const std::string footer = app.get_footer(); footer != app.get_parent()->get_footer())
        text += roff(footer) + '\n';
    const std::string options = options_text(app);
    return options.empty() ? text : text + ".RS\n" + options + ".RE\n";
}

} // namespace

std::string manual_of(const CLI::App& app) {
    std::string text = fmt::format(".TH HMMCTL 1 \"\" \"{}\" \"hmmrt\"\n.SH NAME\n", app.version());
    text += fmt::format("{} \\- {}\n", app.get_name(), roff(app.get_description()));
    text += fmt::format(".SH SYNOPSIS\n{} [{}] {}\n", bold(app.get_name()), italic("OPTIONS"),
                        italic("COMMAND"));
    text += fmt::format(".SH OPTIONS\n{}.SH COMMANDS\n", options_text(app));
    for (const named_command& command : commands_of(app))
        if (command.app->get_subcommands([](const CLI::App*) { return true; }).empty())
            text += command_text(command);
    return text + ".SH EXIT STATUS\n" + roff(app.get_footer()) + '\n';
}

} // namespace hmmctl
