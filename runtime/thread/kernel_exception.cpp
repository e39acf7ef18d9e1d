// SPDX-License-Identifier: MIT
#include "thread/kernel_exception.hpp"

#include "hmm/hmm_runtime.h"
#include "sys/syscalls.hpp"
#include "thread/lane_escape.hpp"
#include "thread/parked_thread.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <pthread.h>
#include <typeinfo>
#include <utility>

namespace hmmrt {
namespace {

/// An exception stored by a lane. Lanes must not take locks here, because they
/// may be stopped at any time.
struct lane_exception {
    std::atomic<std::uint64_t> thread{0}; ///< 0: the element is free
    std::exception_ptr held;
    const char* type = nullptr; ///< mangled; NULL if unknown
    const char* text = nullptr; ///< what(), or NULL
};

/// Each parked thread uses at most one element.
lane_exception table[parked_context::capacity];

lane_exception* find_element(std::uint64_t thread) {
    for (lane_exception& each : table)
        if (each.thread.load() == thread) return &each;
    return nullptr;
}

lane_exception* claim_element(std::uint64_t thread) {
    if (lane_exception* const mine = find_element(thread)) return mine;
    for (lane_exception& each : table) {
        std::uint64_t free = 0;
        if (each.thread.compare_exchange_strong(free, thread)) return &each;
    }
    return nullptr;
}

void describe_exception(const lane_exception& from, char (&text)[512]) {
    int status = 0;
    char* const name =
        from.type != nullptr ? abi::__cxa_demangle(from.type, nullptr, nullptr, &status) : nullptr;
    std::snprintf(text, sizeof(text), "%s%s%s",
                  name != nullptr        ? name
                  : from.type != nullptr ? from.type
                                         : "unknown type",
                  from.text != nullptr ? ": " : "", from.text != nullptr ? from.text : "");
    std::free(name);
}

} // namespace

std::exception_ptr take_kernel_exception(std::uint64_t thread, char (&text)[512]) {
    lane_exception* const found = thread != 0 ? find_element(thread) : nullptr;
    if (found == nullptr) return nullptr;
    describe_exception(*found, text);
    std::exception_ptr taken = std::exchange(found->held, nullptr);
    found->thread.store(0);
    return taken;
}

} // namespace hmmrt

using namespace hmmrt;

void hmmEndLaunchByException(void* exception) {
    const char* type = nullptr;
    const char* text = nullptr;
    auto& original = *static_cast<std::exception_ptr*>(exception);
    try {
        std::rethrow_exception(original);
    } catch (const std::exception& error) {
        type = typeid(error).name();
        text = error.what();
    } catch (...) {
        if (const std::type_info* const found = abi::__cxa_current_exception_type())
            type = found->name();
    }
    lane_exception* const mine = claim_element(static_cast<std::uint64_t>(pthread_self()));
    if (mine != nullptr) {
        mine->type = type;
        mine->text = text;
        mine->held = std::exchange(original, nullptr);
    }
    leave_by_exception();
    if (!sys::end_by_exception()) std::terminate();
}
