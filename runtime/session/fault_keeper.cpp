// SPDX-License-Identifier: MIT
#include "session/fault_keeper.hpp"

#include "base/message.hpp"
#include "fault/sanitizer.hpp"
#include "sys/syscalls.hpp"
#include "thread/kernel_exception.hpp"

#include <thread>

namespace hmmrt {
namespace {

constexpr int record_limit_milliseconds = 5000;

} // namespace

void fault_keeper::await_record() {
    const control& ctl = lanes_.shared();
    const std::uint64_t deadline = sys::monotonic_milliseconds() + record_limit_milliseconds;
    bool killed = false;
    while (ctl.sticky.load() < static_cast<std::uint32_t>(sticky_state::ending) && !lanes_.lost()) {
        if (!killed && sys::monotonic_milliseconds() >= deadline) {
            lanes_.kill();
            killed = true;
        }
        std::this_thread::yield();
    }
}

/// We can't ignore an unfinished record: lanes drop work as soon as one of them
/// starts to record its fault.
const fault_record* fault_keeper::find() {
    if (!has_fault_.load()) {
        const std::uint32_t sticky = lanes_.shared().sticky.load();
        if (sticky == static_cast<std::uint32_t>(sticky_state::none)) return nullptr;
        await_record();
        keep();
    }
    return &fault_;
}

/// If the agent ended before it finished the record, the cause stays unknown,
/// but we still report a fault because lanes have dropped work.
void fault_keeper::keep() {
    const std::lock_guard lock(lock_);
    const control& ctl = lanes_.shared();
    const bool recorded = ctl.sticky.load() >= static_cast<std::uint32_t>(sticky_state::walking);
    if (has_fault_.load()) return;
    if (recorded) fault_ = ctl.fault;
    end_for_sanitizer();
    if (fault_.cause == fault_cause::exception && fault_.lane < max_lanes)
        exception_ = take_kernel_exception(ctl.lanes[fault_.lane].fs_base, exception_text_);
    has_fault_.store(true);
}

/// Ends the program if a sanitizer tried to end it.
void fault_keeper::end_for_sanitizer() const {
    const int status = status_of_sanitizer(fault_);
    if (status == 0) return;
    message text;
    text.add("hmmrt: device %d, lane %u, items %llu to %llu: a sanitizer found an error; the "
             "program exits with status %d\n",
             device_, fault_.lane, static_cast<unsigned long long>(fault_.first_item),
             static_cast<unsigned long long>(fault_.first_item + fault_.item_count - 1), status);
    if (!quiet_) sys::write_error(text.text(), text.size());
    sys::end_process(status);
}

bool fault_keeper::set(const fault_record& fault) {
    const std::lock_guard lock(lock_);
    auto none = static_cast<std::uint32_t>(sticky_state::none);
    const auto ending = static_cast<std::uint32_t>(sticky_state::ending);
    if (has_fault_.load() || !lanes_.shared().sticky.compare_exchange_strong(none, ending))
        return false;
    fault_ = fault;
    has_fault_.store(true);
    return true;
}

} // namespace hmmrt
