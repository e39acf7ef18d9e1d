// SPDX-License-Identifier: MIT
// The C interface: quotas.
#include "api/interface.hpp"
#include "base/failure.hpp"

namespace hmmrt {
namespace {

/// Gets or sets a quota on the current device.
hmmrt_quota control_quota(hmmrt_quota request, const hmmQuotaScope& scope) {
    device& of = current_device();
    request.device_id = of.id();
    switch (scope.type) {
    case hmmQuotaScopeTypeProcess:
        of.start(); // the device must be bound
        request.scope = HMMRT_QUOTA_OF_SPACE;
        check_policy_call("quota", process::get().where().control_quota(request));
        return request;
    case hmmQuotaScopeTypeCgroup:
        request.scope = HMMRT_QUOTA_OF_CGROUP;
        request.cgroup_fd = scope.cgroup;
        check_policy_call("cgroup quota", process::get().where().control_quota(request));
        return request;
    }
    throw failure(hmmErrorInvalidValue, "unknown scope type");
}

hmmQuota quota_of(const hmmrt_quota& answer) {
    static_assert(hmmQuotaNoLimit == HMMRT_QUOTA_NO_LIMIT);
    static_assert(hmmQuotaPriorityDefault == HMMRT_PRIORITY_DEFAULT);
    static_assert(hmmQuotaPriorityMax == HMMRT_PRIORITY_MAX);
    hmmQuota quota = {};
    quota.limit = answer.out_limit_bytes;
    quota.priority = answer.out_priority;
    quota.used = answer.out_used_bytes;
    quota.evicted = answer.out_evicted_bytes;
    quota.refused = answer.out_refused;
    return quota;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmQuotaGet(hmmQuota* quota, hmmQuotaScope scope) {
    return guarded("hmmQuotaGet", [&] {
        require(quota != nullptr, "quota is NULL");
        hmmrt_quota request = {};
        request.operation = HMMRT_QUOTA_GET;
        *quota = quota_of(control_quota(request, scope));
    });
}

hmmError_t hmmQuotaSet(size_t limit, unsigned int priority, hmmQuotaScope scope) {
    return guarded("hmmQuotaSet", [&] {
        require(limit == hmmQuotaNoLimit || limit % page_size == 0,
                "the limit is not a multiple of the page size");
        require(priority <= hmmQuotaPriorityMax, "the priority exceeds hmmQuotaPriorityMax");
        hmmrt_quota request = {};
        request.operation = HMMRT_QUOTA_SET;
        request.limit_bytes = limit;
        request.priority = priority;
        control_quota(request, scope);
    });
}
