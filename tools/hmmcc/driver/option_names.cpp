// SPDX-License-Identifier: MIT
#include "option_names.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace hmmcc {
namespace {

using table = std::map<std::string_view, std::string_view>;

const table short_names = {
    {"--archive-options", "-Xarchive"},
    {"--compile", "-c"},
    {"--compiler-bindir", "-ccbin"},
    {"--compiler-options", "-Xcompiler"},
    {"--cudart", "-cudart"},
    {"--debug", "-g"},
    {"--default-stream", "-default-stream"},
    {"--define-macro", "-D"},
    {"--dependency-output", "-MF"},
    {"--dependency-target-name", "-MT"},
    {"--device-c", "-dc"},
    {"--device-debug", "-G"},
    {"--device-link", "-dlink"},
    {"--device-w", "-dw"},
    {"--diag-error", "-diag-error"},
    {"--diag-suppress", "-diag-suppress"},
    {"--diag-warn", "-diag-warn"},
    {"--disable-warnings", "-w"},
    {"--dlink-time-opt", "-dlto"},
    {"--dry-run", "-dryrun"},
    {"--dryrun", "-dryrun"},
    {"--extended-lambda", "-extended-lambda"},
    {"--fmad", "-fmad"},
    {"--ftz", "-ftz"},
    {"--generate-code", "-gencode"},
    {"--generate-dependencies", "-M"},
    {"--generate-dependencies-with-compile", "-MD"},
    {"--generate-dependency-targets", "-MP"},
    {"--generate-line-info", "-lineinfo"},
    {"--generate-nonsystem-dependencies", "-MM"},
    {"--generate-nonsystem-dependencies-with-compile", "-MMD"},
    {"--gpu-architecture", "-arch"},
    {"--gpu-code", "-code"},
    {"--help", "-h"},
    {"--include-path", "-I"},
    {"--keep", "-keep"},
    {"--keep-dir", "-keep-dir"},
    {"--lib", "-lib"},
    {"--library", "-l"},
    {"--library-path", "-L"},
    {"--link", "-link"},
    {"--linker-options", "-Xlinker"},
    {"--machine", "-m"},
    {"--maxrregcount", "-maxrregcount"},
    {"--nvlink-options", "-Xnvlink"},
    {"--optimize", "-O"},
    {"--options-file", "-optf"},
    {"--output-file", "-o"},
    {"--pre-include", "-include"},
    {"--prec-div", "-prec-div"},
    {"--prec-sqrt", "-prec-sqrt"},
    {"--preprocess", "-E"},
    {"--profile", "-pg"},
    {"--ptx", "-ptx"},
    {"--ptxas-options", "-Xptxas"},
    {"--relocatable-device-code", "-rdc"},
    {"--resource-usage", "-res-usage"},
    {"--restrict", "-restrict"},
    {"--run", "-run"},
    {"--save-temps", "-save-temps"},
    {"--shared", "-shared"},
    {"--source-in-ptx", "-src-in-ptx"},
    {"--std", "-std"},
    {"--system-include", "-isystem"},
    {"--threads", "-t"},
    {"--time", "-time"},
    {"--undefine-macro", "-U"},
    {"--use_fast_math", "-use_fast_math"},
    {"--verbose", "-v"},
    {"--version", "-V"},
    {"--Werror", "-Werror"},
    {"--x", "-x"},
};

constexpr std::array<std::string_view, 21> ignored_with_value = {
    "--offload-arch", "--cuda-path", "--amdgpu-target",
    "-arch",          "-code",       "-gencode",
    "-maxrregcount",  "-Xptxas",     "-Xnvlink",
    "-Xarchive",      "-ccbin",      "-t",
    "-Werror",        "-diag-error", "-ftz",
    "-diag-warn",     "-keep-dir",   "-prec-div",
    "-diag-suppress", "-prec-sqrt",  "-time"};

constexpr std::array<std::string_view, 20> ignored_flags = {"-objdir-as-tempdir",
                                                            "--objdir-as-tempdir",
                                                            "-lineinfo",
                                                            "--expt-relaxed-constexpr",
                                                            "-expt-relaxed-constexpr",
                                                            "--expt-extended-lambda",
                                                            "-expt-extended-lambda",
                                                            "-extended-lambda",
                                                            "-m64",
                                                            "-Wno-deprecated-gpu-targets",
                                                            "--Wno-deprecated-gpu-targets",
                                                            "-res-usage",
                                                            "-forward-unknown-to-host-compiler",
                                                            "--forward-unknown-to-host-compiler",
                                                            "--forward-unknown-to-host-linker",
                                                            "-keep",
                                                            "-save-temps",
                                                            "-link",
                                                            "-restrict",
                                                            "-src-in-ptx"};

constexpr std::string_view device_linking =
    "hmmcc cannot link device code of several files (relocatable device code): define shared "
    "device functions in headers";
constexpr std::string_view only_objects =
    "hmmcc only writes object code, in which it merges host and device code";
constexpr std::string_view only_native = "hmmcc only generates x86-64 code";

const table refused_options = {
    {"-dc", device_linking},
    {"-dw", device_linking},
    {"-dlink", device_linking},
    {"-dlto", device_linking},
    {"-ptx", "hmmcc generates x86-64 code, not PTX"},
    {"-cubin", "hmmcc generates x86-64 code, not a cubin"},
    {"-fatbin", "hmmcc generates x86-64 code, not a fatbin"},
    {"-fgpu-rdc", device_linking},
    {"-S", only_objects},
    {"-emit-llvm", only_objects},
    {"-fsyntax-only", only_objects},
    {"-m32", only_native},
    {"-lib", "hmmcc does not create archives: use -c and ar"},
    {"-run", "hmmcc does not run programs"},
};

constexpr std::array<std::string_view, 9> compiler_with_value = {
    "-Xclang", "-mllvm", "-Xpreprocessor", "-Xassembler", "--param",
    "-target", "-B",     "-imacros",       "-isysroot"};
constexpr std::array<std::string_view, 4> linker_with_value = {"-z", "-T", "-u", "-e"};

constexpr std::array<std::string_view, 6> own_libraries = {"cudart", "cudart_static", "cudadevrt",
                                                           "cuda",   "culibos",       "amdhip64"};
constexpr std::array<std::string_view, 8> missing_libraries = {
    "cublas", "cublasLt", "cufft", "curand", "cusparse", "cusolver", "nvrtc", "cudnn"};

bool is_one_of(const auto& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
}

} // namespace

