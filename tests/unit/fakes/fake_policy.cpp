// SPDX-License-Identifier: MIT
#include "fakes/fake_policy.hpp"

#include "fakes/fake_memory.hpp"

#include <cerrno>
#include <cstring>

namespace fakes {
namespace {

constexpr std::uint32_t anywhere = HMMRT_SCOPE_DEVICE | HMMRT_SCOPE_SPACE | HMMRT_SCOPE_RANGE;

std::uint64_t key_of(std::uint32_t scope, std::uint32_t device) {
    return scope == HMMRT_SCOPE_DEVICE ? std::uint64_t(device) << 32 | scope : scope;
}

std::uint32_t value_of(const fake_knob& knob, std::uint32_t scope, std::uint32_t device) {
    for (std::uint32_t each = scope; each != 0; each /= 2)
        if (const auto found = knob.set.find(key_of(each, device)); found != knob.set.end())
            return found->second;
    return knob.by_default;
}

int check(const fake_knob& knob, const hmmrt_knob& request) {
    const bool set = request.operation == HMMRT_KNOB_SET;
    if ((knob.scopes & request.scope) == 0 || (!set && request.value != 0)) return -EINVAL;
    if (set && (request.value < knob.min || request.value > knob.max)) return -EINVAL;
    if (request.scope != HMMRT_SCOPE_RANGE)
        return request.addr != 0 || request.len != 0 ? -EINVAL : 0;
    if (request.len == 0 || request.addr % 4096 != 0 || request.len % 4096 != 0) return -EINVAL;
    return fake_memory::is_mapped(request.addr, request.len) ? 0 : -EFAULT;
}

} // namespace

void fake_policy::clear() {
    const std::lock_guard lock(lock_);
    knob_change_error = quota_error = stats_error = 0;
    knobs = {{"migration_policy", 0, 2, 0, anywhere, {}},
             {"prefetch_threshold", 1, 100, 51, anywhere, {}},
             {"oversubscription", 0, 1, 1, HMMRT_SCOPE_DEVICE, {}}};
    knob_changes.clear();
    quotas.clear();
    queries.clear();
    annotations.clear();
    annotation_error = 0;
    held_ = {};
    held_.out_limit_bytes = HMMRT_QUOTA_NO_LIMIT;
    held_.out_priority = HMMRT_PRIORITY_DEFAULT;
}

int fake_policy::knob(hmmrt_knob& request) {
    const std::lock_guard lock(lock_);
    if (request.knob >= knobs.size()) return -EINVAL;
    fake_knob& one = knobs[request.knob];
    if (const int error = check(one, request); error != 0) return error;
    if (request.operation != HMMRT_KNOB_GET) {
        if (knob_change_error != 0) return -knob_change_error;
        knob_changes.push_back(request);
        one.set.erase(key_of(request.scope, request.device_id));
    }
    if (request.operation == HMMRT_KNOB_SET)
        one.set[key_of(request.scope, request.device_id)] = request.value;
    request.out_value = value_of(one, request.scope, request.device_id);
    request.out_min = one.min;
    request.out_max = one.max;
    request.out_default = one.by_default;
    request.out_scopes = one.scopes;
    std::strncpy(reinterpret_cast<char*>(request.out_name), one.name.c_str(),
                 HMMRT_KNOB_NAME_LEN - 1);
    return 0;
}

int fake_policy::stats(hmmrt_stats& request) {
    const std::lock_guard lock(lock_);
    queries.push_back(request);
    if (stats_error != 0) return -stats_error;
    std::uint64_t value = 0;
    for (auto* each = &request.out_device_faults; each <= &request.out_blocks; each++)
        *each = ++value;
    return 0;
}

int fake_policy::annotate(const hmmrt_annotate& request) {
    const std::lock_guard lock(lock_);
    if (annotation_error != 0) return -annotation_error;
    annotations.push_back(request);
    return 0;
}

int fake_policy::quota(hmmrt_quota& request) {
    const std::lock_guard lock(lock_);
    quotas.push_back(request);
    if (quota_error != 0) return -quota_error;
    if (request.scope == HMMRT_QUOTA_OF_SPACE && request.cgroup_fd != 0) return -EINVAL;
    if (request.operation == HMMRT_QUOTA_SET) {
        held_.out_limit_bytes = request.limit_bytes;
        held_.out_priority = request.priority;
    } else if (request.limit_bytes != 0 || request.priority != 0) {
        return -EINVAL;
    }
    request.out_limit_bytes = held_.out_limit_bytes;
    request.out_priority = held_.out_priority;
    request.out_used_bytes = 1 << 20;
    request.out_evicted_bytes = 2 << 20;
    request.out_refused = 3;
    return 0;
}

} // namespace fakes
