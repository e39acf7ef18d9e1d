/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hmmrt: knobs, the tunable parameters of the memory policy, and their values.
 */
#ifndef _UAPI_LINUX_HMMRT_KNOB_H
#define _UAPI_LINUX_HMMRT_KNOB_H

/**
 * enum hmmrt_knob_id - tunable parameters of the memory policy
 * @HMMRT_KNOB_MIGRATION_POLICY: enum hmmrt_migration_policy: what a device
 *	fault does
 * @HMMRT_KNOB_PREFETCH_ENABLE: let a device fault migrate more than the 64 KiB
 *	around its address
 * @HMMRT_KNOB_PREFETCH_THRESHOLD: migrate a larger window only if more than
 *	this percentage of it would be mapped on the device afterwards
 * @HMMRT_KNOB_PREFETCH_MIN_FAULTS: number of faults in a block before a fault
 *	migrates more than 64 KiB
 * @HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS: let a sequential access that continues
 *	from the adjacent block migrate the whole block
 * @HMMRT_KNOB_CPU_FAULT_MAX_PAGES: maximum number of pages that one CPU fault
 *	migrates back to system memory
 * @HMMRT_KNOB_THRASHING_ENABLE: detect memory that migrates back and forth.
 *	Memory that is evicted repeatedly is detected even if this is 0.
 * @HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD: number of samples in which a remote
 *	granule of 64 KiB was found used before it migrates to the device. In a
 *	memory object, the block of the object with the granule migrates. There
 *	are at most 50 samples per second.
 * @HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE: enable access-counter migration.
 *	HMMRT_MIGRATE_ON_COUNT implies it.
 * @HMMRT_KNOB_THRASHING_THRESHOLD: number of successive migrations, each within
 *	a lapse of the last one, after which a block thrashes. Also the number
 *	of times in a row that a block is needed again soon after its eviction
 *	before it is pinned.
 * @HMMRT_KNOB_THRASHING_PIN_THRESHOLD: number of times that device faults on a
 *	thrashing block are throttled before the block is pinned
 * @HMMRT_KNOB_THRASHING_LAPSE_USEC: minimum lapse. The lapse is raised to 4
 *	times the average migration time of the device, but not above 50 ms.
 * @HMMRT_KNOB_THRASHING_NAP: how long a throttled fault waits, in lapses, at
 *	most one second
 * @HMMRT_KNOB_THRASHING_PIN: how long a thrash pin keeps a block where it is,
 *	in lapses
 * @HMMRT_KNOB_THRASHING_EPOCH: time without migrations, in lapses, after which
 *	the thrashing state of a block is reset
 * @HMMRT_KNOB_THRASHING_MAX_RESETS: number of such resets after which detection
 *	is disabled for the block. 0 means the same as 1.
 * @HMMRT_KNOB_FAULT_BATCH_COUNT: maximum number of faults in a batch
 * @HMMRT_KNOB_FAULT_REPLAY_POLICY: enum hmmrt_replay_policy: when the lanes
 *	that faulted continue
 * @HMMRT_KNOB_FAULT_COALESCE: serve faults on the same page as one fault
 * @HMMRT_KNOB_FAULT_WORKERS: maximum number of batches that are served
 *	concurrently, 0 for the number of online CPUs
 * @HMMRT_KNOB_OVERSUBSCRIPTION: enum hmmrt_oversubscription: what a device that
 *	is full evicts for a fault
 * @HMMRT_KNOB_EVICT_BY_ACCESS: evict the memory that was accessed least
 *	recently. If 0, evict the memory that was allocated least recently.
 * @HMMRT_KNOB_EVICT_LOW_WATERMARK: start eviction in the background when less
 *	than this percentage of the device memory is free. 0 disables it.
 * @HMMRT_KNOB_EVICT_HIGH_WATERMARK: stop eviction in the background when this
 *	percentage of the device memory is free
 * @HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC: how long a queued fault waits for a
 *	fault worker. After it, the lane that faulted serves the fault itself.
 * @HMMRT_KNOB_READ_DUPLICATION: when a device reads or prefetches a page that
 *	would migrate, give the device a duplicate, as for read-mostly memory.
 *	The page stays in system memory, so that evicting it copies nothing.
 * @HMMRT_KNOBS: number of knobs
 *
 * The numbers are fixed. HMMRT_IOC_KNOB reports name, bounds and default of
 * each knob. Names and defaults follow nvidia-uvm where it has the same
 * parameter. Switches have the values 0 and 1.
 *
 * The thrashing knobs use the terms of nvidia-uvm. A lapse is the time within
 * which successive migrations count as thrashing. A nap is the time for which a
 * throttled fault waits. A pin keeps a block where it is, and devices map it
 * remotely. An epoch is the quiet time after which thrashing is forgotten.
 */