std::string short_name(const std::string& name) {
    const auto found = short_names.find(name);
    return found == short_names.end() ? name : std::string(found->second);
}

ignored is_ignored(const std::string& name) {
    if (is_one_of(ignored_flags, name)) return ignored::flag;
    return is_one_of(ignored_with_value, name) ? ignored::with_value : ignored::no;
}

std::string_view refusal_of(const std::string& option) {
    if (option == "-rdc=true") return device_linking;
    if (option.starts_with("-flto")) return only_objects;
    if (option.starts_with("-odir") || option.starts_with("--output-directory"))
        return "hmmcc writes object files to the path given by -o, or to the current directory";
    const auto found = refused_options.find(option);
    return found == refused_options.end() ? std::string_view() : found->second;
}

bool is_compiler_option_with_value(const std::string& name) {
    return is_one_of(compiler_with_value, name);
}

bool is_linker_option_with_value(const std::string& name) {
    return is_one_of(linker_with_value, name);
}

bool is_linker_option(const std::string& option) {
    static constexpr std::array<std::string_view, 5> names = {
        "-shared", "-rdynamic", "-static-libstdc++", "-static-libgcc", "-s"};
    return option.starts_with("-Wl,") || option.starts_with("-l") || option.starts_with("-L") ||
           is_one_of(names, option);
}

bool is_own_library(const std::string& name) {
    return is_one_of(own_libraries, name);
}

bool is_missing_library(const std::string& name) {
    return is_one_of(missing_libraries, name);
}

} // namespace hmmcc
