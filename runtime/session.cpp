// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "agent/ring.h"
#include "agent_image.hpp"
#include "failure.hpp"
#include "fork_guard.hpp"
#include "proc_maps.hpp"
#include "settings.hpp"
#include "slot.hpp"
#include "sys/ioctl.hpp"

#include <cerrno>
#include <immintrin.h>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace hmmrt {
namespace {

constexpr int slice_milliseconds = 100;
constexpr int start_limit_milliseconds = 60000;
constexpr int end_limit_milliseconds = 10000;

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
        return "agent: giving up privileges";
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
    : context_(context), slot_(reserve_slot()) {
    if (!context_.guarded.add(slot_.address(), slot_.end()))
        throw failure(hmmErrorMemoryAllocation, "too many devices in this process");
    try {
        create_control(options);
        open_device(options);
        copy_kernel_maps();
        parked_.reserve(options.lanes);
        for (std::uint32_t i = 0; i < options.lanes; i++)
            parked_.push_back(std::make_unique<parked_thread>(context_, *ctl_, i));
        start_agent();
        await_agent();
    } catch (...) {
        stop();
        throw;
    }
}

session::~session() {
    stop();
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
}

void session::open_device(const session_options& options) {
    const std::uint64_t deadline = sys::monotonic_milliseconds() + end_limit_milliseconds;
    gpu_ = unique_fd(sys::open_file(options.device_path.c_str()));
    if (gpu_.get() < 0)
        throw failure(hmmErrorDevicesUnavailable, describe_errno(options.device_path, gpu_.get()));
    fork_guard::add(gpu_.get());

    hmmrt_gpu_bind bind = {};
    bind.space_fd = options.space_fd;
    int error;
    // The binding of a session before this one may need a moment to go.
    while ((error = sys::bind_device(gpu_.get(), bind)) == -EBUSY &&
           sys::monotonic_milliseconds() < deadline)
        sys::sleep_milliseconds(1);
    if (error < 0)
        throw failure(error == -EBUSY ? hmmErrorDevicesUnavailable : hmmErrorInitializationError,
                      describe_errno("binding " + options.device_path, error));
    ctl_->token = bind.out_token;
}

void session::copy_kernel_maps() {
    std::string text;
    if (const int error = sys::read_whole_file("/proc/self/maps", text); error < 0)
        throw failure(hmmErrorInitializationError, describe_errno("/proc/self/maps", error));
    const kernel_maps maps = find_kernel_maps(text);
    if (maps.parts.size() > max_special_maps)
        throw failure(hmmErrorInitializationError, "more kernel mappings than known");
    ctl_->vdso = maps.vdso;
    ctl_->special_count = static_cast<std::uint32_t>(maps.parts.size());
    for (std::size_t i = 0; i < maps.parts.size(); i++)
        ctl_->special[i] = maps.parts[i];
}

void session::start_agent() {
    const unique_fd image(open_sealed_image());
    const int pidfd = sys::start_agent({image.get(), control_file_.get(), gpu_.get()});
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

bool session::submit(const launch_request& request) {
    while (ring_full(*ctl_))
        if (!wait(ctl_->completed.load() + 1)) return false;
    reap(); // makes room in pending_ as there is in the ring

    ring_entry& entry = entry_at(*ctl_, ctl_->submitted.load());
    entry.kind = request.kind;
    entry.function = reinterpret_cast<std::uint64_t>(request.function);
    entry.closure = reinterpret_cast<std::uint64_t>(request.closure);
    entry.items = request.items;
    const partition cut = cut_launch(request.items, ctl_->lane_count);
    entry.pieces = cut.pieces;
    entry.piece_items = cut.items;
    entry.mxcsr = current_mxcsr();
    entry.x87_control = current_x87_control();
    entry.prefetch_addr = request.prefetch_addr;
    entry.prefetch_len = request.prefetch_len;
    entry.prefetch_location = request.prefetch_location;

    if (request.destroy != nullptr) {
        const std::lock_guard lock(pending_lock_);
        pending_[pending_end_++ % ring_entries] = {ctl_->submitted.load(), request.closure,
                                                   request.destroy};
    }
    ring_publish(*ctl_);
    return true;
}

std::uint32_t session::submitted() const {
    return ctl_->submitted.load();
}

bool session::wait(std::uint32_t target) {
    if (ring_reached(*ctl_, target)) return true;
    {
        const std::lock_guard lock(waiters_lock_);
        const auto earlier = static_cast<std::int32_t>(target - ctl_->wake_at.load()) < 0;
        if (ctl_->waiters.load() == 0 || earlier) ctl_->wake_at.store(target);
        ctl_->waiters.fetch_add(1);
    }
    bool reached;
    for (;;) {
        const std::uint32_t now = ctl_->completed.load();
        reached = static_cast<std::int32_t>(now - target) >= 0;
        if (reached || ended_.load()) break;
        if (!sys::wait_for_change(ctl_->completed, now, slice_milliseconds) && lost()) break;
    }
    const std::lock_guard lock(waiters_lock_);
    ctl_->waiters.fetch_sub(1);
    return reached;
}

void session::reap() {
    destroy_closures(false);
}

void session::destroy_closures(bool all) {
    for (;;) {
        pending_closure first;
        {
            const std::lock_guard lock(pending_lock_);
            if (pending_begin_ == pending_end_) return;
            first = pending_[pending_begin_ % ring_entries];
            if (!all && !ring_reached(*ctl_, first.sequence + 1)) return;
            pending_begin_++;
        }
        first.destroy(first.closure);
    }
}

bool session::lost() {
    if (!ended_.load() && pidfd_.get() >= 0 && sys::agent_ended(pidfd_.get(), gpu_.get()))
        ended_.store(true);
    return ended_.load();
}

const fault_block* session::fault() const {
    const bool valid = ctl_->sticky.load() >= static_cast<std::uint32_t>(sticky_state::ending);
    return valid ? &ctl_->fault : nullptr;
}

int session::take_prefetch_error() {
    return ctl_->prefetch_errno.exchange(0);
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
        sys::kill_process(pidfd_.get());
        while (!sys::agent_ended(pidfd_.get(), -1) && sys::monotonic_milliseconds() < deadline)
            sys::sleep_milliseconds(1);
        sys::reap_process(pidfd_.get());
    }
    ended_.store(true);
    if (ctl_ != nullptr) sys::wake(ctl_->completed);
    parked_.clear();
    for (unique_fd* file : {&pidfd_, &gpu_, &control_file_}) {
        if (file->get() >= 0) fork_guard::remove(file->get());
    }
    gpu_.reset();
    context_.guarded.remove(slot_.address());
    destroy_closures(true);
}

} // namespace hmmrt
