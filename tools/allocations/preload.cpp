// SPDX-License-Identifier: MIT
// Wraps the allocation functions of libc and libhmmrt in programs into which this library is
// preloaded. Each wrapper calls the next function of its name, and records large allocations.
//
// We record a free before it happens and an allocation after it, so that the records for an address
// are in the right order, whichever threads write them.
#include "recording.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

namespace {

using hmmctl::allocation_kind;
using hmmctl::inside;

struct functions {
    void* (*malloc)(std::size_t);
    void* (*calloc)(std::size_t, std::size_t);
    void* (*realloc)(void*, std::size_t);
    int (*posix_memalign)(void**, std::size_t, std::size_t);
    void* (*aligned_alloc)(std::size_t, std::size_t);
    void* (*memalign)(std::size_t, std::size_t);
    void* (*valloc)(std::size_t);
    void (*free)(void*);
    std::size_t (*usable)(void*);
    void* (*mmap)(void*, std::size_t, int, int, int, off_t);
    int (*munmap)(void*, std::size_t);
    void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
};

constinit functions next = {};
constinit std::atomic<bool> found = false;
constinit thread_local bool finding = false;

template <class Function>
void find(Function& into, const char* name) {
    into = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// Looks up libc's functions. Returns false in a nested call, because dlsym() may allocate.
bool find_next() {
    if (found.load(std::memory_order_acquire)) return true;
    if (finding) return false;
    finding = true;
    find(next.calloc, "calloc");
    find(next.realloc, "realloc");
    find(next.posix_memalign, "posix_memalign");
    find(next.aligned_alloc, "aligned_alloc");
    find(next.memalign, "memalign");
    find(next.valloc, "valloc");
    find(next.free, "free");
    find(next.usable, "malloc_usable_size");
    find(next.mmap, "mmap");
    find(next.munmap, "munmap");
    find(next.mremap, "mremap");
    find(next.malloc, "malloc");
    finding = false;
    found.store(true, std::memory_order_release);
    return true;
}

/// Memory for allocations by dlsym(), which is never reused.
alignas(std::max_align_t) constinit char early[8192] = {};
constinit std::atomic<std::size_t> early_used = 0;

void* early_memory(std::size_t bytes) {
    constexpr std::size_t unit = alignof(std::max_align_t);
    if (bytes > sizeof(early)) return nullptr;
    const std::size_t size = (bytes + unit - 1) / unit * unit;
    const std::size_t at = early_used.fetch_add(size);
    return at + size <= sizeof(early) ? early + at : nullptr;
}

bool is_early(const void* memory) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    const auto first = reinterpret_cast<std::uintptr_t>(early);
    return at >= first && at < first + sizeof(early);
}

void note(allocation_kind kind, const void* memory, std::size_t bytes) {
    if (memory == nullptr || !hmmctl::is_recorded(bytes)) return;
    const inside here;
    if (here.outermost()) hmmctl::record(kind, memory, bytes);
}

void* allocated(void* memory, std::size_t bytes) {
    note(allocation_kind::allocated, memory, bytes);
    return memory;
}

std::size_t size_of(void* memory) {
    return next.usable == nullptr || memory == nullptr ? 0 : next.usable(memory);
}

/// Copies an early allocation, if there is one, to @to: at most @bytes, and not beyond `early`.
void* copied_from_early(void* to, const void* memory, std::size_t bytes) {
    if (to == nullptr || memory == nullptr) return to;
    const auto left =
        static_cast<std::size_t>(early + sizeof(early) - static_cast<const char*>(memory));
    std::memmove(to, memory, bytes < left ? bytes : left);
    return to;
}

void* moved_within_early(const void* memory, std::size_t bytes) {
    return copied_from_early(early_memory(bytes), memory, bytes);
}

void* moved_from_early(const void* memory, std::size_t bytes) {
    return allocated(copied_from_early(next.malloc(bytes), memory, bytes), bytes);
}

/// libhmmrt makes its own system calls to map memory, so we wrap its functions, too. Programs
/// without libhmmrt don't call these.
template <class... Arguments>
int call_runtime(std::atomic<void*>& found_at, const char* name, Arguments... arguments) {
    void* function = found_at.load(std::memory_order_acquire);
    if (function == nullptr) {
        function = dlsym(RTLD_NEXT, name);
        if (function == nullptr) return 999; // hmmErrorUnknown
        found_at.store(function, std::memory_order_release);
    }
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

int allocated_by_runtime(int error, void** memory, std::size_t bytes) {
    if (error == 0) allocated(*memory, bytes);
    return error;
}

/// Only the runtime knows the size, so record each free.
void note_end(const void* memory) {
    note(allocation_kind::freed, memory, SIZE_MAX);
}

struct runtime_functions {
    std::atomic<void*> malloc, managed, host, host_alloc, async, pool, free, free_host, free_async;
};

constinit runtime_functions runtime = {};

} // namespace

#define EXPORT [[gnu::visibility("default")]]

extern "C" {

EXPORT void* malloc(std::size_t bytes) noexcept {
    return find_next() ? allocated(next.malloc(bytes), bytes) : early_memory(bytes);
}

EXPORT void* calloc(std::size_t number, std::size_t each) noexcept {
    return find_next() ? allocated(next.calloc(number, each), number * each)
                       : early_memory(number * each);
}

EXPORT void* realloc(void* memory, std::size_t bytes) noexcept {
    if (!find_next()) return moved_within_early(memory, bytes);
    if (is_early(memory)) return moved_from_early(memory, bytes);
    const std::size_t before = size_of(memory);
    note(allocation_kind::freed, memory, before);
    void* const result = next.realloc(memory, bytes);
    if (result == nullptr && bytes != 0) {
        allocated(memory, before);
        return nullptr;
    }
    return allocated(result, bytes);
}

EXPORT void* reallocarray(void* memory, std::size_t number, std::size_t each) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(number, each, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(memory, bytes);
}

EXPORT int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
    if (!find_next()) return ENOMEM;
    const int error = next.posix_memalign(memory, alignment, bytes);
    if (error == 0) allocated(*memory, bytes);
    return error;
}

EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return find_next() ? allocated(next.aligned_alloc(alignment, bytes), bytes) : nullptr;
}

EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    return find_next() ? allocated(next.memalign(alignment, bytes), bytes) : nullptr;
}

EXPORT void* valloc(std::size_t bytes) noexcept {
    return find_next() ? allocated(next.valloc(bytes), bytes) : nullptr;
}

EXPORT void free(void* memory) noexcept {
    if (memory == nullptr || is_early(memory) || !find_next()) return;
    note(allocation_kind::freed, memory, size_of(memory));
    next.free(memory);
}

EXPORT void* mmap(void* addr, std::size_t bytes, int access, int flags, int file,
                  off_t offset) noexcept {
    find_next();
    void* const result = next.mmap(addr, bytes, access, flags, file, offset);
    if (result != MAP_FAILED) note(allocation_kind::mapped, result, bytes);
    return result;
}

EXPORT void* mmap64(void* addr, std::size_t bytes, int access, int flags, int file,
                    off_t offset) noexcept {
    return mmap(addr, bytes, access, flags, file, offset);
}

EXPORT int munmap(void* addr, std::size_t bytes) noexcept {
    find_next();
    note(allocation_kind::unmapped, addr, bytes);
    return next.munmap(addr, bytes);
}

EXPORT void* mremap(void* addr, std::size_t before, std::size_t bytes, int flags, ...) noexcept {
    std::va_list more;
    va_start(more, flags);
    void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
    va_end(more);
    find_next();
    note(allocation_kind::unmapped, addr, before);
    void* const result = next.mremap(addr, before, bytes, flags, wanted);
    if (result == MAP_FAILED)
        note(allocation_kind::mapped, addr, before);
    else
        note(allocation_kind::mapped, result, bytes);
    return result;
}

EXPORT int hmmMalloc(void** memory, std::size_t bytes) noexcept {
    return allocated_by_runtime(call_runtime(runtime.malloc, "hmmMalloc", memory, bytes), memory,
                                bytes);
}

EXPORT int hmmMallocManaged(void** memory, std::size_t bytes, unsigned flags) noexcept {
    return allocated_by_runtime(
        call_runtime(runtime.managed, "hmmMallocManaged", memory, bytes, flags), memory, bytes);
}

EXPORT int hmmMallocHost(void** memory, std::size_t bytes) noexcept {
    return allocated_by_runtime(call_runtime(runtime.host, "hmmMallocHost", memory, bytes), memory,
                                bytes);
}

EXPORT int hmmHostAlloc(void** memory, std::size_t bytes, unsigned flags) noexcept {
    return allocated_by_runtime(
        call_runtime(runtime.host_alloc, "hmmHostAlloc", memory, bytes, flags), memory, bytes);
}

EXPORT int hmmMallocAsync(void** memory, std::size_t bytes, void* stream) noexcept {
    return allocated_by_runtime(
        call_runtime(runtime.async, "hmmMallocAsync", memory, bytes, stream), memory, bytes);
}

EXPORT int hmmMallocFromPoolAsync(void** memory, std::size_t bytes, void* pool,
                                  void* stream) noexcept {
    return allocated_by_runtime(
        call_runtime(runtime.pool, "hmmMallocFromPoolAsync", memory, bytes, pool, stream), memory,
        bytes);
}

EXPORT int hmmFree(void* memory) noexcept {
    note_end(memory);
    return call_runtime(runtime.free, "hmmFree", memory);
}

EXPORT int hmmFreeHost(void* memory) noexcept {
    note_end(memory);
    return call_runtime(runtime.free_host, "hmmFreeHost", memory);
}

EXPORT int hmmFreeAsync(void* memory, void* stream) noexcept {
    note_end(memory);
    return call_runtime(runtime.free_async, "hmmFreeAsync", memory, stream);
}

} // extern "C"
