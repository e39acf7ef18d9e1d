// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "agent/ring.h"
#include "agent_image.hpp"
#include "failure.hpp"
#include "fork_guard.hpp"
#include "frame_walk.hpp"
#include "kernel_exception.hpp"
#include "proc_maps.hpp"
#include "settings.hpp"
#include "slot.hpp"
#include "sys/ioctl.hpp"

#include <cerrno>
#include <immintrin.h>
#include <initializer_list>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <utility>

namespace hmmrt {
namespace {

constexpr int slice_milliseconds = 100;
constexpr unsigned told_wait_seconds = 10;
constexpr int start_limit_milliseconds = 60000;
constexpr int end_limit_milliseconds = 10000;
constexpr int record_limit_milliseconds = 5000;

const char* step_text(std::uint32_t step) {
    switch (static_cast<boot_step>(step)) {
    case boot_step::none:
    case boot_step::exec:
    case boot_step::control:
        return "agent";
    case boot_step::reserve_slot:
    case boot_step::copy_image:
        return "agent: slot (is the address space limited, ulimit -v?)";
    case boot_step::privileges:
        return "agent: dropping privileges";
    case boot_step::attach:
        return "agent: attaching to the device";
    case boot_step::move_vdso:
        return "agent: moving the vdso";
    case boot_step::map_device:
        return "agent: mapping the device (ulimit -v? /dev mounted noexec?)";
    case boot_step::signals:
    case boot_step::lanes:
        return "agent: lanes";
    case boot_step::dispatch:
        return "agent: syscall user dispatch (CONFIG_GENERIC_ENTRY)";
    case boot_step::seccomp:
        return "agent: seccomp filter (CONFIG_SECCOMP_FILTER)";
    }
    return "agent";
}

int open_sealed_image() {
    const int fd = sys::create_program_file("hmmrt-agent", hmmrt_agent_image, agent_image_bytes());
    if (fd < 0) throw failure(hmmErrorInitializationError, describe_errno("agent image", fd));
    return fd;
}

std::uint32_t current_mxcsr() {
    return _mm_getcsr();
}

std::uint32_t current_x87_control() {
    std::uint16_t word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
}

} // namespace

session::session(parked_context& context, const session_options& options)
    : context_(context), slot_(reserve_slot()), quiet_(options.quiet) {
    if (!context_.guarded.add(slot_.address(), slot_.end()))
        throw failure(hmmErrorMemoryAllocation, "too many devices in this process");
    try {
        const std::uint64_t token = open_device(options);
        create_control(options);
        ctl_->token = token;
        copy_kernel_maps();
        parked_.reserve(options.lanes);
        for (std::uint32_t i = 0; i < options.lanes; i++)
            parked_.push_back(std::make_unique<parked_thread>(context_, *ctl_, i));
        start_agent();
        await_agent();
        close_control();
        first_ticks_ = __builtin_ia32_rdtsc();
        first_milliseconds_ = sys::monotonic_milliseconds();
        watch_.emplace(*this, *ctl_, options);
        watch_->start();
    } catch (...) {
        stop();
        throw;
    }
}

session::~session() {
    stop();
    reap_rest();
}

void session::create_control(const session_options& options) {
    control_file_ = unique_fd(sys::create_shared_memory("hmmrt-control", control_size));
    std::int64_t result = control_file_.get();
    const std::uint64_t address = slot_.address() + slot_control_offset;
    if (result >= 0)
        result = sys::map(address, control_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          control_file_.get());
    if (result >= 0) result = sys::advise(address, control_size, MADV_DONTFORK);
    if (result >= 0) result = sys::advise(address, control_size, MADV_DONTDUMP);
    if (result < 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("control block", static_cast<int>(result)));
    fork_guard::add(control_file_.get());

    ctl_ = new (reinterpret_cast<void*>(address)) control{};
    ctl_->magic = control_magic;
    ctl_->version = control_version;
    ctl_->slot = slot_.address();
    ctl_->xfeatures = sys::xfeature_permissions();
    ctl_->lane_count = options.lanes;
    ctl_->app_pid = context_.process;
    ctl_->space_fd = options.space_fd;
    ctl_->strict.store(options.strict ? 1 : 0);
    ctl_->walker = reinterpret_cast<std::uint64_t>(&walk_frames);
}

/// Opens and binds the device; returns the token for the agent.
std::uint64_t session::open_device(const session_options& options) {
    gpu_ = unique_fd(sys::open_file(options.device_path.c_str()));
    if (gpu_.get() < 0)
        throw failure(hmmErrorDevicesUnavailable, describe_errno(options.device_path, gpu_.get()));
    fork_guard::add(gpu_.get());

    hmmrt_gpu_bind bind = {};
    bind.space_fd = options.space_fd;
    // The previous session's binding may still be in teardown.
    bind.wait_msec = end_limit_milliseconds;
    const int error = sys::bind_device(gpu_.get(), bind);
    if (error < 0)
        throw failure(error == -EBUSY ? hmmErrorDevicesUnavailable : hmmErrorInitializationError,
                      describe_errno("binding " + options.device_path, error));
    return bind.out_token;
}

void session::copy_kernel_maps() {
    std::string text;
    // Use the file of this thread: the first thread may have ended, and its
    // file is then empty.
    constexpr const char* file = "/proc/thread-self/maps";
    if (const int error = sys::read_whole_file(file, text); error < 0)
        throw failure(hmmErrorInitializationError, describe_errno(file, error));
    const kernel_maps maps = find_kernel_maps(text);
    if (maps.parts.size() > max_special_maps)
        throw failure(hmmErrorInitializationError, "more kernel mappings than supported");
    ctl_->vdso = maps.vdso;
    ctl_->special_count = static_cast<std::uint32_t>(maps.parts.size());
    for (std::size_t i = 0; i < maps.parts.size(); i++)
        ctl_->special[i] = maps.parts[i];
}

void session::start_agent() {
    const unique_fd image(open_sealed_image());
    int reader = -1, writer = -1;
    if (const int error = sys::create_kill_pipe(reader, writer); error < 0)
        throw failure(hmmErrorInitializationError, describe_errno("pipe of the agent", error));
    kill_reader_ = unique_fd(reader);
    kill_writer_ = unique_fd(writer);
    fork_guard::add(reader);
    fork_guard::add(writer);
    const int pidfd = sys::start_agent({image.get(), control_file_.get(), gpu_.get(), reader});
    if (pidfd < 0)
        throw failure(hmmErrorInitializationError, describe_errno("starting the agent", pidfd));
    pidfd_ = unique_fd(pidfd);
    fork_guard::add(pidfd);
}

void session::await_agent() {
    const std::uint64_t deadline = sys::monotonic_milliseconds() + start_limit_milliseconds;
    for (;;) {
        const std::uint32_t state = ctl_->state.load();
        if (state == static_cast<std::uint32_t>(agent_state::ready)) return;
        if (state == static_cast<std::uint32_t>(agent_state::failed))
            throw failure(
                hmmErrorInitializationError,
                describe_errno(step_text(ctl_->boot_failed_step.load()), ctl_->boot_errno.load()));
        if (sys::agent_ended(pidfd_.get(), -1))
            throw failure(hmmErrorInitializationError, "the agent ended while starting");
        if (sys::monotonic_milliseconds() >= deadline)
            throw failure(hmmErrorInitializationError, "the agent did not start in time");
        sys::wait_for_change(ctl_->state, state, slice_milliseconds);
    }
}

/// Both processes have mapped the control block. From here on the descriptor
/// would only help other processes.
void session::close_control() {
    const int error = sys::seal_shared_memory(control_file_.get());
    if (error < 0)
        throw failure(hmmErrorInitializationError,
                      describe_errno("control block, opened by another process", error));
    fork_guard::remove(control_file_.get());
    control_file_.reset();
}

/// Returns the positions that an entry waits for: those of the request, and
/// those of the stream rules. The legacy stream waits for all blocking streams,
/// and they wait for it. Positions already reached are left out.
entry_after session::dependencies(std::uint32_t queue, const event_point* after) const {
    entry_after result;
    const auto add = [&](std::uint32_t other, std::uint64_t position) {
        if (other != queue && !reached(other, position)) result.add(other, position);
    };
    // A reset may have started another session; positions of the old session
    // are complete.
    if (after != nullptr && after->running.get() == this) add(after->queue, after->position);
    if (queue == legacy_queue) {
        std::uint32_t others = used_.load() & blocking_queues;
        for (; others != 0; others &= others - 1) {
            const auto other = static_cast<std::uint32_t>(__builtin_ctz(others));
            add(other, submitted(other));
        }
    } else if ((1u << queue & blocking_queues) != 0) {
        add(legacy_queue, submitted(legacy_queue));
    }
    return result;
}

/// True if the ring has a free entry, and the aftermath of its previous entry
/// is done.
bool session::has_free_entry(std::uint32_t queue) {
    queue_state& state = queues_[queue];
    const std::uint64_t position = state.submitted.load();
    if (position >= ring_entries && !reached(queue, position + 1 - ring_entries)) return false;
    const std::lock_guard lock(state.aftermath_lock);
    return state.aftermath_begin == state.aftermath_end ||
           state.aftermaths[state.aftermath_begin % ring_entries].position + ring_entries >
               position + 1;
}

/// Waits for space in the queue and takes the queue's lock; false if the
/// session ended.
bool session::await_free_entry(std::uint32_t queue, std::unique_lock<std::mutex>& lock) {
    queue_state& state = queues_[queue];
    for (;;) {
        reap(queue); // without the lock, because it calls the program
        lock.lock();
        if (ended_.load()) return false;
        if (has_free_entry(queue)) return true;
        const std::uint64_t position = state.submitted.load();
        lock.unlock();
        if (position >= ring_entries && !wait(queue, position + 1 - ring_entries)) return false;
    }
}

/// Fills in the work of an entry; returns the number of pieces.
std::uint32_t session::fill_work(ring_entry& entry, const work_request& request) const {
    switch (request.kind) {
    case entry_kind::range:
    case entry_kind::serial: {
        const partition cut = cut_launch(request.items, lanes());
        entry.range.function = reinterpret_cast<std::uint64_t>(request.function);
        entry.range.closure = reinterpret_cast<std::uint64_t>(request.closure);
        entry.range.items = request.items;
        entry.range.piece_items = cut.items;
        entry.range.mxcsr = current_mxcsr();
        entry.range.x87_control = current_x87_control();
        return cut.pieces;
    }
    case entry_kind::prefetch:
        entry.prefetch = request.prefetch;
        break;
    case entry_kind::advice:
        entry.advice = request.advice;
        break;
    case entry_kind::discard:
        entry.discard = request.discard;
        break;
    case entry_kind::marker:
    case entry_kind::stamp:
    case entry_kind::gate:
        break;
    }
    return 1;
}

void session::fill_entry(ring_entry& entry, const work_request& request, const entry_after& after) {
    entry.kind.store(request.kind, std::memory_order_relaxed);
    entry.pieces = fill_work(entry, request);
    entry.after_mask.store(after.mask, std::memory_order_relaxed);
    for (std::uint32_t mask = after.mask; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask));
        entry.after[other].store(static_cast<std::uint32_t>(after.position[other]),
                                 std::memory_order_relaxed);
    }
}

