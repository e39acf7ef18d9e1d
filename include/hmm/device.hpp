// SPDX-License-Identifier: MIT
// Devices, and the current device of the calling thread.
#pragma once

#include <hmm/error.hpp>

#include <cstddef>

namespace hmm {

/// Free and total bytes of device memory, for all processes together.
struct device_memory {
    std::size_t free = 0;
    std::size_t total = 0;
};

/// A device number. The device need not exist.
class device {
  public:
    constexpr explicit device(int number) noexcept : number_(number) {}

    [[nodiscard]] constexpr int number() const noexcept { return number_; }
    [[nodiscard]] hmmDeviceProp properties() const {
        hmmDeviceProp result;
        check(hmmGetDeviceProperties(&result, number_), "properties");
        return result;
    }
    [[nodiscard]] int attribute(hmmDeviceAttr which) const {
        int result = 0;
        check(hmmDeviceGetAttribute(&result, which, number_), "attribute");
        return result;
    }
    [[nodiscard]] device_memory memory() const;

    friend constexpr bool operator==(device, device) noexcept = default;

  private:
    int number_;
};

/// Returns the number of devices; throws hmm::error with hmmErrorNoDevice if
/// there is no device.
[[nodiscard]] inline int device_count() {
    int count = 0;
    check(hmmGetDeviceCount(&count), "device_count");
    return count;
}

[[nodiscard]] inline device current_device() {
    int number = 0;
    check(hmmGetDevice(&number), "current_device");
    return device(number);
}

/// Sets the current device of the calling thread.
inline void set_device(device which) {
    check(hmmSetDevice(which.number()), "set_device");
}

/// Makes another device current until the end of the scope.
class [[nodiscard]] scoped_device {
  public:
    explicit scoped_device(device which) : before_(current_device()) { set_device(which); }
    scoped_device(const scoped_device&) = delete;
    scoped_device& operator=(const scoped_device&) = delete;
    ~scoped_device() { hmmSetDevice(before_.number()); }

  private:
    device before_;
};

inline device_memory device::memory() const {
    const scoped_device use(*this);
    device_memory result;
    check(hmmMemGetInfo(&result.free, &result.total), "memory");
    return result;
}

/// Waits for all work of the current device; throws its error if it failed.
inline void synchronize() {
    check(hmmDeviceSynchronize(), "synchronize");
}

inline void synchronize(device which) {
    const scoped_device use(which);
    synchronize();
}

/// As synchronize(), but returns the error.
[[nodiscard]] inline hmmError_t synchronize(std::nothrow_t) noexcept {
    return hmmDeviceSynchronize();
}

/// Ends all work of the current device, clears its error and migrates its pages
/// back to system memory.
inline void reset() {
    check(hmmDeviceReset(), "reset");
}

inline void reset(device which) {
    const scoped_device use(which);
    reset();
}

} // namespace hmm
