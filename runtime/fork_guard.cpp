// SPDX-License-Identifier: MIT
#include "fork_guard.hpp"

#include "failure.hpp"
#include "sys/syscalls.hpp"

#include <atomic>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>

namespace hmmrt::fork_guard {
namespace {

// No lock is used: the child may be forked while another thread is in add().
constexpr int capacity = 128;
std::atomic<int> table[capacity]; // descriptor + 1
std::atomic<const volatile int*> parent_mark{nullptr};

void close_in_child() {
    if (parent_mark.load() == nullptr) return;
    for (auto& entry : table)
        if (const int fd = entry.exchange(0) - 1; fd >= 0) sys::close_file(fd);
}

/// The kernel clears this page in every child, even if the child was created
/// without fork().
void create_mark() {
    const std::int64_t page =
        sys::map(0, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    int error = page < 0 ? static_cast<int>(page) : 0;
    if (error == 0)
        error = sys::advise(static_cast<std::uint64_t>(page), page_size, MADV_WIPEONFORK);
    if (error == 0) error = -pthread_atfork(nullptr, nullptr, close_in_child);
    if (error < 0) throw failure(hmmErrorMemoryAllocation, describe_errno("fork guard", error));
    auto* mark = reinterpret_cast<volatile int*>(page);
    *mark = 1;
    parent_mark.store(mark);
}

} // namespace

void arm() {
    static std::mutex once;
    const std::lock_guard lock(once);
    if (parent_mark.load() == nullptr) create_mark();
}

bool is_child() {
    const volatile int* mark = parent_mark.load(std::memory_order_acquire);
    return mark != nullptr && *mark == 0;
}

void add(int fd) {
    for (auto& entry : table) {
        int free = 0;
        if (entry.compare_exchange_strong(free, fd + 1)) return;
    }
}

void remove(int fd) {
    for (auto& entry : table) {
        int mine = fd + 1;
        if (entry.compare_exchange_strong(mine, 0)) return;
    }
}

} // namespace hmmrt::fork_guard