/// Records an entry for reap(). The caller has ensured free space.
void session::remember(queue_state& state, const work_request& request, std::uint64_t position) {
    const bool stamp = request.kind == entry_kind::stamp;
    if (request.destroy == nullptr && !stamp) return;
    const std::lock_guard lock(state.aftermath_lock);
    state.aftermaths[state.aftermath_end++ % ring_entries] = {
        position, request.closure, request.destroy, stamp ? request.records : nullptr};
}

std::uint64_t session::submit(std::uint32_t queue, const work_request& request) {
    queue_state& state = queues_[queue];
    std::unique_lock lock(state.lock, std::defer_lock);
    if (!await_free_entry(queue, lock)) return 0;

    const entry_after after = dependencies(queue, request.after);
    const std::uint64_t position = state.submitted.load() + 1;
    if (state.aftermaths.empty()) state.aftermaths.resize(ring_entries);
    if (request.gate != nullptr) add_gate(queue, {position, after, *request.gate});
    fill_entry(entry_at(shared(queue), static_cast<std::uint32_t>(position - 1)), request, after);
    if (request.records) {
        request.records->running = shared_from_this();
        request.records->queue = queue;
        request.records->position = position;
    }
    remember(state, request, position);
    state.submitted.store(position);
    if ((used_.load() & 1u << queue) == 0) used_.fetch_or(1u << queue);
    ring_publish(*ctl_, shared(queue));
    return position;
}

