// SPDX-License-Identifier: MIT
#include "options.hpp"

#include "option_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

namespace hmmcc {
namespace {

/// Splits the text at @separators, except where they are quoted or follow a backslash.
words split_options(const std::string& text, std::string_view separators) {
    words parts;
    std::string part;
    bool started = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            part += text[++i];
            started = true;
        } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
            quote = quote != 0 ? char(0) : c;
            started = true;
        } else if (quote == 0 && separators.find(c) != std::string_view::npos) {
            if (started) parts.push_back(part);
            part.clear();
            started = false;
        } else {
            part += c;
            started = true;
        }
    }
    if (started) parts.push_back(part);
    return parts;
}

constexpr std::string_view of_list = ", ";
constexpr std::string_view of_file = " \t\n";

bool is_number(const std::string& text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

class parser {
  public:
    explicit parser(words arguments) : arguments_(std::move(arguments)) {}

    options run() {
        for (; at_ < arguments_.size(); at_++)
            take(arguments_[at_]);
        if (result_.inputs.empty() && !result_.help && !result_.version)
            throw usage_error("no input files");
        check_output();
        return std::move(result_);
    }

  private:
    using flag = void (*)(options&);
    using valued = void (parser::*)(const std::string& name, const std::string& value);

    void take(const std::string argument) {
        if (argument.empty() || argument[0] != '-' || argument == "-") return take_file(argument);
        const std::size_t equals = argument.find('=');
        const std::string name = short_name(argument.substr(0, equals));
        joined_.reset();
        if (equals != std::string::npos) joined_ = argument.substr(equals + 1);
        const std::string option = joined_ ? name + '=' + *joined_ : name;
        check_refused(option, argument);
        if (take_flag(name) || take_ignored(name) || take_with_value(name) ||
            take_dependencies(name) || take_with_letter(option) || take_of_linker(option))
            return;
        result_.compile.push_back(option);
        if (is_compiler_option_with_value(option)) result_.compile.push_back(value(option));
    }

    static void check_refused(const std::string& option, const std::string& argument) {
        if (const std::string_view reason = refusal_of(option); !reason.empty())
            throw usage_error(argument + ": " + std::string(reason));
    }

    void take_file(const std::string& path) {
        result_.inputs.push_back({path, language_});
        result_.link.push_back({path, true});
    }

    bool take_flag(const std::string& name) {
        static const std::map<std::string_view, flag> flags = {
            {"-c", [](options& o) { o.last = stage::object; }},
            {"-E", [](options& o) { o.last = stage::preprocess; }},
            {"-v", [](options& o) { o.verbose = true; }},
            {"-dryrun", [](options& o) { o.dry_run = true; }},
            {"-h", [](options& o) { o.help = true; }},
            {"-V", [](options& o) { o.version = true; }},
            {"-g", [](options& o) { o.debug = true; }},
            {"-G", [](options& o) { o.debug_device = true; }},
            {"-use_fast_math", [](options& o) { o.fast_math = true; }},
        };
        const auto found = flags.find(name);
        if (found == flags.end() || joined_) return false;
        found->second(result_);
        return true;
    }

    bool take_ignored(const std::string& name) {
        const ignored kind = is_ignored(name);
        if (kind == ignored::with_value) value(name);
        return kind != ignored::no;
    }

    /// Options with a value after '=' or in the next argument.
    bool take_with_value(const std::string& name) {
        static const std::map<std::string_view, valued> options = {
            {"-o", &parser::set_output},
            {"-x", &parser::set_language},
            {"-std", &parser::set_standard},
            {"-O", &parser::set_optimization},
            {"-march", &parser::set_architecture},
            {"-fmad", &parser::set_contract},
            {"-rdc", &parser::set_device_linking},
            {"-m", &parser::set_machine},
            {"-optf", &parser::read_options},
            {"-default-stream", &parser::set_default_stream},
            {"-cudart", &parser::set_runtime},
            {"-Xcompiler", &parser::add_for_compiler},
            {"-Xlinker", &parser::add_for_linker},
            {"-l", &parser::add_library},
            {"-L", &parser::add_library_folder},
            {"-I", &parser::add_for_preprocessor},
            {"-D", &parser::add_for_preprocessor},
            {"-U", &parser::add_for_preprocessor},
            {"-isystem", &parser::add_for_preprocessor},
            {"-include", &parser::add_for_preprocessor},
            {"-iquote", &parser::add_for_preprocessor},
            {"-idirafter", &parser::add_for_preprocessor},
        };
        const auto found = options.find(name);
        if (found == options.end()) return false;
        (this->*found->second)(name, name == "-O" ? level() : value(name));
        return true;
    }

    /// Options of one letter, followed by the value in the same argument.
    bool take_with_letter(const std::string& option) {
        static const std::map<char, valued> letters = {{'o', &parser::set_output},
                                                       {'O', &parser::set_optimization},
                                                       {'l', &parser::add_library},
                                                       {'L', &parser::add_library_folder},
                                                       {'x', &parser::set_language}};
        if (option.size() < 3) return false;
        const std::string rest = option.substr(2);
        if (option[1] == 't' && is_number(rest)) return true; // nvcc's --threads: ignored
        const auto found = letters.find(option[1]);
        if (found == letters.end()) return false;
        (this->*found->second)(option.substr(0, 2), rest);
        return true;
    }

    bool take_of_linker(const std::string& option) {
        if (is_linker_option_with_value(option)) {
            result_.link.push_back({option});
            result_.link.push_back({value(option)});
            return true;
        }
        if (!is_linker_option(option)) return false;
        result_.link.push_back({option});
        return true;
    }

    /// -M and -MM print dependencies; -MD and -MMD write them next to the object file.
    bool take_dependencies(const std::string& name) {
        if (name == "-M" || name == "-MM") {
            result_.last = stage::dependencies;
            result_.dependencies.push_back(name);
        } else if (name == "-MD" || name == "-MMD" || name == "-MP") {
            result_.dependencies.push_back(name);
        } else if (name == "-MF") {
            result_.dependency_file = value(name);
        } else if (name == "-MT" || name == "-MQ") {
            append(result_.dependencies, {name, value(name)});
            result_.dependency_target = true;
        } else {
            return false;
        }
        return true;
    }

    // ---- options with values -----------------------------------------------

    void set_output(const std::string&, const std::string& path) { result_.output = path; }
    void set_optimization(const std::string&, const std::string& level) {
        result_.optimization = "-O" + level;
    }
    void set_architecture(const std::string&, const std::string& name) {
        result_.architecture = name;
    }
    void set_contract(const std::string&, const std::string& wanted) {
        result_.contract = wanted != "false";
    }
    void set_device_linking(const std::string&, const std::string& wanted) {
        check_refused("-rdc=" + wanted, "-rdc=" + wanted);
    }
    void set_machine(const std::string&, const std::string& bits) {
        check_refused("-m" + bits, "-m" + bits);
    }
    void set_language(const std::string&, const std::string& name) {
        language_ = language_named(name);
    }

    /// The headers for device code need C++17, so ignore older standards.
    void set_standard(const std::string&, const std::string& name) {
        for (const char* const old : {"98", "03", "0x", "11", "1y", "14"})
            if (name == std::string("c++") + old || name == std::string("gnu++") + old) return;
        result_.standard = "-std=" + name;
    }

    void set_default_stream(const std::string&, const std::string& name) {
        if (name != "legacy")
            throw usage_error("hmmcc only supports the legacy default stream, not " + name +
                              ": pass cudaStreamPerThread explicitly");
    }

    void set_runtime(const std::string&, const std::string& kind) {
        static const std::map<std::string_view, runtime_kind> kinds = {
            {"none", runtime_kind::none},
            {"static", runtime_kind::fixed},
            {"shared", runtime_kind::shared}};
        const auto found = kinds.find(kind);
        if (found == kinds.end())
            throw usage_error("-cudart " + kind + ": must be none, shared or static");
        result_.runtime = found->second;
    }

    void read_options(const std::string& name, const std::string& path) {
        std::ifstream file(path);
        std::ostringstream text;
        if (!file || !(text << file.rdbuf())) throw usage_error(name + ": cannot read " + path);
        if (++files_read_ > most_files) throw usage_error(name + ": more than 1000 option files");
        const words options = split_options(text.str(), of_file);
        arguments_.insert(arguments_.begin() + std::ptrdiff_t(at_) + 1, options.begin(),
                          options.end());
    }

    void add_for_compiler(const std::string&, const std::string& list) {
        for (const std::string& each : split_options(list, of_list)) {
            check_refused(each, each);
            if (is_linker_option(each))
                result_.link.push_back({each});
            else
                result_.compile.push_back(each);
        }
    }
    void add_for_linker(const std::string&, const std::string& list) {
        for (const std::string& each : split_options(list, of_list)) {
            result_.link.push_back({"-Xlinker"});
            result_.link.push_back({each, false, true});
        }
    }
    void add_for_preprocessor(const std::string& name, const std::string& text) {
        append(result_.compile, {name, text});
    }

    void add_library(const std::string&, const std::string& name) {
        if (is_own_library(name)) return;
        if (is_missing_library(name))
            throw usage_error("-l" + name + ": hmmrt does not provide this library");
        result_.link.push_back({"-l" + name});
    }
    void add_library_folder(const std::string&, const std::string& folder) {
        result_.link.push_back({"-L" + folder});
    }

    // ------------------------------------------------------------------------

    static language language_named(const std::string& name) {
        if (name == "cu" || name == "cuda") return language::cuda;
        if (name == "hip") return language::hip;
        if (name == "c++") return language::cpp;
        if (name == "c") return language::c;
        if (name == "none") return language::by_name;
        throw usage_error("-x " + name + ": unknown language (valid: cu, hip, c++, c)");
    }

    void check_output() const {
        if (result_.output.empty() || result_.last == stage::link || result_.inputs.size() == 1)
            return;
        throw usage_error("-o with several files is only allowed when linking");
    }

    std::string value(const std::string& option) {
        if (joined_) return *joined_;
        if (at_ + 1 >= arguments_.size()) throw usage_error(option + " needs a value");
        return arguments_[++at_];
    }
    /// The value of -O without one in the same argument: a number in the next argument, else 1.
    std::string level() {
        if (joined_) return *joined_;
        const bool next = at_ + 1 < arguments_.size() && is_number(arguments_[at_ + 1]);
        return next ? arguments_[++at_] : "1";
    }
    static void append(words& to, const words& from) {
        to.insert(to.end(), from.begin(), from.end());
    }

    static constexpr int most_files = 1000; // a file may include itself

    words arguments_;
    std::size_t at_ = 0;
    int files_read_ = 0;
    std::optional<std::string> joined_; ///< what follows '=' in the current argument
    language language_ = language::by_name;
    options result_;
};

} // namespace

