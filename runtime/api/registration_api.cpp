// SPDX-License-Identifier: MIT
// The C interface: registered memory, and variables of device code.
#include "api/interface.hpp"
#include "base/memory_range.hpp"

#include <initializer_list>

namespace hmmrt {
namespace {

constexpr unsigned known_flags = hmmHostRegisterPortable | hmmHostRegisterMapped |
                                 hmmHostRegisterIoMemory | hmmHostRegisterReadOnly;

void register_memory(const void* ptr, std::size_t bytes, unsigned flags) {
    require((flags & ~known_flags) == 0, "unknown flags");
    if ((flags & hmmHostRegisterIoMemory) != 0)
        throw failure(hmmErrorNotSupported, "device I/O memory cannot be registered");
    const int device = current_device().number();
    const page_range all = pages_around(ptr, bytes);
    require(!process::get().reserved().is_reserved({all.addr, all.len}),
            "memory objects cannot be registered");
    for (const std::size_t at : {std::size_t{0}, bytes - 1})
        require(!process::get().managed().find(static_cast<const char*>(ptr) + at),
                "the memory was allocated by the library");
    const auto bring_back = [](const page_range& pages) noexcept {
        process::get().where().migrate_back(pages.addr, pages.len);
    };
    // pages that no device can move need no lock
    const bool needed = !process::get().where().shares_page_tables();
    process::get().registered().add(ptr, bytes, flags, device, bring_back, needed);
}

/// Memory of hmmHostAlloc() stays registered until it is freed.
void unregister_memory(void* ptr) {
    require(ptr != nullptr, "memory is NULL");
    require(!process::get().managed().find(ptr), "the memory was allocated by the library");
    process::get().registered().remove(ptr);
}

void register_variable(const void* ptr, std::size_t bytes, bool managed) {
    require(ptr != nullptr, "variable is NULL");
    pages_around(ptr, bytes);
    process::get().variables().add({reinterpret_cast<std::uint64_t>(ptr), bytes, managed});
}

unsigned flags_of(const void* ptr) {
    const auto flags = process::get().registered().flags_of(ptr);
    require(flags.has_value(), "the memory is not registered");
    return *flags | hmmHostRegisterMapped;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmHostRegister(void* ptr, size_t bytes, unsigned int flags) {
    return guarded("hmmHostRegister", [&] { register_memory(ptr, bytes, flags); });
}

hmmError_t hmmHostUnregister(void* ptr) {
    return guarded("hmmHostUnregister", [&] { unregister_memory(ptr); });
}

hmmError_t hmmRegisterVariable(const void* variable, size_t bytes, int managed) {
    return guarded("hmmRegisterVariable",
                   [&] { register_variable(variable, bytes, managed != 0); });
}

hmmError_t hmmHostGetDevicePointer(void** device, void* host, unsigned int flags) {
    return guarded("hmmHostGetDevicePointer", [&] {
        require(device != nullptr, "device is NULL");
        require(flags == 0, "flags are not 0");
        flags_of(host);
        *device = host;
    });
}

hmmError_t hmmHostGetFlags(unsigned int* flags, void* ptr) {
    return guarded("hmmHostGetFlags", [&] {
        require(flags != nullptr, "flags is NULL");
        *flags = flags_of(ptr);
    });
}