std::uint64_t session::submitted(std::uint32_t queue) const {
    return queues_[queue].submitted.load();
}

bool session::reached(std::uint32_t queue, std::uint64_t position) const {
    // The order matters: completed entries were submitted before.
    const std::uint32_t completed = shared(queue).completed.load();
    const std::uint64_t submitted = queues_[queue].submitted.load();
    return submitted - (static_cast<std::uint32_t>(submitted) - completed) >= position;
}

bool session::wait(std::uint32_t queue, std::uint64_t position) {
    return wait(queue, position, nullptr, true);
}

bool session::wait_quietly(std::uint32_t queue, std::uint64_t position, const session* waiting) {
    return wait(queue, position, waiting, false);
}

bool session::wait(std::uint32_t queue, std::uint64_t position, const session* waiting, bool tell) {
    if (reached(queue, position)) return true;
    work_queue& words = shared(queue);
    const auto target = static_cast<std::uint32_t>(position);
    {
        const std::lock_guard lock(queues_[queue].waiters_lock);
        const auto earlier = static_cast<std::int32_t>(target - words.wake_at.load()) < 0;
        if (words.waiters.load() == 0 || earlier) words.wake_at.store(target);
        words.waiters.fetch_add(1);
    }
    bool there;
    const std::uint64_t tell_at = sys::monotonic_milliseconds() + told_wait_seconds * 1000u;
    for (;;) {
        const std::uint32_t now = words.completed.load();
        there = reached(queue, position);
        if (there || ended_.load() || (waiting != nullptr && waiting->over())) break;
        if (sys::wait_for_change(words.completed, now, slice_milliseconds)) continue;
        if (lost()) break;
        if (tell && sys::monotonic_milliseconds() >= tell_at) {
            watch_->tell_wait(told_wait_seconds);
            tell = false;
        }
    }
    const std::lock_guard lock(queues_[queue].waiters_lock);
    words.waiters.fetch_sub(1);
    return there;
}