enum hmmrt_knob_id {
	HMMRT_KNOB_MIGRATION_POLICY = 0,
	HMMRT_KNOB_PREFETCH_ENABLE,
	HMMRT_KNOB_PREFETCH_THRESHOLD,
	HMMRT_KNOB_PREFETCH_MIN_FAULTS,
	HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS,
	HMMRT_KNOB_CPU_FAULT_MAX_PAGES,
	HMMRT_KNOB_THRASHING_ENABLE,
	HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD,
	HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE,
	HMMRT_KNOB_THRASHING_THRESHOLD,
	HMMRT_KNOB_THRASHING_PIN_THRESHOLD,
	HMMRT_KNOB_THRASHING_LAPSE_USEC,
	HMMRT_KNOB_THRASHING_NAP,
	HMMRT_KNOB_THRASHING_PIN,
	HMMRT_KNOB_THRASHING_EPOCH,
	HMMRT_KNOB_THRASHING_MAX_RESETS,
	HMMRT_KNOB_FAULT_BATCH_COUNT,
	HMMRT_KNOB_FAULT_REPLAY_POLICY,
	HMMRT_KNOB_FAULT_COALESCE,
	HMMRT_KNOB_FAULT_WORKERS,
	HMMRT_KNOB_OVERSUBSCRIPTION,
	HMMRT_KNOB_EVICT_BY_ACCESS,
	HMMRT_KNOB_EVICT_LOW_WATERMARK,
	HMMRT_KNOB_EVICT_HIGH_WATERMARK,
	HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC,
	HMMRT_KNOB_READ_DUPLICATION,
	HMMRT_KNOBS,
};

/**
 * enum hmmrt_oversubscription - values of HMMRT_KNOB_OVERSUBSCRIPTION
 * @HMMRT_OVERSUBSCRIBE_NEVER: a device that is full evicts nothing: not for
 *	prefetches, either
 * @HMMRT_OVERSUBSCRIBE_ALWAYS: it evicts what was used least recently
 * @HMMRT_OVERSUBSCRIBE_BY_USE: it evicts memory of the process that faults only
 *	for memory that is used more. Until that is known, pages stay where they
 *	are, and the device maps them. Memory of processes that use more than
 *	their share, and memory for prefetches, is evicted as with ALWAYS.
 */
enum hmmrt_oversubscription {
	HMMRT_OVERSUBSCRIBE_NEVER = 0,
	HMMRT_OVERSUBSCRIBE_ALWAYS,
	HMMRT_OVERSUBSCRIBE_BY_USE,
};

/**
 * enum hmmrt_migration_policy - values of HMMRT_KNOB_MIGRATION_POLICY
 * @HMMRT_MIGRATE_ON_TOUCH: a device fault migrates pages to the device
 * @HMMRT_MIGRATE_ON_COUNT: a device fault maps pages where they are. They
 *	migrate after the device has used them often enough: see
 *	HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD.
 * @HMMRT_MIGRATE_NEVER: a device fault maps pages where they are, and they do
 *	not migrate
 */
enum hmmrt_migration_policy {
	HMMRT_MIGRATE_ON_TOUCH = 0,
	HMMRT_MIGRATE_ON_COUNT,
	HMMRT_MIGRATE_NEVER,
};

/**
 * enum hmmrt_replay_policy - values of HMMRT_KNOB_FAULT_REPLAY_POLICY
 * @HMMRT_REPLAY_BLOCK: lanes continue after the faults of their block are
 *	served
 * @HMMRT_REPLAY_BATCH: lanes continue after their batch is served
 * @HMMRT_REPLAY_BATCH_FLUSH: like HMMRT_REPLAY_BATCH. In addition, pending
 *	faults on pages that are mapped by then are answered.
 */
enum hmmrt_replay_policy {
	HMMRT_REPLAY_BLOCK = 0,
	HMMRT_REPLAY_BATCH,
	HMMRT_REPLAY_BATCH_FLUSH,
};

#endif /* _UAPI_LINUX_HMMRT_KNOB_H */
