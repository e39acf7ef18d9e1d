/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hmmrt_dmirror: a device that reads and writes a process's memory when it is
 * told to, private to hmmrt_dmirror.ko.
 *
 * It does what the kernel's own test driver for HMM does (lib/test_hmm.c), for
 * the programs written for that, and stands on the same boundary as the
 * simulated GPU. Unlike that one it runs no code, so it needs no second process:
 * its accesses are copies, made in the call that asks for them.
 *
 * Objects    dmirror  one device: node, memory
 *            view     one open file of the node: the space of the process that
 *                     opened it as this device sees it
 *            mmu      the device page table of a view, see ../softdev.h
 * Ownership  A view is its file, and works for one process only. The file holds
 *            the module.
 * Locking    mmu->lock is taken by the manager's map and unmap (below its block
 *            lock), and held while a page is copied: who has taken an entry away
 *            knows that the device has finished with its page.
 */
#ifndef _HMMRT_DMIRROR_H
#define _HMMRT_DMIRROR_H

#include <linux/hmmrt_device.h>
#include <linux/miscdevice.h>

#include "../softdev.h"

struct dmirror {
	struct hmmrt_device *dev;
	struct miscdevice misc;
	char name[HMMRT_DEVICE_NAME_LEN];
	/* Memory behind each chunk, NULL where there is none; see vram.c. */
	void **backing;
	u64 memory_bytes;
	u64 memory_start;	/* 0: not coherent */
};

struct dmirror_view {
	struct dmirror *dmirror;
	struct hmmrt_binding *binding;
	struct soft_mmu mmu;
};

/* access.c */
int dmirror_read_page(struct dmirror_view *view, unsigned long addr, void *to);
int dmirror_write_page(struct dmirror_view *view, unsigned long addr,
		       const void *from);
bool dmirror_has_atomic(struct dmirror_view *view, unsigned long start,
			unsigned long end);

/* file.c */
extern const struct file_operations dmirror_fops;

/* vram.c */
extern const struct hmmrt_device_ops dmirror_ops;
int dmirror_vram_init(struct dmirror *dmirror);
void dmirror_vram_destroy(struct dmirror *dmirror);
void *dmirror_vram(struct dmirror *dmirror, u64 offset);

#endif /* _HMMRT_DMIRROR_H */
