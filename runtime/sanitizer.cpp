// SPDX-License-Identifier: MIT
#include "sanitizer.hpp"

#include <sys/syscall.h>

extern "C" {
/// ASan only.
[[gnu::weak]] int __asan_report_present();
/// Each sanitizer defines it.
[[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());
}

namespace hmmrt {

bool sanitizer_reports() {
    return __asan_report_present != nullptr && __asan_report_present() != 0;
}

int status_of_sanitizer(const fault_block& fault) {
    const bool exits =
        fault.cause == fault_cause::system_call && fault.system_call == SYS_exit_group;
    if (exits && __sanitizer_set_death_callback != nullptr) return fault.exit_status;
    // It may end by abort(), and in strict mode its first write() is refused.
    return sanitizer_reports() ? 1 : 0;
}

} // namespace hmmrt
