// SPDX-License-Identifier: MIT
// Exits with 0 if no device holds a page of any process. Frees can be deferred,
// so it waits up to five seconds before it prints the devices in use and exits
// with 1.
#include <linux/hmmrt.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

/// Returns a line for each device in use.
std::string busy_devices(int manager) {
    std::string busy;
    for (unsigned id = 0; id < HMMRT_MAX_DEVICES; id++) {
        hmmrt_device_info info = {};
        info.size = sizeof(info);
        info.device_id = id;
        if (ioctl(manager, HMMRT_IOC_DEVICE_INFO, &info) != 0) {
            if (errno == ENODEV) continue;
            return std::string("device information: ") + std::strerror(errno) + "\n";
        }
        if (info.out_used_bytes == 0) continue;
        busy += std::string(reinterpret_cast<const char*>(info.out_name)) + ": " +
                std::to_string(info.out_used_bytes) + " bytes in use\n";
    }
    return busy;
}

} // namespace

int main() {
    constexpr int attempts = 50, pause_microseconds = 100000;
    const int manager = open("/dev/hmmrt", O_RDWR | O_CLOEXEC);
    if (manager < 0) {
        std::perror("/dev/hmmrt");
        return 1;
    }
    std::string busy;
    for (int i = 0; i < attempts; i++) {
        busy = busy_devices(manager);
        if (busy.empty()) return 0;
        usleep(pause_microseconds);
    }
    std::fputs(busy.c_str(), stderr);
    return 1;
}
