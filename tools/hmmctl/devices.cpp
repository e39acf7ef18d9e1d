// SPDX-License-Identifier: MIT
#include "devices.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>

namespace hmmctl {
namespace {

constexpr const char* node = "/dev/hmmrt";

std::string why_not_open(int error) {
    switch (error) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
        return "hmmrt's modules are not loaded";
    case EACCES:
    case EPERM:
        return "no permission";
    default:
        return std::strerror(error);
    }
}

/// Returns 0 or the errno.
template <class Argument>
int call(int fd, unsigned long request, Argument& argument) {
    argument.size = sizeof(argument);
    return ioctl(fd, request, &argument) < 0 ? errno : 0;
}

/// Reads the kernel's NUL-terminated text.
template <std::size_t size>
std::string text_of(const __u8 (&bytes)[size]) {
    return {bytes, std::find(bytes, bytes + size, 0)};
}

} // namespace

tools::descriptor open_manager() {
    tools::descriptor file(open(node, O_RDWR | O_CLOEXEC));
    if (file.get() < 0)
        throw failure(fmt::format("cannot open {}: {}; run `hmmctl doctor` for advice", node,
                                  why_not_open(errno)));
    return file;
}

hmmrt_info manager::info() const {
    hmmrt_info info = {};
    if (const int error = call(file_.get(), HMMRT_IOC_INFO, info))
        throw failure(fmt::format("HMMRT_IOC_INFO: {}", std::strerror(error)));
    return info;
}

std::optional<hmmrt_device_info> manager::device(std::uint32_t id) const {
    hmmrt_device_info info = {};
    info.device_id = id;
    const int error = call(file_.get(), HMMRT_IOC_DEVICE_INFO, info);
    if (error == ENODEV) return std::nullopt;
    if (error) throw failure(fmt::format("HMMRT_IOC_DEVICE_INFO: {}", std::strerror(error)));
    return info;
}

std::vector<hmmrt_device_info> manager::devices() const {
    std::vector<hmmrt_device_info> found;
    for (std::uint32_t id = 0; id < HMMRT_MAX_DEVICES; id++)
        if (const auto info = device(id)) found.push_back(*info);
    return found;
}

std::vector<hmmrt_knob> manager::knobs(std::uint32_t id) const {
    std::vector<hmmrt_knob> found;
    for (std::uint32_t number = 0;; number++) {
        hmmrt_knob knob = {};
        knob.knob = number;
        knob.operation = HMMRT_KNOB_GET;
        knob.scope = HMMRT_SCOPE_DEVICE;
        knob.device_id = id;
        const int error = call(file_.get(), HMMRT_IOC_KNOB, knob);
        if (error == ENODEV)
            throw failure(fmt::format("device {} was removed while it was being inspected", id));
        // the module may know more or fewer knobs than we do
        if (error == EINVAL && number < HMMRT_KNOBS) continue;
        if (error == EINVAL) return found;
        if (error) throw failure(fmt::format("HMMRT_IOC_KNOB: {}", std::strerror(error)));
        found.push_back(knob);
    }
}

std::string name_of(const hmmrt_device_info& device) {
    return text_of(device.out_name);
}

std::string name_of(const hmmrt_knob& knob) {
    return text_of(knob.out_name);
}

} // namespace hmmctl
