// SPDX-License-Identifier: MIT
// Devices, and which one the calling thread uses.
#pragma once

#include <hmm/error.hpp>

#include <cstddef>

namespace hmm {

/// Bytes of a device's memory, for all processes together.
struct device_memory {
    std::size_t free = 0;
    std::size_t total = 0;
};

/// A device by its number; says nothing about whether it exists.
class device {
  public:
    constexpr explicit device(int number) noexcept : number_(number) {}

    constexpr int number() const noexcept { return number_; }
    hmmDeviceProp properties() const {
        hmmDeviceProp result;
        check(hmmGetDeviceProperties(&result, number_), "properties");
        return result;
    }
    int attribute(hmmDeviceAttr which) const {
        int result = 0;
        check(hmmDeviceGetAttribute(&result, which, number_), "attribute");
        return result;
    }
    device_memory memory() const;

    friend constexpr bool operator==(device, device) noexcept = default;

  private:
    int number_;
};

/// Devices there are; throws hmm::error with hmmErrorNoDevice if none.
inline int device_count() {
    int count = 0;
    check(hmmGetDeviceCount(&count), "device_count");
    return count;
}

inline device current_device() {
    int number = 0;
    check(hmmGetDevice(&number), "current_device");
    return device(number);
}

/// For all that the calling thread does from now on.
inline void set_device(device which) {
    check(hmmSetDevice(which.number()), "set_device");
}

/// Uses another device until the end of the scope.
class scoped_device {
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

/// Waits for all work of the current device; throws what went wrong with it.
inline void synchronize() {
    check(hmmDeviceSynchronize(), "synchronize");
}

inline void synchronize(device which) {
    const scoped_device use(which);
    synchronize();
}

/// The same without exceptions.
[[nodiscard]] inline hmmError_t synchronize(std::nothrow_t) noexcept {
    return hmmDeviceSynchronize();
}

/// Ends all work of the current device and forgets its error; its memory comes home.
inline void reset() {
    check(hmmDeviceReset(), "reset");
}

inline void reset(device which) {
    const scoped_device use(which);
    reset();
}

} // namespace hmm
