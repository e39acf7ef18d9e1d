// SPDX-License-Identifier: MIT
/*
 * Startup of the agent, from execveat() to running lanes.
 *
 * Stage 1 runs at the address that the kernel chose. It drops privileges,
 * builds the slot and copies the image there. Stage 2 runs in the slot. It
 * replaces all other mappings of this process, including stage 1, with the
 * device's mirror. The kernel makes the process undumpable at exec, see
 * sys/spawn.cpp.
 */
#include "futex.h"
#include "lane.h"
#include "seccomp.h"

#include <asm/prctl.h>
#include <cerrno>
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/hmmrt.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/mman.h>

namespace hmmrt::agent {
namespace {

struct boot_context {
    control* ctl;
    std::uint64_t own_vdso;
};

std::int64_t map(std::uint64_t address, std::uint64_t length, int protection, int flags, int fd,
                 std::uint64_t offset) {
    return raw_syscall(SYS_mmap, address, length, static_cast<std::uint64_t>(protection),
                       static_cast<std::uint64_t>(flags), static_cast<std::uint64_t>(fd), offset);
}

std::int64_t map_memory(std::uint64_t address, std::uint64_t length) {
    return map(address, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0);
}

[[noreturn]] void fail(control& ctl, boot_step step, std::int64_t error) {
    ctl.boot_failed_step.store(static_cast<std::uint32_t>(step));
    ctl.boot_errno.store(static_cast<std::int32_t>(-error));
    ctl.state.store(static_cast<std::uint32_t>(agent_state::failed));
    futex_wake(ctl.state, INT32_MAX);
    for (;;)
        raw_syscall(SYS_exit_group, 1);
}

void check(control& ctl, boot_step step, std::int64_t result) {
    if (result < 0) fail(ctl, step, result);
}

// ---- stage 1

std::uint64_t find_vdso(const std::uint64_t* stack) {
    const std::uint64_t* at = stack + 1 + stack[0] + 1; // argc, argv, NULL
    while (*at != 0)
        at++; // environment
    for (at++; at[0] != AT_NULL; at += 2)
        if (at[0] == AT_SYSINFO_EHDR) return at[1];
    return 0;
}

/// The process is already undumpable, except on kernels with fs.suid_dumpable =
/// 1.
void drop_privileges(control& early) {
    constexpr boot_step step = boot_step::privileges;
    static_assert(sizeof(__user_cap_data_struct) == 12);
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

    check(early, step, raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0));
    check(early, step, raw_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1));
    check(early, step, raw_syscall(SYS_capset, address_of(&header), address_of(none)));
    raw_syscall(SYS_prctl, PR_SET_NAME, address_of("hmmrt-agent"));
}

void build_slot(control& early) {
    const std::uint64_t slot = early.slot;
    check(early, boot_step::reserve_slot,
          map(slot, slot_size, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0));
    check(early, boot_step::reserve_slot,
          map(slot + slot_control_offset, control_size, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED, agent_control_fd, 0));

    // both mappings exist, and we need no more
    raw_syscall(SYS_close, agent_control_fd);

    for (std::uint32_t i = 0; i < early.lane_count; i++) {
        const std::uint64_t area = lane_area(early, i);
        check(early, boot_step::reserve_slot, map_memory(area, 2 * page_size));
        check(early, boot_step::reserve_slot,
              map_memory(area + signal_stack_offset, signal_stack_end - signal_stack_offset));
        check(early, boot_step::reserve_slot,
              map_memory(area + loop_stack_offset, lane_area_size - loop_stack_offset));
    }
}

void copy_image(control& early) {
    const std::uint64_t target = early.slot + slot_image_offset;
    const auto length = static_cast<std::uint64_t>(image_end - image_begin);
    if (length > slot_image_size) fail(early, boot_step::copy_image, -E2BIG);
    check(early, boot_step::copy_image, map_memory(target, slot_image_size));
    __builtin_memcpy(reinterpret_cast<void*>(target), image_begin, length);
    check(early, boot_step::copy_image,
          raw_syscall(SYS_mprotect, target, slot_image_size, PROT_READ | PROT_EXEC));
}

// ---- stage 2

/// Permission for large register state (AMX) must be requested before we create
/// threads.
void request_xfeatures(const control& ctl) {
    constexpr std::uint64_t request_permission = 0x1023, first = 17, last = 18;
    for (std::uint64_t feature = first; feature <= last; feature++)
        if ((ctl.xfeatures >> feature & 1) != 0)
            raw_syscall(SYS_arch_prctl, request_permission, feature);
}

void attach(control& ctl) {
    hmmrt_gpu_attach request = {};
    request.size = sizeof(request);
    request.token = ctl.token;
    check(ctl, boot_step::attach,
          raw_syscall(SYS_ioctl, agent_gpu_fd, HMMRT_GPU_IOC_ATTACH, address_of(&request)));
}

/// Moves a mapping made by the kernel, which only allows moving it as a whole.
void move_special(control& ctl, std::uint64_t from, std::uint64_t to, std::uint64_t length) {
    check(ctl, boot_step::move_vdso,
          raw_syscall(SYS_mremap, from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to));
}

/// Address in the slot where we keep special mapping @index while setting up
/// the mirror.
std::uint64_t parking_address(const control& ctl, std::uint32_t index) {
    const special_map& first = ctl.special[0];
    return ctl.slot + slot_vdso_offset + (ctl.special[index].begin - first.begin);
}

/// The same kernel mapped the application's vdso, so its parts have the same
/// order there.
void park_vdso(const boot_context& boot) {
    control& ctl = *boot.ctl;
    if (boot.own_vdso == 0 && ctl.special_count > 0) fail(ctl, boot_step::move_vdso, -ENOENT);
    for (std::uint32_t i = 0; i < ctl.special_count; i++) {
        const special_map& part = ctl.special[i];
        move_special(ctl, boot.own_vdso + (part.begin - ctl.vdso), parking_address(ctl, i),
                     part.end - part.begin);
    }
}

