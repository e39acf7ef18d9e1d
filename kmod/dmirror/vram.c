// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, copy engine and ops of the device.
 *
 * Device memory is kernel memory, allocated in chunks of 2 MiB while they are
 * in use. Only this driver accesses it: the core mm sees the struct pages of
 * the manager, which have no memory. Coherent memory is at the address given by
 * a module parameter. The kernel maps it while it has struct pages.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dmirror.h"

void *dmirror_vram(struct dmirror *dmirror, u64 offset)
{
	if (dmirror->memory_start)
		return __va(dmirror->memory_start + offset);
	return READ_ONCE(dmirror->backing[offset >> HMMRT_CHUNK_SHIFT]) +
	       offset % HMMRT_CHUNK_SIZE;
}

int dmirror_vram_init(struct dmirror *dmirror)
{
	if (dmirror->memory_start)
		return 0;
	dmirror->backing = kvcalloc(dmirror->memory_bytes >> HMMRT_CHUNK_SHIFT,
				    sizeof(*dmirror->backing), GFP_KERNEL);
	return dmirror->backing ? 0 : -ENOMEM;
}

/* hmmrt_device_unregister() has depopulated all chunks. */
void dmirror_vram_destroy(struct dmirror *dmirror)
{
	kvfree(dmirror->backing);
}

static int dmirror_populate(struct hmmrt_device *dev, u64 offset)
{
	struct dmirror *dmirror = hmmrt_device_drvdata(dev);
	void *chunk = __vmalloc(HMMRT_CHUNK_SIZE, GFP_KERNEL | __GFP_NOWARN);

	if (!chunk)
		return -ENOMEM;
	WRITE_ONCE(dmirror->backing[offset >> HMMRT_CHUNK_SHIFT], chunk);
	return 0;
}

static void dmirror_depopulate(struct hmmrt_device *dev, u64 offset)
{
	struct dmirror *dmirror = hmmrt_device_drvdata(dev);
	void *chunk = dmirror_vram(dmirror, offset);

	WRITE_ONCE(dmirror->backing[offset >> HMMRT_CHUNK_SHIFT], NULL);
	vfree(chunk);
}

static int dmirror_copy_to_device(struct hmmrt_device *dev, u64 offset,
				  struct page **src, unsigned int npages)
{
	soft_copy_in(dmirror_vram(hmmrt_device_drvdata(dev), offset), src,
		     npages);
	return 0;
}

static int dmirror_copy_to_host(struct hmmrt_device *dev, struct page **dst,
				u64 offset, unsigned int npages)
{
	soft_copy_out(dst, dmirror_vram(hmmrt_device_drvdata(dev), offset),
		      npages);
	return 0;
}

const struct hmmrt_device_ops dmirror_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = dmirror_populate,
	.depopulate = dmirror_depopulate,
	.copy_to_device = dmirror_copy_to_device,
	.copy_to_host = dmirror_copy_to_host,
	.prepare = soft_prepare,
	.map = soft_map,
	.unmap = soft_unmap,
	.invalidate = soft_invalidate,
	.released = soft_released,
};
