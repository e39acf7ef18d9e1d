/* SPDX-License-Identifier: MIT */
/*
 * Settings of the memory policy: knobs and quotas. hmm_runtime.h includes this
 * file. CUDA has no such functions: the settings of its driver are module
 * parameters, which apply to all devices and processes.
 */
#ifndef HMM_HMM_POLICY_H
#define HMM_HMM_POLICY_H

#include "hmm_types.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- knobs ------------------------------------------------------------ */

/*
 * Knobs are the tunable parameters of the migration policy. <linux/hmmrt.h>
 * describes each one: "prefetch_threshold" is HMMRT_KNOB_PREFETCH_THRESHOLD
 * there.
 *
 * A knob has a value in one or more scopes. The most specific scope with a
 * value applies: first the range, then the process, then the device, then the
 * default. A change applies to later decisions. It does not itself migrate
 * pages, and hmmDeviceReset() does not undo it.
 */
typedef enum hmmKnobScopeType {
    /* The current device, for all processes. Changes need CAP_SYS_ADMIN. */
    hmmKnobScopeTypeDevice = 1,
    hmmKnobScopeTypeProcess = 2, /* this process, on all devices */
    /*
     * A range of this process's memory, on all devices. Dropped when the range
     * is unmapped or moved, like advice. The rules for ranges are at the start
     * of the memory section of hmm_runtime.h.
     */
    hmmKnobScopeTypeRange = 4
} hmmKnobScopeType;

typedef struct hmmKnobScope {
    hmmKnobScopeType type;
    const void* ptr; /* for Range: start of the range; else ignored */
    size_t bytes;    /* for Range: its length; else ignored */
} hmmKnobScope;

typedef struct hmmKnob {
    char name[48];
    unsigned int value; /* the value that applies */
    unsigned int minimum, maximum;
    unsigned int defaultValue;
    /* mask of hmmKnobScopeType: scopes in which the knob can be set */
    unsigned int scopes;
    unsigned int reserved[8];
} hmmKnob;

/* Values of "migration_policy": when device accesses migrate a page. */
typedef enum hmmMigrationPolicy {
    hmmMigrateOnTouch = 0, /* at the first access */
    hmmMigrateOnCount = 1, /* after enough remote accesses */
    hmmMigrateNever = 2    /* never: the device accesses the page remotely */
} hmmMigrationPolicy;

/* Values of "fault_replay_policy": when the device replays faults. */
typedef enum hmmReplayPolicy {
    hmmReplayBlock = 0, /* after each serviced block */
    hmmReplayBatch = 1, /* after each batch */
    /* after each batch, also for faults outside the batch that it resolved */
    hmmReplayBatchFlush = 2
} hmmReplayPolicy;

/* Number of knobs of the current device. */
HMM_API hmmError_t hmmKnobGetCount(int* count);
/*
 * Gets a knob by its index, from 0 on, with its value in the device scope.
 * hmmErrorInvalidValue for an index that does not exist.
 */
HMM_API hmmError_t hmmKnobGetByIndex(hmmKnob* knob, int index);
/*
 * Gets a knob by its name, with the value that applies in @scope to faults of
 * the current device; for a range, the value of its first page.
 * hmmErrorInvalidValue for NULL or an unknown name, an unknown scope type, a
 * scope that @scopes of the knob does not include, and a range that is not
 * fully mapped; the same holds for the next two functions.
 */
HMM_API hmmError_t hmmKnobGet(hmmKnob* knob, const char* name, hmmKnobScope scope);
/*
 * Sets the value of a knob in @scope. hmmErrorInvalidValue for a value outside
 * [minimum, maximum]; hmmErrorNotPermitted for a change that needs
 * CAP_SYS_ADMIN.
 */
HMM_API hmmError_t hmmKnobSet(const char* name, unsigned int value, hmmKnobScope scope);
/*
 * Removes the value of a knob in @scope; no error if none was set.
 * hmmErrorNotPermitted as for hmmKnobSet().
 */
HMM_API hmmError_t hmmKnobReset(const char* name, hmmKnobScope scope);

/* ---- quotas ----------------------------------------------------------- */

#define hmmQuotaNoLimit SIZE_MAX
/* Memory with a higher priority is kept longer. */
#define hmmQuotaPriorityDefault 128u
#define hmmQuotaPriorityMax 255u

/* The scope of a quota. */
typedef enum hmmQuotaScopeType {
    hmmQuotaScopeTypeProcess = 1, /* this process */
    hmmQuotaScopeTypeCgroup = 2   /* a cgroup v2 and all of its descendants */
} hmmQuotaScopeType;

typedef struct hmmQuotaScope {
    hmmQuotaScopeType type;
    /* for Cgroup: a file descriptor of the cgroup directory; else ignored */
    int cgroup;
} hmmQuotaScope;

typedef struct hmmQuota {
    size_t limit; /* bytes of device memory, or hmmQuotaNoLimit */
    unsigned int priority;
    size_t used;      /* bytes charged to the quota */
    size_t evicted;   /* bytes evicted because of the limit */
    uint64_t refused; /* allocations refused because of the limit */
    uint64_t reserved[4];
} hmmQuota;

/*
 * Gets the quota of a process or a cgroup on the current device, and its usage.
 * For Process, the call starts the device. hmmErrorInvalidValue for an unknown
 * scope type, and for a descriptor that is not of a cgroup directory;
 * hmmErrorNotSupported if the kernel has no cgroup support.
 */
HMM_API hmmError_t hmmQuotaGet(hmmQuota* quota, hmmQuotaScope scope);
/*
 * Sets the quota of a process or a cgroup on the current device.
 *
 * @limit: a multiple of the page size, or hmmQuotaNoLimit. An allocation over
 * the limit first evicts memory charged to the same limit. If that frees
 * nothing, devices access the pages in system memory, and a prefetch reports
 * hmmStayQuota. If the usage exceeds a new limit, the call evicts the excess
 * before it returns, except pages that are in use.
 *
 * @priority: up to hmmQuotaPriorityMax. When a device is full, those that use
 * more than their share lose memory first, in order of increasing priority. The
 * priority of a process is limited by the priorities of its cgroups.
 *
 * The quota lasts until the process ends or the cgroup is removed;
 * hmmDeviceReset() does not change it. A cgroup with hmmQuotaNoLimit and
 * hmmQuotaPriorityMax has no quota.
 *
 * hmmErrorNotPermitted for a cgroup without CAP_SYS_ADMIN. Without
 * CAP_SYS_ADMIN, a process also cannot raise its limit or priority above the
 * values that a caller with CAP_SYS_ADMIN set last; if none were set, above
 * hmmQuotaNoLimit and hmmQuotaPriorityDefault.
 */
HMM_API hmmError_t hmmQuotaSet(size_t limit, unsigned int priority, hmmQuotaScope scope);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_POLICY_H */
