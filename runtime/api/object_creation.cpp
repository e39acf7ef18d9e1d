// SPDX-License-Identifier: MIT
#include "api/object_creation.hpp"

#include "api/interface.hpp"
#include "api/location.hpp"
#include "base/failure.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace hmmrt {
namespace {

[[noreturn]] void refuse(const char* what) {
    throw failure(hmmErrorNotSupported, what);
}

void check_allocation_flags(const hmmMemAllocationProp& properties) {
    const auto& flags = properties.allocFlags;
    require(flags.compressionType <= hmmMemAllocationCompressionGeneric,
            "unknown compression type");
    const auto is_zero = [](unsigned char byte) { return byte == 0; };
    require(std::all_of(std::begin(flags.reserved), std::end(flags.reserved), is_zero),
            "reserved members are not 0");
    if (flags.gpuDirectRDMACapable != 0) refuse("GPUDirect RDMA is not supported");
    if (flags.usage != 0) refuse("allocFlags.usage must be 0");
}

void check_handle_types(const hmmMemAllocationProp& properties) {
    constexpr unsigned known = hmmMemHandleTypePosixFileDescriptor | hmmMemHandleTypeWin32 |
                               hmmMemHandleTypeWin32Kmt | hmmMemHandleTypeFabric;
    const unsigned types = number_of(properties.requestedHandleTypes);
    require((types & ~known) == 0, "unknown handle type");
    if ((types & ~unsigned{hmmMemHandleTypePosixFileDescriptor}) != 0)
        refuse("memory objects can only be exported as file descriptors");
    require(properties.win32HandleMetaData == nullptr, "win32HandleMetaData is not NULL");
}

/// As location_id(), but doesn't start the device.
std::uint32_t location_of(const hmmMemLocation& where) {
    if (where.type == hmmMemLocationTypeDevice) return process::get().device_at(where.id).id();
    return location_id(where);
}

[[noreturn]] void throw_creation_error(int error) {
    if (error == -EMFILE || error == -ENFILE)
        throw failure(hmmErrorOperatingSystem,
                      describe_errno("memory object", error) +
                          "; each memory object needs a file descriptor: see RLIMIT_NOFILE");
    if (error == -EFBIG)
        throw failure(hmmErrorOperatingSystem, describe_file_error("memory object", error));
    if (error == -ENOMEM)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("memory object", error) +
                          "; the location does not have enough memory, or a quota is exceeded");
    if (error == -EPERM)
        throw failure(hmmErrorNotPermitted,
                      describe_errno("memory object", error) +
                          "; pinned system memory counts as locked memory, and RLIMIT_MEMLOCK is " +
                          std::to_string(sys::locked_memory_limit()) + " bytes");
    throw_memory_error("memory object", error);
}

int device_of(const hmmMemLocation& where) {
    return where.type == hmmMemLocationTypeDevice ? where.id : current_device().number();
}

} // namespace

hmmMemAllocationProp checked(const hmmMemAllocationProp* properties) {
    require(properties != nullptr, "prop is NULL");
    require(properties->type == hmmMemAllocationTypePinned ||
                properties->type == hmmMemAllocationTypeManaged,
            "unknown allocation type");
    check_handle_types(*properties);
    check_allocation_flags(*properties);
    hmmMemAllocationProp result = *properties;
    result.allocFlags.compressionType = hmmMemAllocationCompressionNone;
    const std::uint32_t id = location_of(properties->location);
    if (properties->location.type == hmmMemLocationTypeHostNumaCurrent)
        result.location = {hmmMemLocationTypeHostNuma,
                           static_cast<int>(id & HMMRT_LOCATION_MAX_NODE)};
    return result;
}

memory_object create_object(std::size_t bytes, const hmmMemAllocationProp& properties) {
    const int device = device_of(properties.location);
    hmmrt_object_create request = {};
    request.bytes = bytes;
    request.location = location_of(properties.location);
    if (properties.type == hmmMemAllocationTypeManaged) request.flags = HMMRT_OBJECT_MIGRATABLE;
    if (const int error = process::get().where().create_object(request); error < 0)
        throw_creation_error(error);
    const bool charged = properties.type == hmmMemAllocationTypePinned;
    try {
        return {object_file(request.out_fd), bytes, properties, request.location, device, charged};
    } catch (...) {
        if (charged) process::get().where().forget_object(request.location, bytes);
        throw;
    }
}

memory_object import_object(int fd) {
    const int own = sys::duplicate_file(fd);
    require(own != -EBADF, "the descriptor is not open");
    if (own < 0) throw_creation_error(own);
    object_file file(own);
    hmmrt_object_info info = {};
    const int error = process::get().where().get_object_info(own, info);
    require(error != -EINVAL, "the descriptor does not refer to a memory object");
    check_memory_call("memory object", error);
    hmmMemAllocationProp properties = {};
    properties.type = (info.out_flags & HMMRT_OBJECT_MIGRATABLE) != 0 ? hmmMemAllocationTypeManaged
                                                                      : hmmMemAllocationTypePinned;
    properties.requestedHandleTypes = hmmMemHandleTypePosixFileDescriptor;
    properties.location = device_numbers().location(info.out_location);
    if (properties.location.type == hmmMemLocationTypeHost) properties.location.id = 0;
    const int device = device_of(properties.location);
    return {std::move(file), info.out_bytes, properties, info.out_location, device, false};
}

} // namespace hmmrt
