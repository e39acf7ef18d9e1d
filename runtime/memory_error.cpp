// SPDX-License-Identifier: MIT
#include "memory_error.hpp"

#include "failure.hpp"

#include <cerrno>

namespace hmmrt {
namespace {

struct meaning {
    int error;
    hmmError_t code;
    const char* text;
};

constexpr meaning meanings[] = {
    {EFAULT, hmmErrorInvalidValue, "part of the range is not mapped"},
    {EINVAL, hmmErrorInvalidValue, "no such place: a device that was reset, a node not online"},
    {EOVERFLOW, hmmErrorInvalidValue, "the range leaves the address space"},
    {ENOMEM, hmmErrorMemoryAllocation, "out of memory"},
    {ENODEV, hmmErrorInvalidDevice, "the device was removed"},
    {EOPNOTSUPP, hmmErrorNotSupported, "the loaded modules cannot do that"},
    {ENOTTY, hmmErrorInsufficientDriver, "the loaded modules do not know this call"},
};

} // namespace

void throw_memory_error(const char* operation, int error) {
    const int number = error < 0 ? -error : error;
    for (const meaning& each : meanings)
        if (each.error == number)
            throw failure(each.code, describe_errno(operation, number) + "; " + each.text);
    throw failure(hmmErrorUnknown, describe_errno(operation, number));
}

void check_policy_call(const char* operation, int result) {
    if (result == -EPERM)
        throw failure(hmmErrorNotPermitted,
                      describe_errno(operation, EPERM) + "; that needs CAP_SYS_ADMIN");
    if (result == -EBADF)
        throw failure(hmmErrorInvalidValue,
                      describe_errno(operation, EBADF) +
                          "; not the folder of a cgroup of the second version");
    check_memory_call(operation, result);
}

} // namespace hmmrt
