// SPDX-License-Identifier: MIT
// The meanings of error codes: names and descriptions of the interface's, and
// the interface's code for each errno of a memory operation.
#include "base/failure.hpp"

#include <cerrno>

namespace {

struct error_text {
    hmmError_t code;
    const char* name;
    const char* sentence;
};

#define HMMRT_ERROR(code, sentence)                                                                \
    { code, #code, sentence }

constexpr error_text error_texts[] = {
    HMMRT_ERROR(hmmSuccess, "no error"),
    HMMRT_ERROR(hmmErrorInvalidValue, "an argument is out of range or NULL"),
    HMMRT_ERROR(hmmErrorMemoryAllocation, "not enough memory"),
    HMMRT_ERROR(hmmErrorInitializationError, "the device could not be started"),
    HMMRT_ERROR(hmmErrorInvalidConfiguration,
                "a dimension of the grid is 0, or the grid has 2^64 threads or more"),
    HMMRT_ERROR(hmmErrorInvalidPitchValue, "the pitch is less than the width of a row"),
    HMMRT_ERROR(hmmErrorInvalidMemcpyDirection, "unknown copy kind"),
    HMMRT_ERROR(hmmErrorInsufficientDriver,
                "the loaded hmmrt modules and this library have different interface versions"),
    HMMRT_ERROR(hmmErrorDevicesUnavailable,
                "the device is busy, or this user is not allowed to open it (/dev/hmmrt*)"),
    HMMRT_ERROR(hmmErrorInvalidDeviceFunction, "the kernel function is NULL"),
    HMMRT_ERROR(hmmErrorNoDevice,
                "no device: load the modules (modprobe hmmrt_simgpu), run the program in a guest "
                "that has them (tools/vm run -- PROGRAM), or set HMMRT_DEVICE=cpu"),
    HMMRT_ERROR(hmmErrorInvalidDevice, "no device with this number"),
    HMMRT_ERROR(hmmErrorNoKernelImageForDevice, "the device cannot execute the kernel"),
    HMMRT_ERROR(hmmErrorECCUncorrectable, "uncorrectable error in device memory"),
    HMMRT_ERROR(hmmErrorUnsupportedLimit, "the device does not support this limit"),
    HMMRT_ERROR(hmmErrorDeviceAlreadyInUse, "the device is in use by another thread"),
    HMMRT_ERROR(hmmErrorPeerAccessUnsupported,
                "the device cannot access memory of the other device"),
    HMMRT_ERROR(hmmErrorOperatingSystem, "a system call failed"),
    HMMRT_ERROR(hmmErrorInvalidResourceHandle,
                "the stream, event or pool does not exist, or belongs to another device"),
    HMMRT_ERROR(hmmErrorIllegalState,
                "the resource is in a state that does not allow the operation"),
    HMMRT_ERROR(hmmErrorSymbolNotFound, "symbol not found"),
    HMMRT_ERROR(hmmErrorNotReady, "the work has not finished yet"),
    HMMRT_ERROR(hmmErrorIllegalAddress,
                "a kernel accessed memory that is not mapped or does not allow this access; locks "
                "that it held, including malloc's, stay locked"),
    HMMRT_ERROR(hmmErrorLaunchOutOfResources,
                "the launch needs more resources than the device has"),
    HMMRT_ERROR(hmmErrorLaunchTimeout, "a kernel ran for too long"),
    HMMRT_ERROR(hmmErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    HMMRT_ERROR(hmmErrorPeerAccessNotEnabled, "peer access is not enabled"),
    HMMRT_ERROR(hmmErrorSetOnActiveProcess, "the device is already in use"),
    HMMRT_ERROR(hmmErrorContextIsDestroyed, "the device's context was destroyed"),
    HMMRT_ERROR(hmmErrorAssert,
                "a kernel aborted or raised a fatal signal; locks that it held stay locked"),
    HMMRT_ERROR(hmmErrorTooManyPeers, "the device already has the maximum number of peers"),
    HMMRT_ERROR(hmmErrorHostMemoryAlreadyRegistered, "part of the memory is already registered"),
    HMMRT_ERROR(hmmErrorHostMemoryNotRegistered, "no registered memory starts at this address"),
    HMMRT_ERROR(hmmErrorHardwareStackError, "a kernel's stack is corrupted"),
    HMMRT_ERROR(hmmErrorIllegalInstruction, "a kernel executed an illegal instruction"),
    HMMRT_ERROR(hmmErrorMisalignedAddress, "a kernel made a misaligned memory access"),
    HMMRT_ERROR(hmmErrorInvalidAddressSpace,
                "a kernel accessed memory of a type that the instruction does not support"),
    HMMRT_ERROR(hmmErrorInvalidPc, "a kernel jumped to an address without code"),
    HMMRT_ERROR(hmmErrorLaunchFailure, "a kernel was terminated by a fault"),
    HMMRT_ERROR(hmmErrorCooperativeLaunchTooLarge,
                "the blocks do not all fit on the device at the same time"),
    HMMRT_ERROR(hmmErrorNotPermitted,
                "the operation is not permitted, or not allowed in a host function"),
    HMMRT_ERROR(hmmErrorNotSupported,
                "the operation is not supported, or not supported in a kernel"),
    HMMRT_ERROR(hmmErrorSystemNotReady, "the system is not ready for devices"),
    HMMRT_ERROR(hmmErrorSystemDriverMismatch, "the modules and the library do not match"),
    HMMRT_ERROR(hmmErrorUnknown, "unknown error"),
    HMMRT_ERROR(hmmErrorSystemCall,
                "a kernel made a system call that is not allowed in device code"),
    HMMRT_ERROR(hmmErrorDeviceLost, "the process that executes device code has exited"),
    HMMRT_ERROR(hmmErrorForkedProcess, "a child of fork() cannot use its parent's devices: use "
                                       "them in the parent, or call exec() in the child"),
};

#undef HMMRT_ERROR

const error_text* find(hmmError_t code) {
    for (const error_text& text : error_texts)
        if (text.code == code) return &text;
    return nullptr;
}

} // namespace

const char* hmmGetErrorName(hmmError_t error) {
    const error_text* text = find(error);
    return text != nullptr ? text->name : "unrecognized error code";
}

const char* hmmGetErrorString(hmmError_t error) {
    const error_text* text = find(error);
    return text != nullptr ? text->sentence : "unrecognized error code";
}

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
