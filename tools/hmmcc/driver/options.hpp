// SPDX-License-Identifier: MIT
// hmmcc's command line, which is compatible with nvcc's.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace hmmcc {

using words = std::vector<std::string>;

/// An error in the command line.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class language { by_name, cuda, hip, cpp, c };

struct input_file {
    std::string path;
    language kind = language::by_name; ///< -x
};

/// An option or file for the link.
struct link_word {
    std::string text;
    bool is_input = false;       ///< stands for the next input file
    bool of_linker_only = false; ///< from -Xlinker: not interpreted by clang
};

/// Which of hmmrt's libraries to link.
enum class runtime_kind { by_output, none, fixed, shared };

enum class stage { link, object, preprocess, dependencies };

struct options {
    std::vector<input_file> inputs;
    std::string output;
    stage last = stage::link;
    std::string optimization;                       ///< -O3, or empty
    std::string architecture;                       ///< -march=, or empty
    runtime_kind runtime = runtime_kind::by_output; ///< -cudart
    std::string standard = "-std=c++17";
    bool fast_math = false;
    bool contract = true;      ///< fuse a * b + c
    bool debug_device = false; ///< -G
    bool debug = false;        ///< -g
    bool verbose = false;
    bool dry_run = false;
    bool help = false;
    bool version = false;
    words compile;                  ///< for both halves, for C++ files, and for the link
    words dependencies;             ///< -MD and the like, without -MF
    std::string dependency_file;    ///< -MF, or empty
    bool dependency_target = false; ///< -MT or -MQ is given
    std::vector<link_word> link;    ///< options and files, in order

    bool writes_dependencies() const {
        return std::ranges::any_of(dependencies, [](const std::string& option) {
            return option == "-MD" || option == "-MMD";
        });
    }
};

/// Throws usage_error.
options parse_options(const words& arguments);

/// The text of --help.
extern const char* const help_text;

} // namespace hmmcc
