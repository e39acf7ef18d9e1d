// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, copy engine and ops of the simulated device.
 *
 * Device memory is host memory, allocated in physically contiguous chunks of 2
 * MiB while they are in use. The manager does not see these pages: it uses
 * offsets. Coherent memory is at the address given by a module parameter. The
 * manager has created its page structs, and the CPU uses the same pages as the
 * device.
 */
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>

#include "simgpu.h"

static struct page *vram_page(struct simgpu *gpu, u64 offset)
{
	struct page *chunk;

	if (gpu->memory_start)
		return pfn_to_page(PHYS_PFN(gpu->memory_start + offset));
	chunk = xa_load(&gpu->chunks, offset >> HMMRT_CHUNK_SHIFT);
	if (WARN_ON_ONCE(!chunk))
		return NULL;
	return chunk + (offset >> PAGE_SHIFT) % HMMRT_CHUNK_PAGES;
}

unsigned long simgpu_vram_pfn(struct simgpu *gpu, u64 offset)
{
	return page_to_pfn(vram_page(gpu, offset));
}

/*
 * Allocate near the device's node and ignore the memory policy of the current
 * task, because all processes share a chunk.
 */
static int simgpu_populate(struct hmmrt_device *dev, u64 offset)
{
	struct simgpu *gpu = hmmrt_device_drvdata(dev);
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	struct page *chunk = alloc_pages_node(gpu->numa_node, gfp,
					      HMMRT_CHUNK_SHIFT - PAGE_SHIFT);
	int rc;

	if (!chunk)
		return -ENOMEM;
	rc = xa_err(xa_store(&gpu->chunks, offset >> HMMRT_CHUNK_SHIFT, chunk,
			     GFP_KERNEL));
	if (rc)
		__free_pages(chunk, HMMRT_CHUNK_SHIFT - PAGE_SHIFT);
	else
		split_page(chunk, HMMRT_CHUNK_SHIFT - PAGE_SHIFT);
	return rc;
}

static void simgpu_depopulate(struct hmmrt_device *dev, u64 offset)
{
	struct simgpu *gpu = hmmrt_device_drvdata(dev);
	struct page *chunk = xa_erase(&gpu->chunks,
				      offset >> HMMRT_CHUNK_SHIFT);
	unsigned int i;

	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		__free_page(chunk + i);
}

/*
 * Either memory may have an uncorrectable error. The page then stays where it is,
 * and the program gets the error when it reads it.
 */
static int copy_page_mc(struct page *dst, struct page *src)
{
	return copy_mc_user_highpage(dst, src, 0, NULL) ? -EIO : 0;
}

static int simgpu_copy_to_device(struct hmmrt_device *dev, u64 offset,
				 struct page **src, unsigned int npages)
{
	struct page *dst = vram_page(hmmrt_device_drvdata(dev), offset);
	unsigned int i;
	int rc = 0;

	for (i = 0; i < npages && !rc; i++) {
		if (src[i])
			rc = copy_page_mc(dst + i, src[i]);
		else
			clear_highpage(dst + i);
	}
	return rc;
}

static int simgpu_copy_to_host(struct hmmrt_device *dev, struct page **dst,
			       u64 offset, unsigned int npages)
{
	struct page *src = vram_page(hmmrt_device_drvdata(dev), offset);
	unsigned int i;
	int rc = 0;

	for (i = 0; i < npages && !rc; i++)
		if (dst[i])
			rc = copy_page_mc(dst[i], src + i);
	return rc;
}

static int simgpu_copy_from_peer(struct hmmrt_device *dev, u64 offset,
				 struct hmmrt_device *peer, u64 peer_offset,
				 unsigned int npages)
{
	struct page *dst = vram_page(hmmrt_device_drvdata(dev), offset);
	struct page *src = vram_page(hmmrt_device_drvdata(peer), peer_offset);
	unsigned int i;
	int rc = 0;

	for (i = 0; i < npages && !rc; i++)
		rc = copy_page_mc(dst + i, src + i);
	return rc;
}

static int simgpu_prepare(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end)
{
	struct simgpu_view *view = hmmrt_binding_drvdata(binding);

	return dpt_prepare(&view->dpt, start, end);
}

static void simgpu_map(struct hmmrt_binding *binding, unsigned long start,
		       const hmmrt_pte_t *ptes, unsigned int npages)
{
	struct simgpu_view *view = hmmrt_binding_drvdata(binding);

	dpt_map(&view->dpt, start, ptes, npages);
}

static void simgpu_unmap(struct hmmrt_binding *binding, unsigned long start,
			 unsigned long end)
{
	struct simgpu_view *view = hmmrt_binding_drvdata(binding);

	dpt_unmap(&view->dpt, start, end);
}

static void simgpu_invalidate(struct hmmrt_binding *binding,
			      unsigned long start, unsigned long end)
{
	simgpu_mirror_invalidate(hmmrt_binding_drvdata(binding), start, end);
}

static void simgpu_forget(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end)
{
	struct simgpu_view *view = hmmrt_binding_drvdata(binding);

	dpt_forget(&view->dpt, start, end);
}

static void simgpu_accessed(struct hmmrt_binding *binding, unsigned long start,
			    hmmrt_pte_t *ptes)
{
	simgpu_mirror_accessed(hmmrt_binding_drvdata(binding), start, ptes);
}

static unsigned long simgpu_bar_pfn(struct hmmrt_device *dev, u64 offset)
{
	return simgpu_vram_pfn(hmmrt_device_drvdata(dev), offset);
}

const struct hmmrt_device_ops simgpu_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = simgpu_populate,
	.depopulate = simgpu_depopulate,
	.copy_to_device = simgpu_copy_to_device,
	.copy_to_host = simgpu_copy_to_host,
	.copy_from_peer = simgpu_copy_from_peer,
	.prepare = simgpu_prepare,
	.map = simgpu_map,
	.unmap = simgpu_unmap,
	.invalidate = simgpu_invalidate,
	.accessed = simgpu_accessed,
	.forget = simgpu_forget,
	.released = simgpu_view_released,
	.bar_pfn = simgpu_bar_pfn,
};
