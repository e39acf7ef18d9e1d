// SPDX-License-Identifier: MIT
/*
 * What the runtime (in the application) and the agent (in its own process)
 * say to each other: a memfd mapped at the same address on both sides.
 *
 * Slot       32 MiB of address space, reserved in the application and never
 *            mirrored: the agent's text, its stacks and this block live there.
 * Queues     rings of entries. Those of one queue run strictly one after the other,
 *            those of different queues side by side. Lanes take pieces of a queue's
 *            entry number `completed` by advancing its cursor.
 * Calls      one per lane: the lane asks, its parked thread in the application
 *            answers (call_state).
 * Futexes    all words waited for are in here: shared futexes on memory of the
 *            mirror do not work, and private ones do not cross processes.
 * Trust      the block is a gate for system calls: a process that can write to it has a
 *            thread of the application make any call with any arguments, and so can do
 *            all that the application can. It is mapped in these two processes only, and
 *            has no descriptor once the agent runs (sys::seal_shared_memory()). Device
 *            code can write to all of it, and may do what the application may. What it
 *            writes there in error ends launches or its device, and does not make the
 *            application crash: that keeps its own copy of what it relies on
 *            (lane count, thread ids, fault, order to quit), and checks what it reads.
 *            A store that sets the count of completed work back makes callers that wait
 *            for that work wait until the device is reset.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmrt {

inline constexpr std::uint64_t page_size = 4096;

inline constexpr std::uint64_t slot_size = 32u << 20;
inline constexpr std::uint64_t slot_image_offset = 0;
inline constexpr std::uint64_t slot_image_size = 256u << 10;
inline constexpr std::uint64_t slot_vdso_offset = 512u << 10; // while moving it
inline constexpr std::uint64_t slot_lanes_offset = 1u << 20;
inline constexpr std::uint64_t slot_control_offset = 24u << 20;

inline constexpr std::uint64_t lane_area_size = 128u << 10;
inline constexpr std::uint32_t max_lanes = 128;
inline constexpr std::uint32_t ring_entries = 256; // of one queue
inline constexpr std::uint32_t queue_count = 16;
inline constexpr std::uint32_t max_special_maps = 6;

inline constexpr std::uint64_t user_space_begin = 0x10000;
inline constexpr std::uint64_t user_space_end = 0x7ffffffff000;

inline constexpr std::uint32_t control_magic = 0x686d6d72;
inline constexpr std::uint32_t control_version = 3;

// Descriptors of the agent; it has no others.
inline constexpr int agent_control_fd = 3; // closed when the block is mapped
inline constexpr int agent_gpu_fd = 4;

/// Sent between threads of the agent: stop running device code.
inline constexpr int agent_stop_signal = 40;

using futex_word = std::atomic<std::uint32_t>;

enum class agent_state : std::uint32_t { starting = 0, ready, failed };

/// Where starting up failed; with control::boot_errno.
enum class boot_step : std::uint32_t {
    none = 0,
    exec,
    control,
    reserve_slot,
    copy_image,
    privileges,
    attach,
    move_vdso,
    map_device,
    signals,
    lanes,
    dispatch,
    seccomp,
};

/// A mapping made by the kernel that has to be at the same place in the agent.
struct special_map {
    std::uint64_t begin;
    std::uint64_t end;
};

/*
 * Queue 0 is the legacy default stream's alone. Other streams share what is left, each
 * kind for itself: work that waits for the legacy stream never stands before work that
 * does not, and high priority never behind low.
 */
struct queue_group {
    std::uint32_t first;
    std::uint32_t count;

    constexpr std::uint32_t mask() const { return ((1u << count) - 1) << first; }
};
inline constexpr std::uint32_t legacy_queue = 0;
inline constexpr queue_group blocking_low = {1, 6};
inline constexpr queue_group apart_low = {7, 5};
inline constexpr queue_group blocking_high = {12, 2};
inline constexpr queue_group apart_high = {14, 2};
inline constexpr std::uint32_t high_queues = blocking_high.mask() | apart_high.mask();
inline constexpr std::uint32_t blocking_queues = blocking_low.mask() | blocking_high.mask();
static_assert(apart_high.first + apart_high.count == queue_count);

enum class entry_kind : std::uint32_t {
    range = 0,
    serial, ///< a range that one lane at a time works on
    prefetch,
    advice,
    discard,
    marker, ///< does nothing, but takes its place
    stamp,  ///< a marker that takes the time
    gate,   ///< a marker that the application opens
};

struct range_work {
    std::uint64_t function; ///< void (*)(void *closure, u64 begin, u64 end)
    std::uint64_t closure;
    std::uint64_t items;
    std::uint64_t piece_items;
    std::uint32_t mxcsr;
    std::uint32_t x87_control;
};

struct prefetch_work {
    std::uint64_t addr;
    std::uint64_t len;
    std::uint32_t location;
};

struct advice_work {
    std::uint64_t addr;
    std::uint64_t len;
    std::uint64_t value;
    std::uint32_t advice;
    std::uint32_t location;
};

struct discard_work {
    std::uint64_t addr;
    std::uint64_t len;
};

