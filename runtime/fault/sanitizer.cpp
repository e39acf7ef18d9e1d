// SPDX-License-Identifier: MIT
#include "fault/sanitizer.hpp"

#include <sys/syscall.h>

extern "C" {
/// Only defined by ASan.
[[gnu::weak]] int __asan_report_present();
/// Defined by all sanitizers.
[[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());
}

namespace hmmrt {

bool sanitizer_reports() {
    return __asan_report_present != nullptr && __asan_report_present() != 0;
}

int status_of_sanitizer(const fault_record& fault) {
    const bool exits =
        fault.cause == fault_cause::system_call && fault.system_call == SYS_exit_group;
    if (exits && __sanitizer_set_death_callback != nullptr) return fault.exit_status;
    // It may also end with abort(), or, in strict mode, when its first write()
    // is refused.
    return sanitizer_reports() ? 1 : 0;
}

} // namespace hmmrt
