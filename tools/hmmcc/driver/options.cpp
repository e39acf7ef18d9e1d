// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <string_view>

namespace hmmcc {
namespace {

constexpr std::string_view device_linking =
    "hmmcc links no device code of several files (relocatable device code): put device "
    "functions that several files use into headers";

/// Options that hmmcc takes and does not need; true if a value follows.
const std::map<std::string, bool, std::less<>> ignored_options = {
    {"-arch", true},
    {"--gpu-architecture", true},
    {"-code", true},
    {"--gpu-code", true},
    {"-gencode", true},
    {"--generate-code", true},
    {"-maxrregcount", true},
    {"--maxrregcount", true},
    {"-Xptxas", true},
    {"--ptxas-options", true},
    {"-Xnvlink", true},
    {"-ccbin", true},
    {"--compiler-bindir", true},
    {"-cudart", true},
    {"--cudart", true},
    {"-t", true},
    {"-Werror", true},
    {"--Werror", true},
    {"--threads", true},
    {"-diag-suppress", true},
    {"--diag-suppress", true},
    {"-lineinfo", false},
    {"--generate-line-info", false},
    {"--expt-relaxed-constexpr", false},
    {"-expt-relaxed-constexpr", false},
    {"--expt-extended-lambda", false},
    {"-expt-extended-lambda", false},
    {"--extended-lambda", false},
    {"-extended-lambda", false},
    {"-m64", false},
    {"--machine=64", false},
    {"-Wno-deprecated-gpu-targets", false},
    {"-res-usage", false},
    {"--resource-usage", false},
    {"-forward-unknown-to-host-compiler", false},
    {"--forward-unknown-to-host-compiler", false},
};

const std::map<std::string, std::string_view, std::less<>> refused_options = {
    {"-dc", device_linking},
    {"--device-c", device_linking},
    {"-dw", device_linking},
    {"-dlink", device_linking},
    {"--device-link", device_linking},
    {"-rdc=true", device_linking},
    {"--relocatable-device-code=true", device_linking},
    {"-ptx", "hmmcc makes code for this processor, and no PTX"},
    {"--ptx", "hmmcc makes code for this processor, and no PTX"},
    {"-cubin", "hmmcc makes code for this processor, and no cubin"},
    {"-fatbin", "hmmcc makes code for this processor, and no fatbin"},
};

constexpr std::array cuda_libraries = {"-lcudart", "-lcudart_static", "-lcudadevrt", "-lcuda"};
constexpr std::array missing_libraries = {"-lcublas",   "-lcublasLt", "-lcufft", "-lcurand",
                                          "-lcusparse", "-lcusolver", "-lnvrtc", "-lcudnn"};

bool starts_with(const std::string& text, std::string_view start) {
    return std::string_view(text).starts_with(start);
}

/// Commas and spaces separate options of -Xcompiler.
words split_options(const std::string& text) {
    words parts;
    std::string part;
    for (const char c : text + ',') {
        if (c != ',' && c != ' ') {
            part += c;
        } else if (!part.empty()) {
            parts.push_back(part);
            part.clear();
        }
    }
    return parts;
}

class parser {
  public:
    explicit parser(const words& arguments) : arguments_(arguments) {}

    options run() {
        for (; at_ < arguments_.size(); at_++)
            take(arguments_[at_]);
        if (result_.inputs.empty() && !result_.help && !result_.version)
            throw usage_error("no input files");
        check_output();
        return std::move(result_);
    }

  private:
    void take(const std::string& argument) {
        if (argument.empty() || argument[0] != '-' || argument == "-") return take_file(argument);
        if (const auto refused = refused_options.find(argument); refused != refused_options.end())
            throw usage_error(argument + ": " + std::string(refused->second));
        if (take_flag(argument) || take_ignored(argument) || take_with_value(argument)) return;
        take_for_compiler(argument);
    }

    void take_file(const std::string& path) {
        result_.inputs.push_back({path, language_});
        result_.link.push_back(path);
    }