/// One piece of work. Only `cursor`, `done` and `stamp` change after it is published.
struct alignas(128) ring_entry {
    std::atomic<entry_kind> kind; ///< looked at before the entry is owned, see ring_ready()
    std::uint32_t pieces;         ///< of `piece_items` items each, the last may be shorter
    union {
        range_work range;
        prefetch_work prefetch;
        advice_work advice;
        discard_work discard;
        std::uint64_t stamp; ///< nanoseconds of CLOCK_MONOTONIC
    };
    std::atomic<std::uint64_t> cursor;             ///< sequence number << 32 | pieces not taken
    std::atomic<std::uint32_t> done;               ///< pieces run or given up
    std::atomic<std::uint32_t> after_mask;         ///< queues that have to get somewhere first
    std::atomic<std::uint32_t> after[queue_count]; ///< so many of their entries over, mod 2^32
};
static_assert(sizeof(ring_entry) == 128);

struct alignas(128) work_queue {
    std::atomic<std::uint32_t> submitted; ///< entries published
    std::atomic<std::uint32_t> opened;    ///< behind the gate that was opened last
    alignas(64) futex_word completed;     ///< entries over; the program waits here
    std::atomic<std::uint32_t> waiters;
    std::atomic<std::uint32_t> wake_at; ///< no waiter wants less than this
    ring_entry entries[ring_entries];
};

enum class call_state : std::uint32_t {
    idle = 0,
    requested, ///< by the lane
    running,   ///< the parked thread is inside the call
    done,
    quit, ///< by the application: the parked thread shall end
};

enum class call_kind : std::uint32_t {
    system_call = 0, ///< args[0..5]
    signal_call,     ///< likewise; decided by looking at who is aimed at
    await_others,    ///< wait a moment for the other lanes to end by themselves
    stop_others,     ///< break calls of other lanes until all have stopped
};

/// Not an errno: this call ends the launch (call_kind::signal_call).
inline constexpr std::int64_t call_ends_launch = -10000;

/// What a lane borrows from its parked thread, and the calls it makes through it.
struct alignas(256) lane_control {
    std::uint64_t fs_base;
    std::uint64_t stack_low; ///< lowest usable byte
    std::uint64_t stack_top; ///< the lane starts here
    std::int32_t app_tid;
    futex_word agent_tid; ///< 0 until the lane is there
    /// 1 while the lane is inside device code or a call made by it.
    std::atomic<std::uint32_t> running;
    std::uint32_t padding;

    futex_word state; ///< call_state
    call_kind kind;
    std::int64_t number;
    std::uint64_t args[6];
    std::int64_t result;
    std::uint64_t scratch[20]; ///< argument block of calls the agent makes for itself
};
static_assert(sizeof(lane_control) == 512);

enum class fault_cause : std::uint32_t {
    signal = 1,    ///< an instruction could not be carried out
    system_call,   ///< refused call `system_call`
    raised_signal, ///< abort(), raise(), kill() of the program
    foreign_call,  ///< int 0x80 or an x32 number
};

/// The end of all launches, in this order.
enum class sticky_state : std::uint32_t {
    none = 0,
    recording, ///< one lane writes control::fault
    ending,    ///< lanes begin nothing new, but may end what they are at
    stopping,  ///< lanes that still run are stopped where they are
};

/// Why the device stopped. Written once, before sticky_state::ending.
struct fault_block {
    fault_cause cause;
    std::uint32_t lane;
    std::int32_t signal;
    std::uint32_t access;
    std::int32_t error_number;
    std::int32_t system_call;
    std::uint64_t address;
    std::uint64_t instruction;
    std::uint64_t first_item;
    std::uint64_t item_count;
};

struct control {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t slot;
    std::uint64_t token;      ///< for HMMRT_GPU_IOC_ATTACH, which takes it once
    std::uint64_t xfeatures;  ///< permissions for large register state to ask for
    std::uint32_t lane_count; ///< for the agent; the application keeps its own
    std::uint32_t special_count;
    special_map special[max_special_maps]; ///< vvar, vdso; by address
    std::uint64_t vdso;                    ///< address of the vdso proper, 0: none
    std::int32_t app_pid;
    std::int32_t space_fd; ///< in the application, for calls for memory

    alignas(64) futex_word state; ///< agent_state
    std::atomic<std::uint32_t> boot_failed_step;
    std::atomic<std::int32_t> boot_errno;

    alignas(64) futex_word doorbell;                 ///< lanes without work wait here
    std::atomic<std::uint32_t> used;                 ///< queues that ever got work
    alignas(64) std::atomic<std::uint32_t> sleepers; ///< lanes that wait, about

    alignas(64) std::atomic<std::uint32_t> sticky; ///< sticky_state
    std::atomic<std::uint32_t> strict;
    /// Of the first call for memory that failed: its entry_kind << 32 | errno.
    std::atomic<std::uint64_t> memory_error;
    fault_block fault;

    alignas(256) lane_control lanes[max_lanes];
    work_queue queues[queue_count];
};

/// For control::memory_error; @result is -errno.
inline constexpr std::uint64_t memory_error_of(entry_kind kind, std::int64_t result) {
    return static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint32_t>(-result);
}

inline constexpr std::uint64_t control_size = (sizeof(control) + page_size - 1) & ~(page_size - 1);
static_assert(slot_lanes_offset + max_lanes * lane_area_size <= slot_control_offset);
static_assert(slot_control_offset + control_size <= slot_size);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

} // namespace hmmrt
