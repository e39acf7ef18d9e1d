// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics of a space: HMMRT_IOC_STATS for the process that owns it, and
 * entries of /proc/PID/fdinfo for programs that look at other processes.
 *
 * Both take their values from one struct hmmrt_stats, so they agree. The keys
 * in fdinfo are the names of its members, and stay as they are: docs/uapi.md
 * lists them.
 *
 * Permissions  procfs lets a process read the fdinfo of another one only if it
 *              may inspect that process (PTRACE_MODE_READ). There is no further
 *              check here: a process that was given the file reads it, too.
 * Lifetime     The reader holds the file, and the file holds its space. So a
 *              read may come after the process has exited, and be the last user
 *              of the space. Bindings are looked up in hmmrt_srcu; a binding
 *              that ends during the read is reported or left out.
 * Bounds       A read visits each device once. It takes vram->lock of each for
 *              one load, and no other lock.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "api.h"

static u64 thrashing_count(const struct hmmrt_binding *binding,
			   enum hmmrt_thrashing_state state)
{
	return atomic64_read(&binding->thrashing_states[state]);
}

static void fill_binding(struct hmmrt_stats *stats,
			 const struct hmmrt_binding *binding)
{
	lockdep_assert(srcu_read_lock_held(&hmmrt_srcu));
	stats->out_device_faults = atomic64_read(&binding->device_faults);
	stats->out_failed_faults = atomic64_read(&binding->failed_faults);
	stats->out_mapped_pages = atomic64_read(&binding->mapped_pages);
	stats->out_remote_pages = atomic64_read(&binding->remote_pages);
	stats->out_migrated_to_device =
		atomic64_read(&binding->migrated_to_device);
	stats->out_retries = atomic64_read(&binding->retries);
	stats->out_copied_pages = atomic64_read(&binding->copied);
	stats->out_evictions = atomic64_read(&binding->evictions);
	stats->out_evicted_pages = atomic64_read(&binding->evicted);
	stats->out_thrashing_faults = atomic64_read(&binding->thrashing);
	stats->out_fault_batches = atomic64_read(&binding->fault_batches);
	stats->out_merged_faults = atomic64_read(&binding->merged_faults);
	stats->out_flushed_faults = atomic64_read(&binding->flushed_faults);
	stats->out_replays = atomic64_read(&binding->replays);
	stats->out_pending_faults = READ_ONCE(binding->faults.nr_pending);
	stats->out_thrashing_blocks =
		thrashing_count(binding, HMMRT_THRASHING_DETECTED);
	stats->out_throttled_faults =
		thrashing_count(binding, HMMRT_THRASHING_THROTTLED);
	stats->out_thrash_pins = thrashing_count(binding, HMMRT_THRASHING_PINNED);
	stats->out_thrash_unpins = thrashing_count(binding, HMMRT_THRASHING_RELEASED);
	stats->out_counted_moves = atomic64_read(&binding->counted);
	stats->out_quota_refusals = atomic64_read(&binding->quota_refusals);
	stats->out_memory_refusals = atomic64_read(&binding->memory_refusals);
	stats->out_thrashing_resets =
		thrashing_count(binding, HMMRT_THRASHING_RESET);
}

static void fill_space(struct hmmrt_stats *stats,
		       const struct hmmrt_space *space)
{
	stats->out_migrated_to_host = atomic64_read(&space->migrated_to_host);
	stats->out_cpu_faults = atomic64_read(&space->cpu_faults);
	stats->out_invalidations = atomic64_read(&space->invalidations);
	stats->out_blocks = atomic_long_read(&space->nr_blocks);
}

int hmmrt_ioc_stats(struct hmmrt_space *space, void *data)
{
	struct hmmrt_stats *stats = data;
	struct hmmrt_binding *binding;
	int idx;

	if (stats->__reserved)
		return -EOPNOTSUPP;
	idx = srcu_read_lock(&hmmrt_srcu);
	binding = hmmrt_space_binding(space, stats->device_id);
	if (binding)
		fill_binding(stats, binding);
	srcu_read_unlock(&hmmrt_srcu, idx);
	if (!binding)
		return -ENODEV;
	fill_space(stats, space);
	return 0;
}

/* --- fdinfo --------------------------------------------------------------- */

struct counter {
	const char *name;
	size_t offset;		/* in struct hmmrt_stats */
};

#define COUNTER(_name, _member) \
	{ .name = _name, .offset = offsetof(struct hmmrt_stats, _member) }

static const struct counter space_counters[] = {
	COUNTER("migrated-to-host", out_migrated_to_host),
	COUNTER("cpu-faults", out_cpu_faults),
	COUNTER("invalidations", out_invalidations),
	COUNTER("blocks", out_blocks),
};

