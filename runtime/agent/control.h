// SPDX-License-Identifier: MIT
// The layouts of the slot (an address range) and the control block, which the
// runtime and its agents share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmrt {

inline constexpr std::uint64_t page_size = 4096;

inline constexpr std::uint64_t slot_size = 32u << 20;
inline constexpr std::uint64_t slot_image_offset = 0;
inline constexpr std::uint64_t slot_image_size = 256u << 10;
// used while moving the vdso
inline constexpr std::uint64_t slot_vdso_offset = 512u << 10;
inline constexpr std::uint64_t slot_lanes_offset = 1u << 20;
inline constexpr std::uint64_t slot_control_offset = 24u << 20;

inline constexpr std::uint64_t lane_area_size = 128u << 10;
inline constexpr std::uint32_t max_lanes = 128;
inline constexpr std::uint32_t ring_entries = 256; // per queue
inline constexpr std::uint32_t queue_count = 16;
inline constexpr std::uint32_t max_special_maps = 6;

inline constexpr std::uint64_t user_space_begin = 0x10000;
inline constexpr std::uint64_t user_space_end = 0x7ffffffff000;

inline constexpr std::uint32_t control_magic = 0x686d6d72;
inline constexpr std::uint32_t control_version = 5;

// The only file descriptors of the agent.
inline constexpr int agent_control_fd = 3; // closed once the control block is mapped
inline constexpr int agent_gpu_fd = 4;

/// Signal between threads of the agent, to stop running device code.
inline constexpr int agent_stop_signal = 40;

using futex_word = std::atomic<std::uint32_t>;

enum class agent_state : std::uint32_t { starting = 0, ready, failed };

/// The step at which startup failed; control::boot_errno has the error.
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

/// A mapping made by the kernel that must have the same address in the agent.
struct special_map {
    std::uint64_t begin;
    std::uint64_t end;
};