    bool take_flag(const std::string& argument) {
        static const std::map<std::string, std::function<void(options&)>, std::less<>> flags = {
            {"-c", [](options& o) { o.last = stage::object; }},
            {"--compile", [](options& o) { o.last = stage::object; }},
            {"-E", [](options& o) { o.last = stage::preprocess; }},
            {"--preprocess", [](options& o) { o.last = stage::preprocess; }},
            {"-v", [](options& o) { o.verbose = true; }},
            {"--verbose", [](options& o) { o.verbose = true; }},
            {"-dryrun", [](options& o) { o.dry_run = true; }},
            {"--dryrun", [](options& o) { o.dry_run = true; }},
            {"--dry-run", [](options& o) { o.dry_run = true; }},
            {"-h", [](options& o) { o.help = true; }},
            {"--help", [](options& o) { o.help = true; }},
            {"-V", [](options& o) { o.version = true; }},
            {"--version", [](options& o) { o.version = true; }},
            {"-g", [](options& o) { o.debug = true; }},
            {"--debug", [](options& o) { o.debug = true; }},
            {"-G", [](options& o) { o.debug_device = true; }},
            {"--device-debug", [](options& o) { o.debug_device = true; }},
            {"-use_fast_math", [](options& o) { o.fast_math = true; }},
            {"--use_fast_math", [](options& o) { o.fast_math = true; }},
            {"-fmad=false", [](options& o) { o.contract = false; }},
            {"--fmad=false", [](options& o) { o.contract = false; }},
            {"-fmad=true", [](options&) {}},
            {"--fmad=true", [](options&) {}},
            {"-rdc=false", [](options&) {}},
            {"--relocatable-device-code=false", [](options&) {}},
        };
        const auto flag = flags.find(argument);
        if (flag == flags.end()) return false;
        flag->second(result_);
        return true;
    }

    bool take_ignored(const std::string& argument) {
        const std::string name = argument.substr(0, argument.find('='));
        auto option = ignored_options.find(argument);
        if (option == ignored_options.end()) option = ignored_options.find(name);
        if (option == ignored_options.end()) return false;
        result_.ignored.push_back(argument);
        if (option->second && argument.find('=') == std::string::npos) value(argument);
        return true;
    }

    bool take_with_value(const std::string& argument) {
        if (argument == "-o" || argument == "--output-file") {
            result_.output = value(argument);
        } else if (starts_with(argument, "-o") && argument.size() > 2 &&
                   !starts_with(argument, "-optf")) {
            result_.output = argument.substr(2);
        } else if (argument == "-x") {
            language_ = language_named(value(argument));
        } else if (argument == "-Xcompiler" || argument == "--compiler-options") {
            append(result_.compile, split_options(value(argument)));
        } else if (starts_with(argument, "-Xcompiler=") ||
                   starts_with(argument, "--compiler-options=")) {
            append(result_.compile, split_options(argument.substr(argument.find('=') + 1)));
        } else if (argument == "-Xlinker" || argument == "--linker-options") {
            for (const std::string& each : split_options(value(argument)))
                append(result_.link, {"-Xlinker", each});
        } else if (argument == "-std" || argument == "--std") {
            set_standard(value(argument));
        } else if (argument == "--default-stream" || argument == "-default-stream") {
            set_default_stream(value(argument));
        } else if (starts_with(argument, "--default-stream=") ||
                   starts_with(argument, "-default-stream=")) {
            set_default_stream(argument.substr(argument.find('=') + 1));
        } else {
            return take_dependencies(argument) || take_of_preprocessor(argument) ||
                   take_of_linker(argument);
        }
        return true;
    }

    /// The headers for device code need C++17.
    void set_standard(const std::string& name) {
        for (const char* const old : {"c++03", "c++11", "c++14"})
            if (name == old) return;
        result_.standard = "-std=" + name;
    }

    void set_default_stream(const std::string& name) {
        if (name != "legacy")
            throw usage_error("hmmcc supports the legacy default stream only, and not " + name +
                              ": pass cudaStreamPerThread");
    }