bool session::wait_all(std::uint32_t queues) {
    bool there = true;
    for (queues &= used_.load(); queues != 0; queues &= queues - 1) {
        const auto queue = static_cast<std::uint32_t>(__builtin_ctz(queues));
        there = wait(queue, submitted(queue)) && there;
    }
    return there;
}

bool session::reached_all(std::uint32_t queues) const {
    for (queues &= used_.load(); queues != 0; queues &= queues - 1) {
        const auto queue = static_cast<std::uint32_t>(__builtin_ctz(queues));
        if (!reached(queue, submitted(queue))) return false;
    }
    return true;
}

void session::reap(std::uint32_t queue) {
    reap(queue, false);
}

void session::reap_all(std::uint32_t queues) {
    for (queues &= used_.load(); queues != 0; queues &= queues - 1)
        reap(static_cast<std::uint32_t>(__builtin_ctz(queues)));
}

void session::reap(std::uint32_t queue, bool all) {
    queue_state& state = queues_[queue];
    for (;;) {
        aftermath first;
        {
            const std::lock_guard lock(state.aftermath_lock);
            if (state.aftermath_begin == state.aftermath_end) return;
            aftermath& oldest = state.aftermaths[state.aftermath_begin % ring_entries];
            if (!all && !reached(queue, oldest.position)) return;
            if (oldest.stamp) {
                const auto number = static_cast<std::uint32_t>(oldest.position - 1);
                oldest.stamp->nanoseconds.store(entry_at(shared(queue), number).stamp);
            }
            first = std::move(oldest);
            state.aftermath_begin++;
        }
        if (first.destroy != nullptr) first.destroy(first.closure);
    }
}

