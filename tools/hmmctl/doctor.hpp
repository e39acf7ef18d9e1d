// SPDX-License-Identifier: MIT
// Checks whether programs can use a device of the modules. facts_of_this_machine() collects the
// facts, and diagnose() evaluates them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hmmctl {

struct device_facts {
    std::string name;
    std::uint64_t memory_bytes = 0, used_bytes = 0;
    int open_error = 0; ///< errno of opening its node, 0 if that worked
};

struct facts {
    std::string architecture, kernel;   ///< as uname() reports them
    std::optional<std::string> options; ///< CONFIG_... lines of the running kernel, if found
    bool manager_loaded = false;        ///< hmmrt.ko
    bool simulator_loaded = false;      ///< hmmrt_simgpu.ko
    int open_error = 0;                 ///< errno of opening /dev/hmmrt, 0 if that worked
    std::string group;                  ///< group that may open it, "" if only root may
    std::uint32_t uapi_version = 0;
    std::vector<device_facts> devices;
    bool has_dispatch = false;     ///< the kernel has syscall user dispatch
    bool dispatch_allowed = false; ///< the administrator allows it
    std::string huge_pages;        ///< mode of transparent huge pages, "" if there are none
    std::string wanted;            ///< HMMRT_DEVICE, "" if unset
    std::string lanes;             ///< HMMRT_LANES, "" if unset
    unsigned processors = 0;
};

enum class verdict { good, note, bad };

struct check {
    std::string name; ///< stable, as programs read it
    verdict result = verdict::good;
    std::string found;
    std::string advice; ///< what to do, "" if nothing
};

struct diagnosis {
    std::vector<check> checks;
    bool transparent_access = false; ///< a new program's device can follow all of its pointers
    bool is_good() const;
};

facts facts_of_this_machine();
diagnosis diagnose(const facts& found);

const char* word_for(verdict result);

} // namespace hmmctl
