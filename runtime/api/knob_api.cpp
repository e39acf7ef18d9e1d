// SPDX-License-Identifier: MIT
// The C interface: knobs.
#include "api/interface.hpp"
#include "base/failure.hpp"
#include "base/memory_range.hpp"

#include <cerrno>
#include <cstring>
#include <string>

namespace hmmrt {
namespace {

std::string name_of(const hmmrt_knob& knob) {
    const auto* const name = reinterpret_cast<const char*>(knob.out_name);
    return {name, strnlen(name, sizeof(knob.out_name))};
}

/// Queries a knob by number. Returns false if there is no such knob.
bool ask(std::uint32_t number, hmmrt_knob& answer) {
    answer = {};
    answer.knob = number;
    answer.scope = HMMRT_SCOPE_DEVICE;
    answer.device_id = current_device().id();
    const int error = process::get().where().control_knob(answer);
    if (error == -EINVAL) return false;
    check_policy_call("knob", error);
    return true;
}

hmmrt_knob find(const char* name) {
    require(name != nullptr, "name is NULL");
    hmmrt_knob found;
    for (std::uint32_t number = 0; ask(number, found); number++)
        if (name_of(found) == name) return found;
    throw failure(hmmErrorInvalidValue, std::string("unknown knob '") + name + "'");
}

/// Returns the pages of a range scope; empty for other scopes.
page_range range_of(const hmmKnobScope& scope) {
    static_assert(static_cast<int>(hmmKnobScopeTypeDevice) == HMMRT_SCOPE_DEVICE);
    static_assert(static_cast<int>(hmmKnobScopeTypeProcess) == HMMRT_SCOPE_SPACE);
    static_assert(static_cast<int>(hmmKnobScopeTypeRange) == HMMRT_SCOPE_RANGE);
    switch (scope.type) {
    case hmmKnobScopeTypeDevice:
    case hmmKnobScopeTypeProcess:
        return {0, 0};
    case hmmKnobScopeTypeRange:
        return pages_around(scope.ptr, scope.bytes);
    }
    throw failure(hmmErrorInvalidValue, "unknown scope type");
}

void check_value(const hmmrt_knob& knob, unsigned value) {
    if (value < knob.out_min || value > knob.out_max)
        throw failure(hmmErrorInvalidValue, name_of(knob) + " must be from " +
                                                std::to_string(knob.out_min) + " to " +
                                                std::to_string(knob.out_max));
}

/// @value: only used for HMMRT_KNOB_SET, otherwise 0.
hmmrt_knob control_knob(const char* name, const hmmKnobScope& scope, std::uint32_t operation,
                        unsigned value) {
    const page_range range = range_of(scope);
    hmmrt_knob request = find(name);
    if ((request.out_scopes & scope.type) == 0)
        throw failure(hmmErrorInvalidValue, name_of(request) + " does not support this scope");
    if (operation == HMMRT_KNOB_SET) check_value(request, value);
    request.operation = operation;
    request.scope = scope.type;
    request.addr = range.addr;
    request.len = range.len;
    request.value = value;
    check_policy_call(name, process::get().where().control_knob(request));
    return request;
}

hmmKnob knob_of(const hmmrt_knob& answer) {
    static_assert(sizeof(hmmKnob::name) == HMMRT_KNOB_NAME_LEN);
    static_assert(static_cast<int>(hmmMigrateOnTouch) == HMMRT_MIGRATE_ON_TOUCH);
    static_assert(static_cast<int>(hmmMigrateOnCount) == HMMRT_MIGRATE_ON_COUNT);
    static_assert(static_cast<int>(hmmMigrateNever) == HMMRT_MIGRATE_NEVER);
    static_assert(static_cast<int>(hmmReplayBlock) == HMMRT_REPLAY_BLOCK);
    static_assert(static_cast<int>(hmmReplayBatch) == HMMRT_REPLAY_BATCH);
    static_assert(static_cast<int>(hmmReplayBatchFlush) == HMMRT_REPLAY_BATCH_FLUSH);
    hmmKnob knob = {};
    const std::string name = name_of(answer);
    name.copy(knob.name, sizeof(knob.name) - 1);
    knob.value = answer.out_value;
    knob.minimum = answer.out_min;
    knob.maximum = answer.out_max;
    knob.defaultValue = answer.out_default;
    knob.scopes = answer.out_scopes;
    return knob;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmKnobGetCount(int* count) {
    return guarded("hmmKnobGetCount", [&] {
        require(count != nullptr, "count is NULL");
        hmmrt_knob unused;
        std::uint32_t number = 0;
        while (ask(number, unused))
            number++;
        *count = static_cast<int>(number);
    });
}

hmmError_t hmmKnobGetByIndex(hmmKnob* knob, int index) {
    return guarded("hmmKnobGetByIndex", [&] {
        require(knob != nullptr, "knob is NULL");
        hmmrt_knob found;
        require(index >= 0 && ask(static_cast<std::uint32_t>(index), found),
                "the knob index is out of range");
        *knob = knob_of(found);
    });
}

hmmError_t hmmKnobGet(hmmKnob* knob, const char* name, hmmKnobScope scope) {
    return guarded("hmmKnobGet", [&] {
        require(knob != nullptr, "knob is NULL");
        *knob = knob_of(control_knob(name, scope, HMMRT_KNOB_GET, 0));
    });
}

hmmError_t hmmKnobSet(const char* name, unsigned int value, hmmKnobScope scope) {
    return guarded("hmmKnobSet", [&] { control_knob(name, scope, HMMRT_KNOB_SET, value); });
}

hmmError_t hmmKnobReset(const char* name, hmmKnobScope scope) {
    return guarded("hmmKnobReset", [&] { control_knob(name, scope, HMMRT_KNOB_UNSET, 0); });
}
