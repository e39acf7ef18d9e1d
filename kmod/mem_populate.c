// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that backs chunks, which the driver provides.
 *
 * Populate   The driver backs a chunk with real memory when its first page is
 *            allocated. vram->populate serialises that.
 * Trim       It may take the memory back some time after the last page was
 *            freed, so that an unused device costs little. A chunk is on no
 *            list meanwhile, so that no allocation takes it.
 * Abandon    A device that goes away while its memory is in use leaves the
 *            chunks without memory, see hmmrt_evict_abandon().
 *
 * There is nothing to populate or to trim in coherent memory.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "mem.h"
#include "mem_check.h"

#define TRIM_DELAY	(2 * HZ)
/* Free chunks that keep their memory, because the next user is likely soon. */
#define TRIM_KEEP	4

/*
 * Back a chunk with memory, of which pages have just been allocated. Context:
 * may sleep. Return: 0, -EINTR, or the error of the driver.
 */
int hmmrt_chunk_populate(struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	struct hmmrt_vram *vram = &dev->vram;
	bool populated;
	int rc;

	if (hmmrt_device_is_coherent(dev))
		return 0;
	spin_lock_irq(&vram->lock);
	populated = chunk->populated;
	spin_unlock_irq(&vram->lock);
	if (populated)
		return 0;

	/*
	 * Pages of the chunk are allocated, so it cannot be trimmed. Other
	 * threads may populate it at the same time.
	 */
	hmmrt_may_wait();
	if (mutex_lock_killable(&vram->populate))
		return -EINTR;
	rc = chunk->populated ? 0 : dev->ops->populate(dev, chunk->offset);
	if (!rc && !chunk->populated) {
		spin_lock_irq(&vram->lock);
		chunk->populated = true;
		vram->populated_chunks++;
		spin_unlock_irq(&vram->lock);
	}
	mutex_unlock(&vram->populate);
	return rc;
}

/* Take a populated free chunk off its list, to depopulate it. */
static struct hmmrt_chunk *trim_pick(struct hmmrt_vram *vram, unsigned int keep)
{
	struct hmmrt_chunk *chunk, *victim = NULL;

	spin_lock_irq(&vram->lock);
	list_for_each_entry(chunk, &vram->free, link) {
		if (!chunk->populated)
			continue;
		victim = chunk;
		if (!keep)
			break;
		keep--;
		victim = NULL;
	}
	if (victim) {
		hmmrt_chunk_check_unused(victim);
		VM_WARN_ON_ONCE(vram->trimming || !vram->populated_chunks);
		list_del_init(&victim->link);
		victim->trimming = true;
		vram->trimming = true;
		victim->populated = false;
		vram->populated_chunks--;
	}
	spin_unlock_irq(&vram->lock);
	return victim;
}

/* Depopulate all unused chunks but @keep. Context: no hmmrt lock is held. */
void hmmrt_vram_trim(struct hmmrt_device *dev, unsigned int keep)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_chunk *chunk;

	while ((chunk = trim_pick(vram, keep))) {
		dev->ops->depopulate(dev, chunk->offset);
		spin_lock_irq(&vram->lock);
		chunk->trimming = false;
		vram->trimming = false;
		list_add_tail(&chunk->link, &vram->free);
		spin_unlock_irq(&vram->lock);
		cond_resched();
	}
}

void hmmrt_vram_trim_work(struct work_struct *work)
{
	struct hmmrt_vram *vram =
		container_of(to_delayed_work(work), struct hmmrt_vram, trim);

	hmmrt_vram_trim(container_of(vram, struct hmmrt_device, vram),
			TRIM_KEEP);
	hmmrt_accounts_sweep(container_of(vram, struct hmmrt_device, vram));
}

/* Take memory back from unused chunks some time later. */
void hmmrt_vram_trim_later(struct hmmrt_vram *vram)
{
	mod_delayed_work(hmmrt_wq, &vram->trim, TRIM_DELAY);
}

/* Returns true while trimming keeps an unused chunk off the lists. */
bool hmmrt_vram_is_trimming(const struct hmmrt_device *dev)
{
	return READ_ONCE(dev->vram.trimming);
}

/* Context: process context, no hmmrt lock held: the work calls depopulate(). */
void hmmrt_vram_wait_trimmed(struct hmmrt_device *dev)
{
	flush_delayed_work(&dev->vram.trim);
}

/*
 * Abandon all memory that backs chunks: nothing trims or populates it any more.
 * Context: may sleep; nothing allocates memory of the device.
 */
void hmmrt_vram_abandon(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i, j;

	for (i = 0; i < vram->nr_regions; i++) {
		spin_lock_irq(&vram->lock);
		for (j = 0; j < vram->regions[i]->nr_chunks; j++) {
			struct hmmrt_chunk *chunk =
				&vram->regions[i]->chunks[j];

			chunk->abandoned = chunk->populated;
			vram->populated_chunks -= chunk->populated;
			chunk->populated = false;
		}
		spin_unlock_irq(&vram->lock);
	}
	/* It calls the driver, and may wait for the machine to wake up. */
	cancel_delayed_work_sync(&vram->trim);
}
