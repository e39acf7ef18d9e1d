// SPDX-License-Identifier: MIT
#include "base/fork_guard.hpp"

#include "base/failure.hpp"
#include "base/own_memory.hpp"
#include "sys/syscalls.hpp"

#include <atomic>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>

namespace hmmrt::fork_guard {
namespace {

// The tables need no lock, because a child may be forked while another thread
// is in add(). We never free them.
struct table {
    std::atomic<int> entries[256]; ///< descriptor + 1; 0 is free
    std::atomic<table*> next;
};
table first = {};
std::atomic<const volatile int*> parent_mark{nullptr};

/// Calls visit(entry) until it returns true, and then returns NULL. If it never
/// does, returns the last table.
template <class Visit>
table* visit_entries(Visit visit) {
    for (table* at = &first;;) {
        for (auto& entry : at->entries)
            if (visit(entry)) return nullptr;
        table* const next = at->next.load();
        if (next == nullptr) return at;
        at = next;
    }
}

/// Appends another table.
void extend(table* last) {
    own_memory_allocator<table> memory;
    auto* const fresh = new (memory.allocate(1)) table{};
    for (table* none = nullptr; !last->next.compare_exchange_strong(none, fresh); none = nullptr)
        last = last->next.load();
}

void close_in_child() {
    if (parent_mark.load() == nullptr) return;
    visit_entries([](std::atomic<int>& entry) {
        if (const int fd = entry.exchange(0) - 1; fd >= 0) sys::close_file(fd);
        return false;
    });
}

/// Maps a page that the kernel clears in every child, even if it was created
/// without fork().
void create_mark() {
    const std::int64_t page =
        sys::map(0, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    int error = page < 0 ? static_cast<int>(page) : 0;
    if (error == 0)
        error = sys::advise(static_cast<std::uint64_t>(page), page_size, MADV_WIPEONFORK);
    if (error == 0) error = -pthread_atfork(nullptr, nullptr, close_in_child);
    if (error < 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("cannot set up the fork guard", error));
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
    const auto take = [=](std::atomic<int>& entry) {
        int free = 0;
        return entry.compare_exchange_strong(free, fd + 1);
    };
    while (table* const last = visit_entries(take))
        extend(last);
}

void remove(int fd) {
    visit_entries([=](std::atomic<int>& entry) {
        int mine = fd + 1;
        return entry.compare_exchange_strong(mine, 0);
    });
}

} // namespace hmmrt::fork_guard
