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
    {EINVAL, hmmErrorInvalidValue, "invalid location: the NUMA node is not online"},
    {EOVERFLOW, hmmErrorInvalidValue, "the range exceeds the address space"},
    {ENOMEM, hmmErrorMemoryAllocation, "out of memory"},
    {ENODEV, hmmErrorInvalidDevice, "the device was reset or removed"},
    {EOPNOTSUPP, hmmErrorNotSupported, "the loaded modules do not support this"},
    {ENOTTY, hmmErrorInsufficientDriver, "the loaded modules do not implement this call"},
};

} // namespace

void throw_memory_error(const char* operation, int error) {
    const int number = error < 0 ? -error : error;
    for (const meaning& each : meanings)
        if (each.error == number)
            throw failure(each.code, describe_errno(operation, number) + "; " + each.text);
    throw failure(hmmErrorUnknown, describe_errno(operation, number));
}

void throw_discard_error(int error) {
    if (error == EINVAL)
        throw failure(hmmErrorInvalidValue,
                      describe_errno("discard", error) +
                          "; the memory is locked, or of a type that cannot be discarded");
    throw_memory_error("discard", error == ENOMEM ? EFAULT : error);
}

void check_policy_call(const char* operation, int result) {
    if (result == -EPERM)
        throw failure(hmmErrorNotPermitted,
                      describe_errno(operation, EPERM) + "; this needs CAP_SYS_ADMIN");
    if (result == -EBADF)
        throw failure(hmmErrorInvalidValue,
                      describe_errno(operation, EBADF) + "; not a cgroup v2 directory");
    check_memory_call(operation, result);
}

} // namespace hmmrt
