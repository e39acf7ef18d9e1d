// SPDX-License-Identifier: MIT
#include "current_thread.hpp"

#include "block_name.hpp"
#include "device_code.hpp"
#include "hmm/hmm_runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <pthread.h>
#include <string>

namespace hmmcuda {
namespace {

constexpr std::size_t most_lanes = 1024;

/// The lanes that have a current_thread, by pthread_self(), up to the first 0.
std::atomic<std::uint64_t> lane_threads[most_lanes];

/// Lanes write theirs to memory of this library, so that we can read them after the lane and
/// its stack are gone. Each has its own page, because lanes of several devices write.
struct alignas(4096) own_page {
    current_thread thread;
};
own_page thread_pages[most_lanes];

/// Used by lanes for which there is no page left.
[[gnu::tls_model("initial-exec")]] thread_local current_thread own;
[[gnu::tls_model("initial-exec")]] constinit thread_local current_thread* mine = nullptr;
/// False if the current_thread of this lane certainly has no name. It starts as true, because an
/// earlier thread with the same pthread_self() may have left one.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool may_have_name = true;

current_thread* find_thread(std::uint64_t thread) {
    for (std::size_t i = 0; i < most_lanes; i++) {
        const std::uint64_t lane = lane_threads[i].load();
        if (lane == thread) return &thread_pages[i].thread;
        if (lane == 0) return nullptr;
    }
    return nullptr;
}

current_thread* claim_thread() {
    const auto thread = static_cast<std::uint64_t>(pthread_self());
    if (current_thread* const found = find_thread(thread)) return found;
    for (std::size_t i = 0; i < most_lanes; i++) {
        std::uint64_t free = 0;
        if (lane_threads[i].compare_exchange_strong(free, thread)) return &thread_pages[i].thread;
    }
    return &own;
}

void set_named(current_thread& thread, const kernel_code* kernel) {
    std::atomic_ref(thread.named).store(kernel, std::memory_order_relaxed);
}

const char* name_of_access(int access) {
    switch (access) {
    case HMM_ACCESS_WRITE:
        return "write";
    case HMM_ACCESS_EXEC:
        return "execution";
    default:
        return "read";
    }
}

std::string describe_access(const hmmFaultRecord& record) {
    if (record.access == 0) return "illegal address";
    char text[64];
    std::snprintf(text, sizeof(text), "%s at address 0x%llx", name_of_access(record.access),
                  static_cast<unsigned long long>(record.address));
    return text;
}

void write_line(const current_thread& thread, const hmmFaultRecord& record) {
    block_run run = {};
    run.kernel = thread.named;
    std::ranges::copy(thread.index, run.index);
    std::fprintf(stderr, "hmmcuda: %s, thread (%u, %u, %u): %s\n", name_of(run).c_str(),
                 thread.thread_index[0], thread.thread_index[1], thread.thread_index[2],
                 describe_access(record).c_str());
}

} // namespace

void forget_thread() noexcept {
    if (!may_have_name) return;
    may_have_name = false;
    if (mine != nullptr) return set_named(*mine, nullptr);
    if (current_thread* const left = find_thread(static_cast<std::uint64_t>(pthread_self())))
        set_named(*left, nullptr);
}

void name_failed_thread() {
    hmmFaultRecord record = {};
    if (hmmGetLastErrorRecord(&record) != hmmSuccess || record.error == hmmSuccess) return;
    current_thread* const found = record.thread != 0 ? find_thread(record.thread) : nullptr;
    if (found == nullptr) return;
    const std::atomic_ref named(found->named);
    if (named.load() == nullptr) return;
    const current_thread thread = *found;
    const bool first = named.exchange(nullptr) != nullptr;
    if (first && record.error == hmmErrorIllegalAddress) write_line(thread, record);
}

} // namespace hmmcuda

using namespace hmmcuda;

// hmmcc's passes create calls to these.
extern "C" {

/// Called when a lane starts or continues a block. @names_threads: each thread fills it in
/// before it runs.
current_thread* __hmm_enter_block(const block_run* run, std::uint32_t names_threads) {
    if (mine == nullptr) mine = claim_thread();
    mine->run = run;
    std::ranges::copy(run->index, mine->index);
    set_named(*mine, names_threads != 0 ? run->kernel : nullptr);
    may_have_name = names_threads != 0;
    return mine;
}

/// That of the calling lane.
const current_thread* __hmm_current_thread() {
    return mine != nullptr ? mine : &own;
}

/// Called by functions of the file @owner that use its __shared__ variables.
void __hmm_check_shared_owner(const block_run* run, const void* owner) {
    if (run->kernel->shared_owner == owner) return;
    fail_block(*run, "calls a function that is defined in another file and uses __shared__ "
                     "variables, which is not supported");
}

} // extern "C"
