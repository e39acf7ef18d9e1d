// SPDX-License-Identifier: MIT
#include "machine/agent_process.hpp"

#include "base/failure.hpp"
#include "base/fork_guard.hpp"
#include "base/proc_maps.hpp"
#include "machine/slot.hpp"
#include "sys/ioctl.hpp"
#include "thread/frame_walk.hpp"

#include <cerrno>
#include <initializer_list>
#include <new>
#include <sys/mman.h>
#include <utility>

// agent_image.S
extern "C" const char hmmrt_agent_image[], hmmrt_agent_image_end[];

namespace hmmrt {
namespace {

std::size_t agent_image_bytes() {
    return static_cast<std::size_t>(hmmrt_agent_image_end - hmmrt_agent_image);
}

constexpr int slice_milliseconds = 100;
constexpr int start_limit_milliseconds = 60000;
constexpr int exit_limit_milliseconds = 10000;

const char* step_text(std::uint32_t step, int error) {
    constexpr const char* no_code = "agent: cannot map executable memory (is it forbidden by a "
                                    "seccomp filter, as with MemoryDenyWriteExecute=?)";
    switch (static_cast<boot_step>(step)) {
    case boot_step::none:
    case boot_step::exec:
    case boot_step::control:
        return "agent";
    case boot_step::copy_image:
        if (error == EPERM || error == EACCES) return no_code;
        [[fallthrough]];
    case boot_step::reserve_slot:
        return "agent: cannot reserve its address space (is it limited, ulimit -v?)";
    case boot_step::privileges:
        return "agent: cannot drop privileges";
    case boot_step::attach:
        return "agent: cannot attach to the device";
    case boot_step::move_vdso:
        return "agent: cannot move the vdso";
    case boot_step::map_device:
        if (error == EPERM) return no_code;
        return "agent: cannot map the device (ulimit -v? /dev mounted noexec?)";
    case boot_step::signals:
    case boot_step::lanes:
        return "agent: cannot start the lanes";
    case boot_step::dispatch:
        return "agent: cannot enable syscall user dispatch (CONFIG_SYSCALL_USER_DISPATCH, sysctl "
               "kernel.syscall_user_dispatch)";
    case boot_step::seccomp:
        return "agent: cannot install a seccomp filter (CONFIG_SECCOMP_FILTER)";
    }
    return "agent";
}

[[noreturn]] void throw_boot_error(std::uint32_t step, std::int32_t error) {
    throw failure(hmmErrorInitializationError, describe_errno(step_text(step, error), error));
}

int open_sealed_image() {
    const int fd = sys::create_program_file("hmmrt-agent", hmmrt_agent_image, agent_image_bytes());
    if (fd < 0)
        throw failure(hmmErrorInitializationError,
                      describe_file_error("cannot create the agent image", fd));
    return fd;
}

} // namespace

agent_process::agent_process(parked_context& context, const agent_options& options)
    : context_(context), lanes_(options.lanes), slot_(reserve_slot()) {
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
    } catch (...) {
        stop();
        release();
        throw;
    }
}

agent_process::~agent_process() {
    stop();
    release();
}

