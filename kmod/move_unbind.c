// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a binding: its device has nothing mapped any more, and pages on it
 * migrate back to system memory.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "move.h"

/* How long, in all, the end of a binding waits for the mmap_lock. */
#define UNBIND_LOCK_WAIT	(5 * HZ)

/*
 * Migrate the next mapping of the block at or after @addr; returns where it
 * ends.
 */
static unsigned long migrate_back_part(struct mm_struct *mm,
				       struct hmmrt_request *req,
				       unsigned long addr, unsigned long end,
				       unsigned long *wait)
{
	unsigned long began = jiffies;
	bool locked = hmmrt_mmap_read_lock_until(mm, began + *wait);

	*wait -= min(*wait, jiffies - began);
	if (!locked)
		return end;
	req->vma = find_vma(mm, addr);
	if (req->vma && req->vma->vm_start < end) {
		req->start = max(addr, req->vma->vm_start);
		req->end = min(end, req->vma->vm_end);
		/* Memory objects belong to no binding, and stay. */
		if (!hmmrt_vma_object(req->vma))
			hmmrt_window_to_host(req);
		addr = req->end;
	} else {
		addr = end;
	}
	mmap_read_unlock(mm);
	return addr;
}

/*
 * Move a block's pages off a device, best effort. The mm is alive. *@wait is
 * how long, in jiffies, to wait for the mmap_lock. Pages that are busy, or left
 * over after a fatal signal, stay until they are touched. So does the rest if
 * the lock cannot be taken in time: its holder may wait for a program.
 */
static void block_migrate_back(struct hmmrt_binding *binding,
			       struct hmmrt_block *block, unsigned long *wait)
{
	static const struct hmmrt_request_args args = {
		.cause = HMMRT_CAUSE_UNBIND,
		.node = NUMA_NO_NODE,
	};
	struct hmmrt_space *space = binding->space;
	unsigned long end = block->start + HMMRT_BLOCK_SIZE;
	unsigned long addr = block->start;
	struct hmmrt_request *req;

	req = hmmrt_request_alloc(binding, block, &args);
	if (!req)
		return;
	while (addr < end) {
		addr = migrate_back_part(space->mm, req, addr, end, wait);
		cond_resched();
	}
	atomic64_add(req->result.moved, &space->migrated_to_host);
	hmmrt_request_free(req);
}

/*
 * A binding is gone with all its entries: forget what it had mapped, and
 * migrate the pages on its device back to system memory if the process still
 * exists.
 */
void hmmrt_spans_forget_binding(struct hmmrt_binding *binding)
{
	struct hmmrt_space *space = binding->space;
	unsigned long wait = UNBIND_LOCK_WAIT;
	u32 device_id = binding->dev->id;
	bool alive = mmget_not_zero(space->mm);
	struct hmmrt_block *block;
	unsigned long addr;
	LIST_HEAD(taken);

	for (addr = 0; (block = hmmrt_block_next(space, &addr));
	     addr += HMMRT_BLOCK_SIZE) {
		if (READ_ONCE(block->maps[device_id])) {
			mutex_lock(&block->lock);
			hmmrt_map_forget(block, device_id, &taken);
			/* The next binding starts with a new count. */
			block->maps[device_id]->refaults.away = false;
			mutex_unlock(&block->lock);
			hmmrt_duplicates_free(&taken);
			INIT_LIST_HEAD(&taken);
			if (alive && wait)
				block_migrate_back(binding, block, &wait);
			/* Without the binding nothing gets an entry again. */
			VM_WARN_ON_ONCE(!bitmap_empty(block->maps[device_id]
							      ->mapped,
						      HMMRT_BLOCK_PAGES));
		}
		hmmrt_block_put(block);
	}
	if (alive)
		mmput_async(space->mm);
}
