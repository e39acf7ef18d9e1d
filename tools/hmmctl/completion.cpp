// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hmmctl {
namespace {

/// The script: @commands are patterns, @values and @words are branches of `case`.
constexpr const char* script = R"(# bash completion for hmmctl; `hmmctl completion` prints it

# The first column of a list.
_hmmctl_ids() {{
	hmmctl "$1" list 2>/dev/null | awk 'NR > 1 {{ print $1 }}'
}}

_hmmctl() {{
	local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command=hmmctl words='' i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${{COMP_WORDS[i]}} == -- ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$current")
			((i + 1 == COMP_CWORD)) || mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return
		fi
		case "$command ${{COMP_WORDS[i]}}" in
		{commands}) command+=" ${{COMP_WORDS[i]}}" ;;
		esac
	done
	case "$command $previous" in
{values}	*)
		case "$command" in
{words}		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}

complete -F _hmmctl hmmctl
)";

/// Returns the script's command that completes a value, "" if there is none.
std::string completer_of(const std::string& value) {
    if (value == "FILE") return R"(mapfile -t COMPREPLY < <(compgen -f -- "$current"); return)";
    if (value == "PID") return "words=$(_hmmctl_ids process)";
    if (value == "ID") return "words=$(_hmmctl_ids device)";
    const std::vector<std::string> words = words_of_set(value);
    return words.empty() ? "" : fmt::format("words='{}'", fmt::join(words, " "));
}

std::vector<std::string> spellings_of(const CLI::Option& option) {
    std::vector<std::string> all;
    for (const std::string& name : option.get_snames())
        all.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        all.push_back("--" + name);
    return all;
}

/// Returns the branches for values of options.
std::string values_text(const named_command& command) {
    std::string text;
    for (const CLI::Option* option : command.app->get_options()) {
        const std::string value = value_of(*option);
        if (!option->nonpositional() || value.empty()) continue;
        std::string patterns;
        for (const std::string& spelling : spellings_of(*option))
            patterns +=
                fmt::format("{}'{} {}'", patterns.empty() ? "" : " | ", command.name, spelling);
        const std::string completer = completer_of(value);
        text += fmt::format("\t{}) {} ;;\n", patterns, completer.empty() ? ":" : completer);
    }
    return text;
}

/// Returns the branch for commands, options and positional arguments.
std::string words_text(const named_command& command, const CLI::App& top) {
    std::string words, argument;
    for (const CLI::App* one : command.app->get_subcommands([](const CLI::App*) { return true; }))
        words += one->get_name() + ' ';
    for (const CLI::Option* option : command.app->get_options()) {
        if (!option->nonpositional()) argument = completer_of(value_of(*option));
        for (const std::string& spelling : spellings_of(*option))
            if (spelling.starts_with("--")) words += spelling + ' ';
    }
    if (command.app != &top) words += "--json "; // allowed after every command
    std::string text = fmt::format("\t\t'{}')\n", command.name);
    if (argument.starts_with("words="))
        text += fmt::format("\t\t\t{}\n\t\t\twords+=' {}'\n", argument, words);
    else if (!argument.empty())
        text += fmt::format("\t\t\tif [[ $current == -* ]]; then words='{}'; else {}; fi\n", words,
                            argument);
    else
        text += fmt::format("\t\t\twords='{}'\n", words);
    return text + "\t\t\t;;\n";
}

} // namespace

std::string completion_of(const CLI::App& app) {
    std::string names, values, words;
    for (const named_command& command : commands_of(app)) {
        if (command.app != &app)
            names += fmt::format("{}'{}'", names.empty() ? "" : " | ", command.name);
        values += values_text(command);
        words += words_text(command, app);
    }
    return fmt::format(script, fmt::arg("commands", names), fmt::arg("values", values),
                       fmt::arg("words", words));
}

} // namespace hmmctl