/*
 * Queue 0 is reserved for the legacy default stream. Other streams share the
 * remaining queues, in separate groups: work that waits for the legacy stream
 * is never queued ahead of work that does not, and high-priority work is never
 * queued behind low-priority work.
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
    serial, ///< a range that only one lane at a time works on
    prefetch,
    advice,
    discard,
    marker, ///< no-op that occupies a position in the queue
    stamp,  ///< a marker that records the time
    gate,   ///< a marker that completes when the application opens it
};

/// Function addresses have 47 bits, and both control registers have 16.
struct range_work {
    std::uint64_t function : 48; ///< void (*)(void *closure, u64 begin, u64 end)
    std::uint64_t mxcsr : 16;
    std::uint64_t named : 48; ///< the function to name in messages
    std::uint64_t x87_control : 16;
    std::uint64_t closure;
    std::uint64_t items;
    std::uint64_t piece_items;
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

/// One piece of work. Only `cursor`, `done` and `stamp` change after it is
/// published.
struct alignas(128) ring_entry {
    /// read before the entry is owned, see ring_ready()
    std::atomic<entry_kind> kind;
    /// of `piece_items` items each; the last may be shorter. Also read by lanes
    /// that don't own the entry, see ring_finish()
    std::atomic<std::uint32_t> pieces;
    union {
        range_work range;
        prefetch_work prefetch;
        advice_work advice;
        discard_work discard;
        std::uint64_t stamp; ///< nanoseconds of CLOCK_MONOTONIC
    };
    /// sequence number << 32 | pieces not taken
    std::atomic<std::uint64_t> cursor;
    /// pieces that ran or were dropped
    std::atomic<std::uint32_t> done;
    /// queues that this entry waits for
    std::atomic<std::uint32_t> after_mask;
    /// number of entries that each of them must have completed, mod 2^32
    std::atomic<std::uint32_t> after[queue_count];
};
static_assert(sizeof(ring_entry) == 128);

struct alignas(128) work_queue {
    std::atomic<std::uint32_t> submitted; ///< entries published
    /// position after the last opened gate
    std::atomic<std::uint32_t> opened;
    /// entries completed; the application waits on this word
    alignas(64) futex_word completed;
    std::atomic<std::uint32_t> waiters;
    /// lowest position that any waiter waits for
    std::atomic<std::uint32_t> wake_at;
    ring_entry entries[ring_entries];
};

enum class call_state : std::uint32_t {
    idle = 0,
    requested, ///< set by the lane
    running,   ///< the parked thread executes the call
    done,
    quit, ///< set by the application; the parked thread must exit
};

enum class call_kind : std::uint32_t {
    system_call = 0, ///< args[0..5]
    /// args[0..5]; the parked thread decides by the signal's target
    signal_call,
    await_others, ///< wait briefly until the other lanes end on their own
    /// interrupt the calls of other lanes until all have stopped
    stop_others,
};

/// Not a system call: an exception left the kernel, see sys::end_by_exception().
inline constexpr std::int64_t call_end_by_exception = 0x3fff0001;

/// Not an errno: the call ends the launch (call_kind::signal_call).
inline constexpr std::int64_t call_ends_launch = -10000;

/// What a lane borrows from its parked thread, and the calls that it makes
/// through it.
struct alignas(256) lane_control {
    std::uint64_t fs_base;
    std::uint64_t stack_low; ///< lowest usable byte
    std::uint64_t stack_top; ///< initial stack pointer of the lane
    std::uint64_t stack_bytes;
    std::int32_t app_tid;
    futex_word agent_tid; ///< 0 until the lane has started
    /// 1 while the lane is in device code or in a call that device code made.
    std::atomic<std::uint32_t> running;
    std::uint32_t padding;
    /// The function to name in messages while the lane is `running`.
    std::atomic<std::uint64_t> function;
    std::atomic<std::uint64_t> started; ///< time stamp counter
    std::atomic<std::uint64_t> first_item;
    std::atomic<std::uint64_t> item_count;

    futex_word state; ///< call_state
    call_kind kind;
    std::int64_t number;
    std::uint64_t args[6];
    std::int64_t result;
    std::uint64_t scratch[20]; ///< argument block of the agent's own calls
};
static_assert(sizeof(lane_control) == 512);

enum class fault_cause : std::uint32_t {
    signal = 1,    ///< an instruction raised an exception
    system_call,   ///< refused the system call `system_call`
    raised_signal, ///< device code called abort(), raise() or kill()
    foreign_call,  ///< int 0x80 or an x32 system call number
    exception,     ///< a C++ exception left the kernel
    time_limit,    ///< the launch took longer than the program allows
};

/// Stages of ending all launches, in this order.
enum class sticky_state : std::uint32_t {
    none = 0,
    recording, ///< one lane writes control::fault
    walking,   ///< the lane adds the frames of its stack to control::fault
    ending,    ///< lanes start no new work, but may complete their current piece
    stopping,  ///< lanes that are still running are interrupted
};

inline constexpr std::uint32_t max_frames = 16;

/// Registers of device code that a fault interrupted. frame_walk.S knows these
/// offsets.
struct code_state {
    std::uint64_t rip, rsp, rbx, rbp, r12, r13, r14, r15;
};

/// The reason why the device stopped. Written once, before
/// sticky_state::walking; the frames before sticky_state::ending.
struct fault_record {
    fault_cause cause;
    std::uint32_t lane;
    std::int32_t signal;
    std::uint32_t access;
    std::int32_t error_number;
    std::int32_t system_call;
    std::int32_t exit_status; ///< argument of exit_group
    std::uint64_t address;
    std::uint64_t instruction;
    std::uint64_t first_item;
    std::uint64_t item_count;
    std::uint64_t function; ///< of the launch
    std::uint64_t stack_pointer;
    std::uint64_t stack_low; ///< of the lane
    std::uint64_t stack_bytes;
    std::uint64_t thread;       ///< FS base of the lane
    std::uint64_t milliseconds; ///< fault_cause::time_limit: the limit
    /// The instruction, and then the return addresses of its callers.
    std::uint64_t frames[max_frames];
    std::uint32_t frame_count;
};

struct control {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t slot;
    std::uint64_t token; ///< for HMMRT_GPU_IOC_ATTACH; valid once
    /// permissions for large register state that the agent requests
    std::uint64_t xfeatures;
    /// for the agent; the application keeps its own copy
    std::uint32_t lane_count;
    std::uint32_t special_count;
    special_map special[max_special_maps]; ///< vvar and vdso, sorted by address
    /// address of the vdso's code, or 0
    std::uint64_t vdso;
    std::int32_t app_pid;
    /// descriptor in the application, for memory operations
    std::int32_t space_fd;

    alignas(64) futex_word state; ///< agent_state
    std::atomic<std::uint32_t> boot_failed_step;
    std::atomic<std::int32_t> boot_errno;

    /// idle lanes wait on this word
    alignas(64) futex_word doorbell;
    /// mask of queues that have ever had work
    std::atomic<std::uint32_t> used;
    /// number of waiting lanes, approximate
    alignas(64) std::atomic<std::uint32_t> sleepers;

    alignas(64) std::atomic<std::uint32_t> sticky; ///< sticky_state
    std::atomic<std::uint32_t> strict;
    /// The first memory operation that failed: its entry_kind << 32 | errno.
    std::atomic<std::uint64_t> memory_error;
    fault_record fault;
    /// Function of the application that a lane calls to collect frames, or 0:
    /// void (*)(fault_record*, const code_state*)
    std::uint64_t walker;
    /// Changes when the application's failure_watch has something to do.
    futex_word watch;

    alignas(256) lane_control lanes[max_lanes];
    work_queue queues[queue_count];
};

/// Value for control::memory_error; @result is -errno.
constexpr std::uint64_t memory_error_of(entry_kind kind, std::int64_t result) {
    return static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint32_t>(-result);
}

inline constexpr std::uint64_t control_size = (sizeof(control) + page_size - 1) & ~(page_size - 1);
static_assert(slot_lanes_offset + max_lanes * lane_area_size <= slot_control_offset);
static_assert(slot_control_offset + control_size <= slot_size);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

} // namespace hmmrt