/// Chooses the queue with the fewest streams; among equals it prefers an idle
/// one.
std::uint32_t session::take_queue(bool blocking, bool high_priority) {
    const queue_group low = blocking ? blocking_low : apart_low;
    const queue_group group = high_priority ? (blocking ? blocking_high : apart_high) : low;
    const std::lock_guard lock(users_lock_);
    std::uint32_t best = group.first;
    const auto cost = [&](std::uint32_t queue) {
        return 2 * users_[queue] + (reached(queue, submitted(queue)) ? 0 : 1);
    };
    for (std::uint32_t queue = best + 1; queue < group.first + group.count; queue++)
        if (cost(queue) < cost(best)) best = queue;
    users_[best]++;
    return best;
}

void session::give_queue(std::uint32_t queue) {
    const std::lock_guard lock(users_lock_);
    users_[queue]--;
}

bool session::lost() {
    if (ended_.load() || pidfd_.get() < 0 || !sys::agent_ended(pidfd_.get(), gpu_.get()))
        return ended_.load();
    lost_.store(true);
    ended_.store(true);
    if (watch_ && ctl_->sticky.load() == static_cast<std::uint32_t>(sticky_state::none))
        watch_->await_report(nullptr);
    return true;
}

void session::await_record() {
    const std::uint64_t deadline = sys::monotonic_milliseconds() + record_limit_milliseconds;
    bool killed = false;
    while (ctl_->sticky.load() < static_cast<std::uint32_t>(sticky_state::ending) && !lost()) {
        if (!killed && sys::monotonic_milliseconds() >= deadline) {
            sys::kill_agent(pidfd_.get(), kill_writer_.get());
            killed = true;
        }
        std::this_thread::yield();
    }
}

/// Lanes drop work as soon as one lane starts to record its fault.
const fault_block* session::fault() {
    if (!has_fault_.load()) {
        if (ctl_->sticky.load() == static_cast<std::uint32_t>(sticky_state::none)) return nullptr;
        await_record();
        keep_fault();
    }
    watch_->await_report(&fault_, exception_text_);
    return &fault_;
}

/// Copies the record: device code can write to the block as long as the agent
/// lives. If the agent ended before it finished the record, the fault stays
/// unknown, but lanes have dropped work.
void session::keep_fault() {
    const std::lock_guard lock(fault_lock_);
    const bool recorded = ctl_->sticky.load() >= static_cast<std::uint32_t>(sticky_state::walking);
    if (has_fault_.load()) return;
    if (recorded) fault_ = ctl_->fault;
    if (fault_.cause == fault_cause::exception && fault_.lane < max_lanes)
        exception_ = take_kernel_exception(ctl_->lanes[fault_.lane].fs_base, exception_text_);
    has_fault_.store(true);
}

std::exception_ptr session::exception() {
    return has_fault_.load() ? exception_ : nullptr;
}

std::uint64_t session::take_memory_error() {
    return ctl_->memory_error.exchange(0);
}

void session::set_strict(bool strict) {
    ctl_->strict.store(strict ? 1 : 0);
}

std::uint32_t session::lanes() const {
    return static_cast<std::uint32_t>(parked_.size());
}

void session::stop() {
    const std::lock_guard lock(stop_lock_);
    if (std::exchange(stopped_, true)) return;
    if (pidfd_.get() >= 0) {
        const std::uint64_t deadline = sys::monotonic_milliseconds() + end_limit_milliseconds;
        sys::kill_agent(pidfd_.get(), kill_writer_.get());
        while (!sys::agent_ended(pidfd_.get(), -1) && sys::monotonic_milliseconds() < deadline)
            sys::sleep_milliseconds(1);
        sys::reap_process(pidfd_.get());
    }
    ended_.store(true);
    for (std::uint32_t queue = 0; ctl_ != nullptr && queue < queue_count; queue++) {
        sys::wake(shared(queue).completed);
        const std::lock_guard no_submissions(queues_[queue].lock);
    }
    join_workers();
    if (watch_) watch_->end();
    parked_.clear();
    for (unique_fd* file : {&pidfd_, &gpu_, &control_file_, &kill_reader_, &kill_writer_}) {
        if (file->get() >= 0) fork_guard::remove(file->get());
    }
    gpu_.reset();
    control_file_.reset();
    context_.guarded.remove(slot_.address());
}

void session::reap_rest() {
    for (std::uint32_t queue = 0; queue < queue_count; queue++)
        reap(queue, true);
}

} // namespace hmmrt