void agent_process::create_control(const agent_options& options) {
    control_file_ = unique_fd(sys::create_shared_memory("hmmrt-control", control_size));
    std::int64_t result = control_file_.get();
    const std::uint64_t address = slot_.address() + slot_control_offset;
    if (result >= 0)
        result = sys::map(address, control_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          control_file_.get());
    if (result >= 0) result = sys::advise(address, control_size, MADV_DONTFORK);
    if (result >= 0) result = sys::advise(address, control_size, MADV_DONTDUMP);
    if (result < 0)
        throw failure(
            hmmErrorMemoryAllocation,
            describe_file_error("cannot allocate the control block", static_cast<int>(result)));
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
std::uint64_t agent_process::open_device(const agent_options& options) {
    gpu_ = unique_fd(sys::open_file(options.device_path.c_str()));
    if (gpu_.get() < 0)
        throw failure(hmmErrorDevicesUnavailable, describe_errno(options.device_path, gpu_.get()));
    fork_guard::add(gpu_.get());

    hmmrt_gpu_bind bind = {};
    bind.space_fd = options.space_fd;
    // The previous session's binding may still be in teardown.
    bind.wait_msec = exit_limit_milliseconds;
    const int error = sys::bind_device(gpu_.get(), bind);
    if (error < 0)
        throw failure(error == -EBUSY ? hmmErrorDevicesUnavailable : hmmErrorInitializationError,
                      describe_errno("binding " + options.device_path, error));
    return bind.out_token;
}

void agent_process::copy_kernel_maps() {
    std::string text;
    // Use this thread's file: if the first thread has ended, the process's file
    // is empty.
    constexpr const char* file = "/proc/thread-self/maps";
    if (const int error = sys::read_whole_file(file, text); error < 0)
        throw failure(hmmErrorInitializationError, describe_errno(file, error));
    const kernel_maps maps = find_kernel_maps(text);
    if (maps.parts.size() > max_special_maps)
        throw failure(hmmErrorInitializationError, "too many mappings of the vdso and vvar");
    ctl_->vdso = maps.vdso;
    ctl_->special_count = static_cast<std::uint32_t>(maps.parts.size());
    for (std::size_t i = 0; i < maps.parts.size(); i++)
        ctl_->special[i] = maps.parts[i];
}

void agent_process::start_agent() {
    const unique_fd image(open_sealed_image());
    int reader = -1, writer = -1;
    if (const int error = sys::create_kill_pipe(reader, writer); error < 0)
        throw failure(hmmErrorInitializationError,
                      describe_file_error("cannot create the agent's pipe", error));
    kill_reader_ = unique_fd(reader);
    kill_writer_ = unique_fd(writer);
    fork_guard::add(reader);
    fork_guard::add(writer);
    const int pidfd = sys::start_agent({image.get(), control_file_.get(), gpu_.get(), reader});
    if (pidfd < 0)
        throw failure(hmmErrorInitializationError,
                      describe_file_error("cannot start the agent", pidfd));
    pidfd_ = unique_fd(pidfd);
    fork_guard::add(pidfd);
}

void agent_process::await_agent() {
    const std::uint64_t deadline = sys::monotonic_milliseconds() + start_limit_milliseconds;
    for (;;) {
        // In this order, because a failing agent reports the error before it
        // ends.
        const bool ended = sys::agent_ended(pidfd_.get(), -1);
        const std::uint32_t state = ctl_->state.load();
        if (state == static_cast<std::uint32_t>(agent_state::ready)) return;
        if (state == static_cast<std::uint32_t>(agent_state::failed))
            throw_boot_error(ctl_->boot_failed_step.load(), ctl_->boot_errno.load());
        if (ended) throw failure(hmmErrorInitializationError, "the agent exited during startup");
        if (sys::monotonic_milliseconds() >= deadline)
            throw failure(hmmErrorInitializationError, "the agent did not start in time");
        sys::wait_for_change(ctl_->state, state, slice_milliseconds);
    }
}

/// Both processes have mapped the control block. From here on, the descriptor
/// would only be useful to other processes.
void agent_process::close_control() {
    const int error = sys::seal_shared_memory(control_file_.get());
    if (error < 0)
        throw failure(
            hmmErrorInitializationError,
            describe_errno("cannot seal the control block, which another process has open", error));
    fork_guard::remove(control_file_.get());
    control_file_.reset();
}

bool agent_process::lost() {
    return pidfd_.get() >= 0 && sys::agent_ended(pidfd_.get(), gpu_.get());
}

void agent_process::kill() {
    sys::kill_agent(pidfd_.get(), kill_writer_.get());
}

void agent_process::stop() {
    if (std::exchange(stopped_, true) || pidfd_.get() < 0) return;
    const std::uint64_t deadline = sys::monotonic_milliseconds() + exit_limit_milliseconds;
    kill();
    while (!sys::agent_ended(pidfd_.get(), -1) && sys::monotonic_milliseconds() < deadline)
        sys::sleep_milliseconds(1);
    sys::reap_process(pidfd_.get());
}

void agent_process::release() {
    if (std::exchange(released_, true)) return;
    parked_.clear();
    for (unique_fd* file : {&pidfd_, &gpu_, &control_file_, &kill_reader_, &kill_writer_}) {
        if (file->get() >= 0) fork_guard::remove(file->get());
    }
    gpu_.reset();
    control_file_.reset();
    context_.guarded.remove(slot_.address());
}

} // namespace hmmrt
