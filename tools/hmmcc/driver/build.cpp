// SPDX-License-Identifier: MIT
/*
 * We compile a CUDA file twice, for the host and for the device, although both are
 * the same processor. Then we merge the two object files, and make the symbols of
 * the device half local.
 */
#include "build.hpp"

#include "lib/files.hpp"
#include "lib/spawn.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <set>
#include <sstream>
#include <system_error>

namespace hmmcc {
namespace {

constexpr const char* default_architecture = "x86-64-v3";

/// Without a CUDA version, clang emits launches in the style of CUDA before 9.2. All supported
/// versions of clang know this version.
constexpr const char* cuda_version = "11.0";

language language_of(const input_file& input) {
    if (input.kind != language::by_name) return input.kind;
    const std::string extension = std::filesystem::path(input.path).extension();
    if (extension == ".cu") return language::cuda;
    if (extension == ".hip") return language::hip;
    if (extension == ".c") return language::c;
    for (const char* const each : {".cpp", ".cc", ".cxx", ".C", ".c++"})
        if (extension == each) return language::cpp;
    return language::by_name;
}

void append(words& to, const words& from) {
    to.insert(to.end(), from.begin(), from.end());
}

/// The command, quoted for a shell.
std::string quoted(const words& command) {
    std::string line;
    for (const std::string& word : command) {
        if (!line.empty()) line += ' ';
        const bool plain =
            word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-+=./,:@%") == std::string::npos;
        if (plain && !word.empty()) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word)
            line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

class builder {
  public:
    builder(const options& wanted, const tool_paths& paths) : wanted_(wanted), paths_(paths) {}

    int run() {
        take_toolkits();
        if (!has_files()) return 1;
        words objects; // in the order of wanted_.inputs
        for (const input_file& input : wanted_.inputs) {
            const language kind = language_of(input);
            std::string object = input.path;
            if (kind != language::by_name) {
                object = object_name(input, objects.size());
                const int status = kind == language::cuda || kind == language::hip
                                       ? compile_cuda(input, object)
                                       : compile_host(input, object);
                if (status != 0) return status;
            }
            objects.push_back(object);
        }
        return wanted_.last == stage::link ? link(objects) : 0;
    }

  private:
    /// Checks the sources and the folders of outputs, before we compile anything.
    bool has_files() const {
        bool found = true;
        const auto want = [&found](bool good, const std::string& path, const char* what) {
            if (!good) std::cerr << "hmmcc: error: " << path << ": " << what << '\n';
            found = found && good;
        };
        for (const input_file& input : wanted_.inputs) {
            const language kind = language_of(input);
            const bool device = kind == language::cuda || kind == language::hip;
            const bool standard_input = input.path == "-";
            want(!standard_input || !device, input.path,
                 "cannot read device code from standard input, because hmmcc reads it twice");
            want(standard_input || std::filesystem::exists(input.path), input.path, "no such file");
            want(!std::filesystem::is_directory(input.path), input.path, "is a directory");
            want(wanted_.last == stage::link || kind != language::by_name, input.path,
                 "unknown file type; set the language with -x");
        }
        for (const std::string& path : {wanted_.output, wanted_.dependency_file}) {
            want(!std::filesystem::is_directory(path), path, "cannot write to a directory");
            const std::filesystem::path folder = std::filesystem::path(path).parent_path();
            want(folder.empty() || std::filesystem::is_directory(folder), path,
                 "its directory does not exist");
        }
        return found;
    }
    std::string object_name(const input_file& input, std::size_t number) const {
        const std::filesystem::path source(input.path);
        if (wanted_.last != stage::link)
            return wanted_.output.empty() ? source.stem().string() + ".o" : wanted_.output;
        return folder_.file(std::to_string(number) + "-" + source.stem().string() + ".o");
    }
    const std::string& architecture() const {
        static const std::string standard = default_architecture;
        return wanted_.architecture.empty() ? standard : wanted_.architecture;
    }

    // ---- toolkits ----------------------------------------------------------

    /// True if the folder has headers of CUDA or HIP. Ours must come before these.
    static bool is_toolkit(const std::filesystem::path& folder) {
        std::error_code ignored;
        return std::filesystem::exists(folder / "cuda_runtime_api.h", ignored) ||
               std::filesystem::exists(folder / "hip/hip_runtime_api.h", ignored);
    }
    /// Names a folder that isn't a CUDA toolkit, so that clang doesn't search for an installed one.
    std::string without_toolkit() const { return "--cuda-path=" + paths_.cuda_headers; }
    /// Moves toolkits from CPATH to toolkits_, because clang treats CPATH like -I.
    void take_toolkits() {
        const char* const value = std::getenv("CPATH");
        if (value == nullptr) return;
        std::istringstream folders(value);
        std::string others;
        for (std::string folder; std::getline(folders, folder, ':');) {
            if (is_toolkit(folder)) {
                append(toolkits_, {"-isystem", folder.empty() ? "." : folder});
                continue;
            }
            others += (others.empty() ? "" : ":") + (folder.empty() ? "." : folder);
        }
        if (toolkits_.empty()) return;
        others.empty() ? unsetenv("CPATH") : setenv("CPATH", others.c_str(), 1);
    }
    /// Turns -I options for toolkits into -isystem, so that our headers come first.
    words with_toolkits_behind(const words& compile) const {
        words result;
        for (std::size_t i = 0; i < compile.size(); i++) {
            const std::string& word = compile[i];
            const bool apart = (word == "-I" || word == "-iquote") && i + 1 < compile.size();
            const bool joined = word.starts_with("-I") && word.size() > 2;
            const std::string folder = apart ? compile[i + 1] : joined ? word.substr(2) : "";
            if ((apart || joined) && is_toolkit(folder)) {
                append(result, {"-isystem", folder});
                i += apart ? 1 : 0;
            } else {
                result.push_back(word);
            }
        }
        return result;
    }

    // ---- commands ----------------------------------------------------------

    void show(const words& command) const {
        if (wanted_.verbose || wanted_.dry_run) std::cerr << quoted(command) << '\n';
    }
    int run_command(const words& command) const {
        show(command);
        return wanted_.dry_run ? 0 : tools::wait_for(tools::start(command));
    }

    /// The command for C and C++ files, and the common start for both halves of a CUDA file.
    words compiler() const {
        words command = {paths_.clang, "-isystem", paths_.cuda_headers};
        append(command, with_toolkits_behind(wanted_.compile));
        append(command, toolkits_);
        return command;
    }
    words compiler_for_cuda(const input_file& input) const {
        words command = compiler();
        if (language_of(input) == language::hip)
            append(command, {"-D__HIPCC__", "-D__HIP_PLATFORM_NVIDIA__"});
        append(command, {"-x",
                         "cuda",
                         "--cuda-host-only",
                         without_toolkit(),
                         "-nocudainc",
                         "-nocudalib",
                         "-nobuiltininc",
                         "-idirafter",
                         paths_.clang_headers,
                         "-Xclang",
                         std::string("-target-sdk-version=") + cuda_version,
                         "-Xclang",
                         "-aux-triple",
                         "-Xclang",
                         "x86_64-pc-linux-gnu",
                         "-Xclang",
                         "-fcuda-allow-variadic-functions",
                         "-include",
                         "cuda_runtime.h",
                         "-fplugin=" + paths_.plugin,
                         "-fpass-plugin=" + paths_.plugin,
                         "-Xclang",
                         "-plugin-arg-hmmcc",
                         "-Xclang",
                         paths_.cuda_headers,
                         "-fno-addrsig",
                         wanted_.standard});
        return command;
    }

    /// Writes the file that clang embeds as the device binary: the name of the architecture.
    std::string write_binary() const {
        std::string file = folder_.file("processor");
        std::ofstream(file) << architecture() << '\0';
        return file;
    }

    words host_command(const input_file& input) const {
        words command = compiler_for_cuda(input);
        append(command, {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", write_binary()});
        if (!wanted_.optimization.empty()) command.push_back(wanted_.optimization);
        if (wanted_.debug || wanted_.debug_device) command.push_back("-g");
        command.push_back(input.path);
        return command;
    }
    words device_command(const input_file& input) const {
        const std::string optimization =
            wanted_.debug_device ? "-O0"
                                 : (wanted_.optimization.empty() ? "-O3" : wanted_.optimization);
        words command = compiler_for_cuda(input);
        append(command, {"-Xclang", "-fcuda-is-device", "-D__CUDA_ARCH__=900", "-w",
                         "-march=" + architecture(), optimization, "-fno-math-errno",
                         wanted_.contract ? "-ffp-contract=fast" : "-ffp-contract=off",
                         wanted_.debug || wanted_.debug_device ? "-g" : "-gline-tables-only"});
        if (wanted_.fast_math) command.push_back("-ffast-math");
        // As with nvcc, only instrument host code.
        append(command, {"-fno-sanitize=all", "-fno-profile-arcs", "-fno-test-coverage",
                         "-fno-profile-instr-generate", "-fno-coverage-mapping"});
        // Headers forbid contraction with a pragma, in __fadd_rn() and the like. Clang's driver
        // doesn't accept this value, so pass it to cc1.
        if (wanted_.contract) append(command, {"-Xclang", "-ffp-contract=fast-honor-pragmas"});
        // It would conclude from independent threads that a thread's own accesses are independent.
        append(command, {"-mllvm", "-enable-interleaved-mem-accesses=false"});
        // Our passes make a loop for each condition themselves, and rows of threads are short.
        // These LLVM passes would take half of the compile time and produce no faster code.
        append(command, {"-mllvm", "-unswitch-threshold=0", "-mllvm", "-disable-lsr", "-mllvm",
                         "-enable-epilogue-vectorization=false"});
        command.push_back(input.path);
        return command;
    }

    // ---- steps -------------------------------------------------------------

    int compile_cuda(const input_file& input, const std::string& object) {
        if (wanted_.last == stage::preprocess || wanted_.last == stage::dependencies)
            return preprocess(host_command(input), object);
        const std::string host = folder_.file("host.o");
        const std::string device = folder_.file("device.o");
        words for_host = host_command(input);
        append(for_host, {"-c", "-o", host});
        append(for_host, dependency_options(input, object));
        words for_device = device_command(input);
        append(for_device, {"-c", "-o", device});
        if (const int status = run_halves(for_host, for_device)) return status;
        if (const int status = run_command({"ld", "-r", "-o", object, host, device})) return status;
        if (const int status =
                run_command({"objcopy", "--wildcard", "--localize-symbol=__hmm_device.*", object}))
            return status;
        return write_dependencies(input, object);
    }

    /// Compiles both halves in parallel. If the host half fails, only prints its errors.
    int run_halves(const words& host, const words& device) const {
        show(host);
        show(device);
        if (wanted_.dry_run) return 0;
        const std::string errors = folder_.file("device.errors");
        const tools::descriptor to(
            open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (to.get() < 0) throw std::system_error(errno, std::generic_category(), errors);
        const pid_t device_process = tools::start(device, {.err = to.get()});
        const int host_status = tools::wait_for(tools::start(host));
        const int device_status = tools::wait_for(device_process);
        if (host_status != 0) return host_status;
        std::ifstream text(errors);
        if (text.peek() != std::ifstream::traits_type::eof()) std::cerr << text.rdbuf();
        return device_status;
    }

    int preprocess(words command, const std::string& object) const {
        append(command, wanted_.dependencies);
        if (!wanted_.dependency_file.empty()) append(command, {"-MF", wanted_.dependency_file});
        if (wanted_.last == stage::preprocess) command.push_back("-E");
        if (!wanted_.output.empty()) append(command, {"-o", object});
        return run_command(command);
    }

    /// Has clang write dependencies to a temporary file.
    words dependency_options(const input_file& input, const std::string& object) const {
        if (!wanted_.writes_dependencies()) return {};
        words result = wanted_.dependencies;
        append(result, {"-MF", folder_.file("dependencies")});
        if (!wanted_.dependency_target) append(result, {"-MT", dependency_place(input, object)});
        return result;
    }
    /// The target in the dependency file: the output, or the object file that -c would write.
    std::string dependency_place(const input_file& input, const std::string& object) const {
        if (wanted_.last == stage::object) return object;
        if (!wanted_.output.empty()) return wanted_.output;
        return std::filesystem::path(input.path).stem().string() + ".o";
    }
    /// Writes the dependency file. Several sources may append to the same file.
    int write_dependencies(const input_file& input, const std::string& object) {
        if (!wanted_.writes_dependencies() || wanted_.dry_run) return 0;
        const std::string name = !wanted_.dependency_file.empty()
                                     ? wanted_.dependency_file
                                     : std::filesystem::path(dependency_place(input, object))
                                           .replace_extension(".d")
                                           .string();
        const bool first = dependency_files_.insert(name).second;
        std::ofstream file(name == "-" ? "/dev/stdout" : name,
                           first ? std::ios::trunc : std::ios::app);
        if (file << std::ifstream(folder_.file("dependencies")).rdbuf() && file.flush()) return 0;
        std::cerr << "hmmcc: error: cannot write " << name << '\n';
        return 1;
    }

    int compile_host(const input_file& input, const std::string& object) {
        words command = compiler();
        if (!wanted_.optimization.empty()) command.push_back(wanted_.optimization);
        if (wanted_.debug) command.push_back("-g");
        const bool c = language_of(input) == language::c;
        append(command, {"-x", c ? "c" : "c++"});
        if (!c) command.push_back(wanted_.standard);
        command.push_back(input.path);
        if (wanted_.last == stage::preprocess || wanted_.last == stage::dependencies)
            return preprocess(command, object);
        append(command, {"-c", "-o", object});
        append(command, dependency_options(input, object));
        if (const int status = run_command(command)) return status;
        return write_dependencies(input, object);
    }

    int link(const words& objects) const {
        // The link needs compiler options, too: -fopenmp, -static, -fsanitize=.
        words command = {paths_.clang, "-Qunused-arguments", without_toolkit()};
        append(command, wanted_.compile);
        std::size_t next = 0;
        for (const link_word& word : wanted_.link)
            command.push_back(word.is_input ? objects[next++] : word.text);
        append(command, runtime());
        // Lanes may run the library's code, and the runtime has pointers to its kernels: dlclose()
        // must not unmap it.
        if (makes_library()) command.push_back("-Wl,-z,nodelete");
        append(command, {"-lpthread", "-ldl", "-lm", "-o",
                         wanted_.output.empty() ? "a.out" : wanted_.output});
        return run_command(command);
    }

    bool makes_library() const {
        return std::ranges::any_of(wanted_.link, [](const link_word& word) {
            return !word.is_input && !word.of_linker_only && word.text == "-shared";
        });
    }
    /// hmmrt's libraries. A process must only have one copy: libraries link to the shared one, and
    /// if the program has a copy, it exports the symbols so that its libraries use that.
    words runtime() const {
        runtime_kind kind = wanted_.runtime;
        if (kind == runtime_kind::by_output)
            kind = makes_library() ? runtime_kind::shared : runtime_kind::fixed;
        if (kind == runtime_kind::none) return {};
        if (kind == runtime_kind::shared) {
            words libraries;
            for (const std::string& path :
                 {paths_.shared_cuda_library, paths_.shared_runtime_library})
                append(libraries,
                       {path, "-Wl,-rpath," + std::filesystem::path(path).parent_path().string()});
            return libraries;
        }
        words libraries = {"-Wl,--whole-archive", paths_.cuda_library, paths_.runtime_library,
                           "-Wl,--no-whole-archive"};
        for (const char* const names :
             {"cuda*", "cu[A-Z]*", "__cuda*", "__hmm_*", "hmm*", "hmadvise", "gmem*"})
            libraries.push_back("-Wl,--export-dynamic-symbol=" + std::string(names));
        return libraries;
    }

    const options& wanted_;
    const tool_paths& paths_;
    temporary_folder folder_;
    words toolkits_;                         ///< options for the toolkits in CPATH
    std::set<std::string> dependency_files_; ///< written so far
};

} // namespace

int build(const options& wanted, const tool_paths& paths) {
    return builder(wanted, paths).run();
}

} // namespace hmmcc
