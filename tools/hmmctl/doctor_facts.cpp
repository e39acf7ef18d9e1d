// SPDX-License-Identifier: MIT
#include "devices.hpp"
#include "doctor.hpp"
#include "failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace hmmctl {
namespace {

bool is_there(const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
}

/// Distributions keep the configuration in different places.
std::optional<std::string> options_of(const std::string& kernel) {
    for (const std::string& path :
         {fmt::format("/boot/config-{}", kernel), fmt::format("/lib/modules/{}/config", kernel),
          fmt::format("/lib/modules/{}/build/.config", kernel)})
        if (auto found = tools::read_file(path)) return found;
    return std::nullopt;
}

/// The file lists all modes, with the current one in brackets.
std::string huge_page_mode() {
    const auto modes = tools::read_file("/sys/kernel/mm/transparent_hugepage/enabled");
    const std::size_t first = modes ? modes->find('[') : std::string::npos;
    if (first == std::string::npos) return "";
    const std::size_t last = modes->find(']', first);
    return last == std::string::npos ? "" : modes->substr(first + 1, last - first - 1);
}

/// Turning it off succeeds if the kernel supports it.
bool has_syscall_user_dispatch() {
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) == 0;
}

/// Kernels before 7.3 don't have this setting and always allow it.
bool allows_syscall_user_dispatch() {
    const auto setting = tools::read_file("/proc/sys/kernel/syscall_user_dispatch");
    return !setting || !setting->starts_with('0');
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

unsigned usable_processors() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
    return static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
}

/// Returns the group of a node if udev gave it to one.
std::string group_of(const char* node) {
    struct stat status;
    if (stat(node, &status) != 0 || status.st_gid == 0) return "";
    const group* const found = getgrgid(status.st_gid);
    return found ? found->gr_name : "";
}

void ask_manager(facts& found) {
    const manager modules;
    found.uapi_version = modules.info().out_uapi_version;
    for (const hmmrt_device_info& device : modules.devices()) {
        const std::string name = name_of(device);
        found.devices.push_back({name, device.out_memory_bytes, device.out_used_bytes,
                                 tools::open_error("/dev/" + name)});
    }
}

} // namespace

facts facts_of_this_machine() {
    facts found;
    utsname names = {};
    uname(&names);
    found.architecture = names.machine;
    found.kernel = names.release;
    found.options = options_of(found.kernel);
    found.manager_loaded = is_there("/sys/module/hmmrt");
    found.simulator_loaded = is_there("/sys/module/hmmrt_simgpu");
    found.open_error = tools::open_error("/dev/hmmrt");
    found.group = group_of("/dev/hmmrt");
    try {
        if (found.open_error == 0) ask_manager(found);
    } catch (const failure&) {
        found.open_error = ENODEV; // it opens, but doesn't answer
    }
    found.has_dispatch = has_syscall_user_dispatch();
    found.dispatch_allowed = allows_syscall_user_dispatch();
    found.huge_pages = huge_page_mode();
    found.wanted = variable("HMMRT_DEVICE");
    found.lanes = variable("HMMRT_LANES");
    found.processors = usable_processors();
    return found;
}

} // namespace hmmctl
