// SPDX-License-Identifier: MIT
// One function per command. They return their output instead of printing it.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace hmmctl {

struct output {
    std::string text;  ///< for standard output
    std::string notes; ///< for standard error
    int status = 0;
};

output list_devices(bool as_json);
output show_device(std::uint32_t id, bool as_json);
/// If @interval isn't 0, waits that many seconds to measure fault rates.
output list_processes(double interval, bool as_json);
output show_process(pid_t pid, double interval, bool as_json);
output run_doctor(bool as_json);

} // namespace hmmctl
