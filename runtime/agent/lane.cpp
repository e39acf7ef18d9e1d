// SPDX-License-Identifier: MIT
// The lane loop: take a piece of an active entry, run it, wait for more.
#include "lane.h"

#include "prefetch_rest.h"

#include <asm/prctl.h>
#include <cerrno>
#include <linux/hmmrt.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

namespace hmmrt::agent {
namespace {

void run_range(lane& self, const range_work& work, std::uint32_t index) {
    const std::uint64_t begin = index * work.piece_items;
    const std::uint64_t left = work.items - begin;
    const std::uint64_t end = begin + (work.piece_items < left ? work.piece_items : left);

    self.first_item = begin;
    self.item_count = end - begin;
    self.function = work.named;
    self.shared->function.store(work.named, std::memory_order_relaxed);
    self.shared->first_item.store(begin, std::memory_order_relaxed);
    self.shared->item_count.store(end - begin, std::memory_order_relaxed);
    self.shared->started.store(__builtin_ia32_rdtsc(), std::memory_order_relaxed);
    self.mxcsr = work.mxcsr;
    self.x87_control = work.x87_control;
    self.signal_mask = 0;
    lane_call(&self, work.function, work.closure, begin, end, self.shared->stack_top);
}

// Memory operations are not device code: strict mode doesn't apply to them, and
// their failures aren't sticky.

/// Records an error, unless one is recorded already.
void note_result(lane& self, entry_kind kind, std::int64_t result) {
    std::uint64_t none = 0;
    if (result < 0)
        self.ctl->memory_error.compare_exchange_strong(none, memory_error_of(kind, result));
}

/// Returns an argument for an ioctl on the space, zeroed except for its size.
template <class Argument>
Argument& space_argument(lane& self) {
    static_assert(sizeof(Argument) <= sizeof(self.shared->scratch));
    auto* argument = reinterpret_cast<Argument*>(self.shared->scratch);
    __builtin_memset(argument, 0, sizeof(*argument));
    argument->size = sizeof(*argument);
    return *argument;
}

std::int64_t call_space(lane& self, std::uint64_t request) {
    const std::uint64_t args[6] = {static_cast<std::uint64_t>(self.ctl->space_fd), request,
                                   address_of(self.shared->scratch)};
    return request_call(self, call_kind::system_call, SYS_ioctl, args);
}

/// Runs a prefetch. If a signal to the parked thread interrupts the ioctl, we
/// repeat it for the remaining pages, unless the device has failed.
void run_prefetch(lane& self, const prefetch_work& work) {
    auto& request = space_argument<hmmrt_prefetch>(self);
    request.addr = work.addr;
    request.len = work.len;
    request.location = work.location;
    std::int64_t result = call_space(self, HMMRT_IOC_PREFETCH);
    while (result == -EINTR && self.ctl->sticky.load() == 0)
        result = prefetch_rest(request) ? call_space(self, HMMRT_IOC_PREFETCH) : 0;
    note_result(self, entry_kind::prefetch, result);
}

void run_advice(lane& self, const advice_work& work) {
    auto& request = space_argument<hmmrt_advise>(self);
    request.addr = work.addr;
    request.len = work.len;
    request.advice = work.advice;
    request.location = work.location;
    request.value = work.value;
    note_result(self, entry_kind::advice, call_space(self, HMMRT_IOC_ADVISE));
}

void run_discard(lane& self, const discard_work& work) {
    const std::uint64_t args[6] = {work.addr, work.len, MADV_DONTNEED};
    note_result(self, entry_kind::discard,
                request_call(self, call_kind::system_call, SYS_madvise, args));
}

/// Reads a clock common to both processes. The buffer is on the lane's own
/// stack.
void take_stamp(ring_entry& entry) {
    constexpr std::uint64_t nanoseconds = 1000000000;
    struct {
        std::uint64_t seconds, rest;
    } now = {};
    raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, address_of(&now));
    entry.stamp = now.seconds * nanoseconds + now.rest;
}

void run_piece(lane& self, const piece& mine) {
    switch (mine.entry->kind.load(std::memory_order_relaxed)) {
    case entry_kind::range:
    case entry_kind::serial:
        return run_range(self, mine.entry->range, mine.index);
    case entry_kind::prefetch:
        return run_prefetch(self, mine.entry->prefetch);
    case entry_kind::advice:
        return run_advice(self, mine.entry->advice);
    case entry_kind::discard:
        return run_discard(self, mine.entry->discard);
    case entry_kind::stamp:
        return take_stamp(*mine.entry);
    case entry_kind::marker:
    case entry_kind::gate:
        return;
    }
}

bool work_once(lane& self) {
    control& ctl = *self.ctl;
    if (!ring_find(ctl, self.turns, self.current)) return false;
    const piece mine = self.current;
    if (ctl.sticky.load() == 0) run_piece(self, mine);
    std::uint32_t over = 1;
    // After a fault nothing runs, so drop the remaining pieces of the entry at
    // once.
    if (ctl.sticky.load() != 0) over += ring_take_rest(ctl, mine);
    ring_finish(ctl, mine, over);
    return true;
}

} // namespace

std::int64_t lane_prepare(lane& self, boot_step& step) {
    const std::uint64_t area = address_of(&self);
    stack_t stack = {};
    stack.ss_sp = reinterpret_cast<void*>(area + signal_stack_offset);
    stack.ss_size = signal_stack_end - signal_stack_offset;

    step = boot_step::lanes;
    std::int64_t result = raw_syscall(SYS_sigaltstack, address_of(&stack), 0);
    if (result < 0) return result;
    result = raw_syscall(SYS_arch_prctl, ARCH_SET_FS, self.shared->fs_base);
    if (result < 0) return result;

    // Don't use a selector byte, because device code could write it.
    step = boot_step::dispatch;
    return raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON,
                       self.ctl->slot + slot_image_offset, slot_image_size, 0);
}

std::int64_t request_call(lane& self, call_kind kind, std::int64_t number,
                          const std::uint64_t (&args)[6]) {
    lane_control& shared = *self.shared;
    shared.kind = kind;
    shared.number = number;
    for (int i = 0; i < 6; i++)
        shared.args[i] = args[i];
    shared.state.store(static_cast<std::uint32_t>(call_state::requested));
    settle_call(self);
    return shared.result;
}

void settle_call(lane& self) {
    futex_word& state = self.shared->state;
    std::uint32_t now = state.load();
    if (now == static_cast<std::uint32_t>(call_state::idle)) return;
    if (now == static_cast<std::uint32_t>(call_state::requested)) futex_wake(state, 1);
    while ((now = state.load()) != static_cast<std::uint32_t>(call_state::done))
        futex_wait(state, now);
    state.store(static_cast<std::uint32_t>(call_state::idle));
}

void lane_loop(lane& self) {
    control& ctl = *self.ctl;
    for (;;) {
        const std::uint32_t bell = ctl.doorbell.load();
        if (work_once(self)) continue;
        ctl.sleepers.fetch_add(1);
        futex_wait(ctl.doorbell, bell);
        ctl.sleepers.fetch_sub(1);
    }
}

} // namespace hmmrt::agent