    /// -M and -MM print; -MD and -MMD write beside the object file.
    bool take_dependencies(const std::string& argument) {
        if (argument == "-M" || argument == "-MM" || argument == "--generate-dependencies") {
            result_.last = stage::dependencies;
            result_.dependencies.push_back(argument == "-MM" ? "-MM" : "-M");
        } else if (argument == "-MD" || argument == "-MMD" || argument == "-MP") {
            result_.dependencies.push_back(argument);
        } else if (argument == "-MF" || argument == "-MT" || argument == "-MQ") {
            append(result_.dependencies, {argument, value(argument)});
        } else {
            return false;
        }
        return true;
    }

    bool take_of_preprocessor(const std::string& argument) {
        static constexpr std::array separate = {"-I",       "-D",      "-U",        "-isystem",
                                                "-include", "-iquote", "-idirafter"};
        if (std::ranges::find(separate, argument) == separate.end()) return false;
        append(result_.compile, {argument, value(argument)});
        return true;
    }

    bool take_of_linker(const std::string& argument) {
        if (std::ranges::find(cuda_libraries, argument) != cuda_libraries.end()) return true;
        if (std::ranges::find(missing_libraries, argument) != missing_libraries.end())
            throw usage_error(argument + ": hmmrt has no such library");
        if (argument == "-l" || argument == "-L") {
            append(result_.link, {argument + value(argument)});
        } else if (starts_with(argument, "-l") || starts_with(argument, "-L") ||
                   starts_with(argument, "-Wl,") || argument == "-shared" ||
                   argument == "-static-libstdc++" || argument == "-rdynamic") {
            result_.link.push_back(argument);
        } else {
            return false;
        }
        return true;
    }

    /// What is left is for clang. It reports what it does not know.
    void take_for_compiler(const std::string& argument) {
        if (starts_with(argument, "-O")) {
            result_.optimization = argument;
        } else if (starts_with(argument, "--optimize=")) {
            result_.optimization = "-O" + argument.substr(argument.find('=') + 1);
        } else if (starts_with(argument, "-march=")) {
            result_.architecture = argument.substr(argument.find('=') + 1);
        } else if (starts_with(argument, "-std=") || starts_with(argument, "--std=")) {
            set_standard(argument.substr(argument.find('=') + 1));
        } else {
            result_.compile.push_back(argument);
        }
    }

    static language language_named(const std::string& name) {
        if (name == "cu" || name == "cuda") return language::cuda;
        if (name == "c++") return language::cpp;
        if (name == "c") return language::c;
        if (name == "none") return language::by_name;
        throw usage_error("-x " + name + ": hmmcc compiles cu, c++ and c");
    }

    void check_output() const {
        if (result_.output.empty() || result_.last == stage::link || result_.inputs.size() == 1)
            return;
        throw usage_error("-o with several files needs a program to link");
    }

    std::string value(const std::string& option) {
        if (at_ + 1 >= arguments_.size()) throw usage_error(option + " needs a value");
        return arguments_[++at_];
    }
    static void append(words& to, const words& from) {
        to.insert(to.end(), from.begin(), from.end());
    }

    const words& arguments_;
    std::size_t at_ = 0;
    language language_ = language::by_name;
    options result_;
};

} // namespace

options parse_options(const words& arguments) {
    return parser(arguments).run();
}

const char* const help_text =
    R"(usage: hmmcc [OPTION...] FILE...

Builds programs from CUDA source for hmmrt. FILE is a .cu, .cpp or .c file, an object file or a
library. Options are nvcc's; what is not listed here goes to clang.

  -o FILE                   the program, or the object file with -c
  -c, -E, -M, -MM           stop after compiling, preprocessing, or with the dependencies
  -x cu|c++|c               language of the files that follow
  -std=c++17|20             C++17 without this, and instead of an older one
  -O0 ... -O3               without this, device code is optimized and host code is not
  -march=NAME               processor for device code, x86-64-v3 without this; native is this one
  -g, -G                    debug information; -G: also device code that is not optimized
  -I, -D, -U, -include      as usual
  -MD, -MMD, -MF, -MT, -MP  dependency files
  -l, -L, -Wl, -Xlinker     for the linker
  -Xcompiler OPTION,...     for the compiler
  -use_fast_math, -fmad=false
  -v, --dry-run             print the commands; --dry-run runs none
  -arch, -gencode, -code, -Xptxas, -maxrregcount, -lineinfo, -ccbin and their like are ignored
)";

} // namespace hmmcc
