// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

// the linker defines these at the start and end of this library
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start, _end;

namespace hmmctl {

constinit thread_local bool inside::busy_ = false;

namespace {

enum class stage { new_process, opening, open, without };

constinit std::atomic<stage> now_at = stage::new_process;
constinit allocation_ring* ring = nullptr;
constinit std::uint64_t ring_slots = 0;
constinit std::size_t least = 0;
// Cached, because getpid() is a system call, and device code may not be allowed to make any.
constinit pid_t own_pid = 0;

struct walk {
    std::uint64_t* frames;
    std::size_t number;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* to) {
    walk& found = *static_cast<walk*>(to);
    int before_instruction = 0;
    const std::uintptr_t next = _Unwind_GetIPInfo(context, &before_instruction);
    if (next == 0) return _URC_END_OF_STACK;
    const std::uintptr_t ip = before_instruction ? next : next - 1;
    const bool own = ip >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) &&
                     ip < reinterpret_cast<std::uintptr_t>(&_end);
    if (own) return _URC_NO_REASON;
    found.frames[found.number++] = ip;
    return found.number == allocation_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool begins(allocation_kind kind) {
    return kind == allocation_kind::allocated || kind == allocation_kind::mapped;
}

void push(const allocation_record& record) {
    std::uint64_t number = ring->head.load(std::memory_order_relaxed);
    do {
        if (number - ring->tail.load(std::memory_order_acquire) >= ring_slots) {
            ring->dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    } while (!ring->head.compare_exchange_weak(number, number + 1, std::memory_order_acq_rel));
    allocation_slot& slot = slot_of(*ring, ring_slots, number);
    slot.record = record;
    slot.written.store(number + 1, std::memory_order_release);
}

void append(allocation_kind kind, std::uint64_t addr, std::size_t bytes) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    allocation_record made;
    made.time = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                static_cast<std::uint64_t>(now.tv_nsec);
    made.addr = addr;
    made.bytes = bytes;
    made.pid = own_pid;
    made.kind = kind;
    if (begins(kind)) {
        walk to = {made.frames, 0};
        _Unwind_Backtrace(take_frame, &to);
    }
    push(made);
}

void after_fork() {
    const pid_t parent = own_pid;
    own_pid = getpid();
    append(allocation_kind::fork, static_cast<std::uint64_t>(parent), 0);
}

/// Maps the file. Doesn't keep the descriptor: the program could close it and reuse its number.
bool map_ring(const char* path) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    struct stat about = {};
    void* at = MAP_FAILED;
    if (fstat(file, &about) == 0 && about.st_size >= static_cast<off_t>(allocation_ring_head))
        at = mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ | PROT_WRITE,
                  MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return false;
    ring = static_cast<allocation_ring*>(at);
    ring_slots = ring->slots;
    if (ring->format == allocation_ring_format &&
        allocation_ring_bytes(ring_slots) == static_cast<std::size_t>(about.st_size))
        return true;
    munmap(at, static_cast<std::size_t>(about.st_size));
    return false;
}

/// Maps the ring if the environment names one. Does nothing yet if the dynamic linker allocates
/// before libc knows the environment.
void begin() {
    stage expected = stage::new_process;
    if (environ == nullptr || !now_at.compare_exchange_strong(expected, stage::opening)) return;
    const int error = errno;
    const char* const path = secure_getenv(allocations_variable);
    if (path != nullptr && map_ring(path)) {
        own_pid = getpid();
        append(allocation_kind::program, 0, 0);
        pthread_atfork(nullptr, nullptr, after_fork);
        least = ring->least_bytes;
        now_at = stage::open;
    } else {
        now_at = stage::without;
    }
    errno = error;
}

} // namespace

bool is_recorded(std::size_t bytes) {
    if (now_at.load(std::memory_order_acquire) == stage::new_process) {
        const inside here;
        if (here.outermost()) begin();
    }
    return now_at.load(std::memory_order_acquire) == stage::open && bytes >= least;
}

void record(allocation_kind kind, const void* addr, std::size_t bytes) {
    const int error = errno;
    append(kind, reinterpret_cast<std::uintptr_t>(addr), bytes);
    errno = error;
}

} // namespace hmmctl