options parse_options(const words& arguments) {
    return parser(arguments).run();
}

const char* const help_text =
    R"(usage: hmmcc [OPTION...] FILE...

Builds programs from CUDA and HIP source for hmmrt. FILE is a .cu, .hip, .cpp or .c file, an object
file or a library. Options are nvcc's, also by their long names; other options are passed to clang.

  -o FILE                   the program, or the object file with -c
  -c, -E, -M, -MM           only compile, preprocess, or print the dependencies
  -x cu|hip|c++|c           language of the following files
  -std=c++17|20             C++ standard, C++17 by default; older ones are replaced by C++17
  -O 0|1|2|3                by default, device code is optimized and host code is not
  -march=NAME               processor for device code, x86-64-v3 by default; native: this machine's
  -g, -G                    add debug information; -G also turns off optimization of device code
  -I, -D, -U, -include      as usual
  -MD, -MMD, -MF, -MT, -MP  dependency files
  -l, -L, -Wl, -Xlinker     passed to the linker
  -shared                   build a shared library; -cudart none|shared|static selects which
                            libraries of hmmrt it is linked with, shared ones by default;
                            programs are linked with static ones
  -Xcompiler OPTION,...     passed to the compiler, also when it links
  -optf FILE                read options from a file
  -use_fast_math, -fmad=false
  -v, --dry-run             print the commands; --dry-run does not run them
  -arch, -gencode, -code, -Xptxas, -maxrregcount, -lineinfo and similar options are ignored
)";

} // namespace hmmcc
