/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hmmrt_simgpu: a simulated GPU, private to hmmrt_simgpu.ko.
 *
 * A separate process, the agent, runs the application's code. There, the
 * application's addresses are a mapping of /dev/hmmrt-gpuN with file offset ==
 * address. The agent's page table is the device's TLB. A CPU page fault in the
 * mapping is a TLB miss, which is filled from the device page table that the
 * manager writes.
 *
 * Objects    gpu      one device: node, memory
 *            view     one open file of the node. After bind, one process's
 *                     address space as this device sees it.
 *            dpt      the device page table of a view
 * Ownership  A view lives as long as its file. The agent's mappings hold
 *            references to the file, so the view outlives them. The file holds
 *            a reference to the module.
 * Locking    view->lock mutex: bind and attach. Pointers that are set once are
 *                          read without it, with an acquire.
 *            dpt->lock     mutex: creation of tables.
 *            table->lock   spinlock: entries. The manager's map and unmap take
 *                          it inside the block lock. A TLB fill takes it
 *                          outside the agent's page table lock.
 */
#ifndef _HMMRT_SIMGPU_H
#define _HMMRT_SIMGPU_H

#include <linux/bitmap.h>
#include <linux/hmmrt_device.h>
#include <linux/miscdevice.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

/* --- device page table (dpt.c) ------------------------------------------ */

#define DPT_ENTRIES	HMMRT_CHUNK_PAGES

/*
 * The lowest level: 2 MiB of address space, as either one leaf or one entry per
 * page.
 */
struct dpt_table {
	spinlock_t lock;	/* the entries, and @used */
	bool tlb_has_ptes;	/* or may have: see mirror.c; never cleared */
	bool forgotten;		/* empty, being freed: see dpt_forget() */
	DECLARE_BITMAP(used, DPT_ENTRIES); /* see mirror.c, Recording */
	struct rcu_head rcu;
	hmmrt_pte_t huge;
	hmmrt_pte_t *pte;	/* DPT_ENTRIES */
};

struct dpt {
	struct mutex lock;	/* creation of tables */
	/*
	 * Upper levels, indexed by address >> 21. A value entry stands for a
	 * freed table and passes its tlb_has_ptes to the next table.
	 */
	struct xarray tables;
};

void dpt_init(struct dpt *dpt);
void dpt_destroy(struct dpt *dpt);
int dpt_prepare(struct dpt *dpt, unsigned long start, unsigned long end);
struct dpt_table *dpt_find_table(struct dpt *dpt, unsigned long addr);
hmmrt_pte_t dpt_table_entry(const struct dpt_table *table, unsigned int index);
void dpt_map(struct dpt *dpt, unsigned long start, const hmmrt_pte_t *ptes,
	     unsigned int npages);
void dpt_unmap(struct dpt *dpt, unsigned long start, unsigned long end);
void dpt_forget(struct dpt *dpt, unsigned long start, unsigned long end);

/* --- devices ------------------------------------------------------------- */

struct simgpu {
	struct hmmrt_device *dev;
	struct miscdevice misc;
	char name[HMMRT_DEVICE_NAME_LEN];
	struct xarray chunks;	/* their first pages, by number: see vram.c */
	u64 memory_start;	/* 0: not coherent */
	int numa_node;		/* or NUMA_NO_NODE */
};

/* A failed access of one lane, kept until the access is repeated. */
struct view_failure {
	struct pid *lane;	/* thread, with a reference */
	unsigned long addr;
	unsigned int access;
	int error;
	bool pending;
};

/* Most pages that the TLB has while accesses are recorded. */
#define RECENT_MAX	512

/* The pages that a TLB has while accesses are recorded: see mirror.c. */
struct recent_pages {
	spinlock_t lock;	/* the other members */
	unsigned int next;		/* to be replaced */
	unsigned long addr[RECENT_MAX];	/* or 0 */
};

struct simgpu_view {
	struct simgpu *gpu;
	struct inode *inode;		/* i_mapping has all TLB entries */
	struct dpt dpt;
	struct recent_pages recent;

	struct mutex lock;		/* bind and attach */
	struct hmmrt_binding *binding;	/* set by bind */
	bool offered;			/* the owner has received the token */
	u64 token;			/* 0 after use */
	struct mm_struct *agent_mm;	/* set once; held by the binding */
	struct pid *agent;
	bool agent_ended;		/* poll() has reported it */

	/*
	 * Indexed by thread id of the lane. Its xa_lock protects records of
	 * lanes that have ended.
	 */
	struct xarray failures;
	unsigned int nr_failures;	/* xa_lock of @failures */
	unsigned int sweep_failures;	/* threshold for a sweep; xa_lock too */

	wait_queue_entry_t agent_exit;	/* on the agent's pid */
	wait_queue_head_t gone;
};

/* file.c */
extern const struct file_operations simgpu_fops;
int simgpu_fs_init(void);
void simgpu_fs_exit(void);
void simgpu_view_released(struct hmmrt_binding *binding);
int simgpu_without_agent(const struct simgpu_view *view);

/* mirror.c */
int simgpu_mirror_mmap(struct file *file, struct vm_area_struct *vma);
void simgpu_mirror_invalidate(struct simgpu_view *view, unsigned long start,
			      unsigned long end);
void simgpu_mirror_accessed(struct simgpu_view *view, unsigned long start,
			    hmmrt_pte_t *ptes);

/* failure.c */
void simgpu_failures_init(struct simgpu_view *view);
void simgpu_failures_destroy(struct simgpu_view *view);
struct view_failure *simgpu_failure_find(struct simgpu_view *view);
bool simgpu_failure_reserve(struct simgpu_view *view,
			    const struct vm_fault *vmf);
void simgpu_failure_store(struct simgpu_view *view, unsigned long addr,
			  unsigned int access, int error);
vm_fault_t simgpu_failure_report(struct simgpu_view *view,
				 const struct vm_fault *vmf,
				 unsigned int access);

/* vram.c */
extern const struct hmmrt_device_ops simgpu_ops;
unsigned long simgpu_vram_pfn(struct simgpu *gpu, u64 offset);

#endif /* _HMMRT_SIMGPU_H */
