/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hmmrt_dmirror: a device that reads and writes the memory of a process on
 * request, private to hmmrt_dmirror.ko.
 *
 * It behaves like the kernel's test driver for HMM (lib/test_hmm.c), so that
 * programs written for that driver can test hmmrt. It uses the same driver
 * interface as the simulated GPU. Unlike the simulated GPU it executes no code,
 * so it needs no second process: the ioctl that requests an access copies the
 * data.
 *
 * Objects    dmirror  one device: node, memory
 *            view     one open file of the node: the address space of the
 *                     process that opened it, as this device sees it
 *            context  device page table and binding of a view, see ../softdev.h
 * Ownership  A view lives as long as its file, and works for the process only
 *            that opened it. The file holds a reference to the module.
 * Locking    mmu->lock is taken by the manager's map and unmap, inside the
 *            block lock, and is held while a page is copied. After an entry was
 *            removed under it, the device no longer uses the page.
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
	/* Memory of each chunk, NULL if not populated: see vram.c. */
	void **backing;
	u64 memory_bytes;
	u64 memory_start;	/* 0: not coherent */
};

struct dmirror_view {
	struct soft_context context;	/* first: drvdata of the binding */
	struct dmirror *dmirror;
	struct mm_struct *mm;		/* referenced, perhaps exited */
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
