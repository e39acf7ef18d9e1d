// SPDX-License-Identifier: MIT
// Runs hmmctl and captures its output.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

struct result {
    int status = -1; ///< exit status, or -1 if it did not exit
    std::string out, err;
};

constexpr uid_t other_user = 65534; ///< has no permissions
constexpr std::size_t page = 4096;

/// How to run a command, if not like this program.
struct manner {
    uid_t uid = 0;             ///< user to become, 0 for none
    const char* out = nullptr; ///< file that gets standard output, instead of result.out
    std::vector<std::string> environment = {};
    std::function<void(pid_t)> beside = {}; ///< what this program does while hmmctl runs
};

result run_hmmctl(const std::vector<std::string>& arguments, const manner& how = {});

/// Parses an answer. It must match hmmctl's schema for @command, for example `trace_report`.
nlohmann::json answer_in(const std::string& text, const std::string& command);

/// Runs a command that must succeed, and returns its JSON.
nlohmann::json json_of(std::vector<std::string> arguments, const manner& how = {});

std::set<std::string> fields_of(const nlohmann::json& object);