void unpark_vdso(control& ctl) {
    for (std::uint32_t i = 0; i < ctl.special_count; i++) {
        const special_map& part = ctl.special[i];
        move_special(ctl, parking_address(ctl, i), part.begin, part.end - part.begin);
    }
}

void map_device(control& ctl, std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    check(ctl, boot_step::map_device,
          map(begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_FIXED,
              agent_gpu_fd, begin));
}

/// Maps the mirror everywhere except at the slot and at the application's
/// kernel-made mappings.
void map_mirror(control& ctl) {
    std::uint64_t begin = user_space_begin;
    bool slot_passed = false;
    for (std::uint32_t i = 0; i <= ctl.special_count; i++) {
        const bool last = i == ctl.special_count;
        const std::uint64_t end = last ? user_space_end : ctl.special[i].begin;
        if (!slot_passed && ctl.slot < end) {
            map_device(ctl, begin, ctl.slot);
            begin = ctl.slot + slot_size;
            slot_passed = true;
        }
        map_device(ctl, begin, end);
        if (!last) begin = ctl.special[i].end;
    }
}

void init_lane(control& ctl, std::uint32_t index, std::int32_t pid) {
    lane& self = *reinterpret_cast<lane*>(lane_area(ctl, index));
    self.ctl = &ctl;
    self.shared = &ctl.lanes[index];
    self.running = &self.shared->running;
    self.sticky = &ctl.sticky;
    self.index = index;
    self.agent_pid = pid;
}

void await_start(control& ctl) {
    constexpr auto starting = static_cast<std::uint32_t>(agent_state::starting);
    while (ctl.state.load() == starting)
        futex_wait(ctl.state, starting);
}

/// A lane announces itself by storing its thread id.
void prepare_lane(lane& self) {
    boot_step step = boot_step::lanes;
    const std::int64_t result = lane_prepare(self, step);
    if (result < 0) fail(*self.ctl, step, result);
    self.shared->agent_tid.store(static_cast<std::uint32_t>(raw_syscall(SYS_gettid)));
    futex_wake(self.shared->agent_tid, 1);
}

void lane_main(void* argument) {
    lane& self = *static_cast<lane*>(argument);
    prepare_lane(self);
    await_start(*self.ctl);
    run_lane(self);
}

void start_lanes(control& ctl) {
    constexpr std::uint64_t flags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    for (std::uint32_t i = 1; i < ctl.lane_count; i++) {
        const std::uint64_t area = lane_area(ctl, i);
        check(ctl, boot_step::lanes,
              clone_thread(flags, area + lane_area_size, lane_main, reinterpret_cast<void*>(area)));
    }
    for (std::uint32_t i = 1; i < ctl.lane_count; i++) {
        futex_word& tid = ctl.lanes[i].agent_tid;
        while (tid.load() == 0)
            futex_wait(tid, 0);
    }
}

/// Installs the seccomp filter for all lanes at once. From here on, the agent
/// is limited to the calls in seccomp.h.
void confine(control& ctl, std::int32_t pid) {
    sock_filter filter[seccomp_filter_length];
    build_seccomp_filter(filter, pid);
    const struct {
        std::uint16_t length;
        sock_filter* instructions;
    } program = {seccomp_filter_length, filter};
    const std::int64_t result = raw_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                            SECCOMP_FILTER_FLAG_TSYNC, address_of(&program));
    check(ctl, boot_step::seccomp, result > 0 ? -EBUSY : result);
}

[[noreturn]] void boot_in_slot(void* argument) {
    const boot_context boot = *static_cast<boot_context*>(argument);
    control& ctl = *boot.ctl;
    const auto pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));

    request_xfeatures(ctl);
    attach(ctl);
    park_vdso(boot);
    map_mirror(ctl);
    unpark_vdso(ctl);
    check(ctl, boot_step::signals, install_signal_handlers());
    for (std::uint32_t i = 0; i < ctl.lane_count; i++)
        init_lane(ctl, i, pid);
    start_lanes(ctl);
    lane& first = *reinterpret_cast<lane*>(lane_area(ctl, 0));
    prepare_lane(first);
    confine(ctl, pid);

    ctl.state.store(static_cast<std::uint32_t>(agent_state::ready));
    futex_wake(ctl.state, INT32_MAX);
    run_lane(first);
}

} // namespace

extern "C" [[noreturn]] void boot_from_exec(const std::uint64_t* stack) {
    const std::int64_t mapped =
        map(0, control_size, PROT_READ | PROT_WRITE, MAP_SHARED, agent_control_fd, 0);
    if (mapped < 0) raw_syscall(SYS_exit_group, 2);
    control& early = *reinterpret_cast<control*>(mapped);
    if (early.magic != control_magic || early.version != control_version)
        fail(early, boot_step::control, -EPROTO);

    drop_privileges(early);
    build_slot(early);
    copy_image(early);

    // Continue in the copy of the image, with a context that stays mapped.
    const std::uint64_t area = lane_area(early, 0);
    auto* boot = reinterpret_cast<boot_context*>(area + page_size);
    boot->ctl = reinterpret_cast<control*>(early.slot + slot_control_offset);
    boot->own_vdso = find_vdso(stack);
    const std::uint64_t entry = address_of(reinterpret_cast<void*>(&boot_in_slot)) -
                                address_of(image_begin) + early.slot + slot_image_offset;
    continue_on_stack(entry, address_of(boot), area + lane_area_size);
}

} // namespace hmmrt::agent