static const struct counter binding_counters[] = {
	COUNTER("device-faults", out_device_faults),
	COUNTER("failed-faults", out_failed_faults),
	COUNTER("mapped-pages", out_mapped_pages),
	COUNTER("remote-pages", out_remote_pages),
	COUNTER("migrated-to-device", out_migrated_to_device),
	COUNTER("retries", out_retries),
	COUNTER("copied-pages", out_copied_pages),
	COUNTER("evictions", out_evictions),
	COUNTER("evicted-pages", out_evicted_pages),
	COUNTER("thrashing-faults", out_thrashing_faults),
	COUNTER("fault-batches", out_fault_batches),
	COUNTER("merged-faults", out_merged_faults),
	COUNTER("flushed-faults", out_flushed_faults),
	COUNTER("replays", out_replays),
	COUNTER("pending-faults", out_pending_faults),
	COUNTER("thrashing-blocks", out_thrashing_blocks),
	COUNTER("throttled-faults", out_throttled_faults),
	COUNTER("thrash-pins", out_thrash_pins),
	COUNTER("thrash-unpins", out_thrash_unpins),
	COUNTER("counted-moves", out_counted_moves),
	COUNTER("quota-refusals", out_quota_refusals),
	COUNTER("memory-refusals", out_memory_refusals),
	COUNTER("thrashing-resets", out_thrashing_resets),
};

/* Each value has a key. */
static_assert(sizeof(struct hmmrt_stats) ==
	      offsetof(struct hmmrt_stats, out_device_faults) +
	      sizeof(u64) * (ARRAY_SIZE(space_counters) + ARRAY_SIZE(binding_counters)));

static u64 counter_value(const struct hmmrt_stats *stats, const struct counter *counter)
{
	return *(const u64 *)((const char *)stats + counter->offset);
}

static void show_binding(struct seq_file *seq,
			 const struct hmmrt_binding *binding)
{
	u64 used = hmmrt_account_used(binding->account) << PAGE_SHIFT;
	u32 id = binding->dev->id;
	struct hmmrt_stats stats = {};
	unsigned int i;

	lockdep_assert(srcu_read_lock_held(&hmmrt_srcu));
	seq_printf(seq, "hmmrt-device%u-binding:\t%llu\n", id, binding->serial);
	seq_printf(seq, "hmmrt-device%u-used-bytes:\t%llu\n", id, used);
	fill_binding(&stats, binding);
	for (i = 0; i < ARRAY_SIZE(binding_counters); i++)
		seq_printf(seq, "hmmrt-device%u-%s:\t%llu\n", id,
			   binding_counters[i].name,
			   counter_value(&stats, &binding_counters[i]));
}

/*
 * The process of the space as the reader sees it, 0 once that has exited: then
 * another process may get its number. The address space can outlive it, if
 * another process shares it, and can go before it, when the process calls exec.
 */
static pid_t space_pid(const struct seq_file *seq,
		       const struct hmmrt_space *space)
{
	struct super_block *proc = file_inode(seq->file)->i_sb;
	pid_t pid = 0;

	rcu_read_lock();
	if (!READ_ONCE(space->released) && pid_task(space->pid, PIDTYPE_TGID))
		pid = pid_nr_ns(space->pid, proc_pid_ns(proc));
	rcu_read_unlock();
	return pid;
}

/**
 * hmmrt_space_show() - write the entries of a space to a file's fdinfo
 * @seq: the fdinfo, a file of procfs
 * @space: space of the file that @seq is about; the caller holds that file
 *
 * Context: any process, at any time in the life of the space; may sleep.
 */
void hmmrt_space_show(struct seq_file *seq, struct hmmrt_space *space)
{
	struct hmmrt_stats stats = {};
	unsigned int i;
	u32 id;
	int idx;

	seq_printf(seq, "hmmrt-space:\t%llu\n", space->id);
	seq_printf(seq, "hmmrt-pid:\t%d\n", space_pid(seq, space));
	fill_space(&stats, space);
	for (i = 0; i < ARRAY_SIZE(space_counters); i++)
		seq_printf(seq, "hmmrt-%s:\t%llu\n", space_counters[i].name,
			   counter_value(&stats, &space_counters[i]));
	idx = srcu_read_lock(&hmmrt_srcu);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		const struct hmmrt_binding *binding =
			hmmrt_space_binding(space, id);

		if (binding)
			show_binding(seq, binding);
	}
	srcu_read_unlock(&hmmrt_srcu, idx);
}

/* --- debugfs -------------------------------------------------------------- */

/*
 * /sys/kernel/debug/hmmrt: what each device has done since it was registered,
 * for all processes together. It is for developers, and may change.
 */
static struct dentry *root;

static int moves_show(struct seq_file *seq, void *unused)
{
	const struct hmmrt_device *dev = seq->private;
	unsigned int size, move;

	seq_puts(seq, "pages\tin\tout\tevicted\n");
	for (size = 0; size < HMMRT_MOVE_SIZES; size++) {
		seq_printf(seq, "%lu", BIT(size));
		for (move = 0; move < HMMRT_MOVES; move++)
			seq_printf(seq, "\t%lld",
				   atomic64_read(&dev->moves[move][size]));
		seq_putc(seq, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(moves);

/* Without debugfs, or if it fails, there are no files. */
void hmmrt_debugfs_init(void)
{
	root = debugfs_create_dir("hmmrt", NULL);
}

void hmmrt_debugfs_exit(void)
{
	debugfs_remove(root);
}

void hmmrt_debugfs_add(struct hmmrt_device *dev)
{
	dev->debugfs = debugfs_create_dir(dev->name, root);
	debugfs_create_file("moves", 0444, dev->debugfs, dev, &moves_fops);
}

/* Waits for readers. */
void hmmrt_debugfs_remove(struct hmmrt_device *dev)
{
	debugfs_remove(dev->debugfs);
}
