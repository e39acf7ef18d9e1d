// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes of the kernel headers for probe.sh. Each question has two answers:
 * NAME for the newer interface and NO_NAME for the older one. Each answer is
 * compiled alone, and exactly one of the two must compile. A mistake in a
 * probe, or a further change of the interface, is therefore not mistaken for
 * the older interface. If the older headers lack the interface, NO_NAME
 * declares its name as something else, which conflicts with the newer headers.
 */
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swapops.h>
#include <linux/workqueue.h>
#if __has_include("linux/leafops.h")
#include <linux/leafops.h>
#endif

/* Required options. This is checked before anything is built. */
#if !defined(CONFIG_DEVICE_PRIVATE) || !defined(CONFIG_HMM_MIRROR)
#error "hmmrt needs a kernel with CONFIG_DEVICE_PRIVATE and CONFIG_HMM_MIRROR"
#endif

#ifdef PROBE_FOLIO_FREE
static const struct dev_pagemap_ops *probe(void (*fn)(struct folio *))
{
	const struct dev_pagemap_ops ops = { .folio_free = fn };

	return ops.folio_free ? NULL : ERR_PTR(-EINVAL);
}
#endif
#ifdef PROBE_NO_FOLIO_FREE
static const struct dev_pagemap_ops *probe(void (*fn)(struct page *))
{
	const struct dev_pagemap_ops ops = { .page_free = fn };

	return ops.page_free ? NULL : ERR_PTR(-EINVAL);
}
#endif

#ifdef PROBE_PAGE_INIT_ORDER
static inline void probe(struct page *page, struct dev_pagemap *pgmap)
{
	zone_device_page_init(page, pgmap, 0);
}
#endif
#ifdef PROBE_NO_PAGE_INIT_ORDER
static inline void probe(struct page *page)
{
	zone_device_page_init(page);
}
#endif

/*
 * Large folios of device memory were added in 6.19, but their migration leaks
 * page tables and unlocks twice. 7.1 fixes that. The fix does not show in a
 * header, so the probe also needs zap_special_vma_range(), which 7.1 added.
 * That is only a new name, so there is no reason to backport it.
 */
#ifdef PROBE_DEVICE_THP
static inline void probe(struct vm_area_struct *vma, struct folio *folio,
			 struct dev_pagemap *pgmap)
{
	const struct dev_pagemap_ops ops = { .folio_split = NULL };
	const struct migrate_vma args = {
		.flags = MIGRATE_VMA_SELECT_COMPOUND,
		.pgmap_owner = ops.folio_split,
	};

	zone_device_folio_init(folio, pgmap, args.flags & MIGRATE_PFN_COMPOUND);
	zap_special_vma_range(vma, 0, PAGE_SIZE);
}
#endif
#ifdef PROBE_NO_DEVICE_THP
static char zap_special_vma_range;
#endif

#ifdef PROBE_MIGRATE_DEVICE_PFNS
static inline int probe(unsigned long *pfns)
{
	return migrate_device_pfns(pfns, 1);
}
#endif
#ifdef PROBE_NO_MIGRATE_DEVICE_PFNS
static char migrate_device_pfns;
#endif

#ifdef PROBE_VM_FLAGS_SET
static inline void probe(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_IO);
}
#endif
#ifdef PROBE_NO_VM_FLAGS_SET
static inline void probe(struct vm_area_struct *vma)
{
	vma->vm_flags |= VM_IO;
}
#endif

#ifdef PROBE_HUGE_PFNMAP
static inline pmd_t probe(pmd_t pmd, vm_fault_t (*fault)(struct vm_fault *vmf,
							 unsigned int order))
{
	const struct vm_operations_struct ops = { .huge_fault = fault };

	return ops.huge_fault ? pmd_mkspecial(pmd) : pmd;
}
#endif
#ifdef PROBE_NO_HUGE_PFNMAP
static char pmd_mkspecial;
#endif

#ifdef PROBE_RELEASE_FAULT_LOCK
static inline void probe(struct vm_fault *vmf)
{
	release_fault_lock(vmf);
}
#endif
#ifdef PROBE_NO_RELEASE_FAULT_LOCK
static char release_fault_lock;
#endif

#ifdef PROBE_PTE_MKWRITE_NOVMA
static inline pte_t probe(pte_t pte)
{
	return pte_mkwrite_novma(pte);
}
#endif
#ifdef PROBE_NO_PTE_MKWRITE_NOVMA
static inline pte_t probe(pte_t pte)
{
	return pte_mkwrite(pte);
}
#endif

#ifdef PROBE_MNT_IDMAP
static int probe(struct mnt_idmap *idmap, struct dentry *dentry,
		 struct iattr *attr)
{
	const struct inode_operations ops = { .setattr = probe };

	return ops.setattr ? 0 : 1;
}
#endif
#ifdef PROBE_NO_MNT_IDMAP
static int probe(struct user_namespace *idmap, struct dentry *dentry,
		 struct iattr *attr)
{
	const struct inode_operations ops = { .setattr = probe };

	return ops.setattr ? 0 : 1;
}
#endif

#ifdef PROBE_LIST_COUNT_NODES
static inline size_t probe(struct list_head *head)
{
	return list_count_nodes(head);
}
#endif
#ifdef PROBE_NO_LIST_COUNT_NODES
static char list_count_nodes;
#endif

#ifdef PROBE_MAKE_DEVICE_EXCLUSIVE
static inline struct page *probe(struct mm_struct *mm, struct folio **folio)
{
	return make_device_exclusive(mm, 0, NULL, folio);
}
#endif
#ifdef PROBE_NO_MAKE_DEVICE_EXCLUSIVE
static inline int probe(struct mm_struct *mm, struct page **pages)
{
	return make_device_exclusive_range(mm, 0, PAGE_SIZE, pages, NULL);
}
#endif

#ifdef PROBE_SOFTLEAF
static inline bool probe(pte_t pte)
{
	return softleaf_is_migration(softleaf_from_pte(pte));
}
#endif
#ifdef PROBE_NO_SOFTLEAF
static inline bool probe(pte_t pte)
{
	return is_migration_entry(pte_to_swp_entry(pte));
}
#endif

#ifdef PROBE_EXEC_STATE
#include <linux/sched/exec_state.h>

static inline bool probe(const struct task_exec_state *state)
{
	return state->dumpable == TASK_DUMPABLE_OWNER;
}
#endif
#ifdef PROBE_NO_EXEC_STATE
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>

static inline bool probe(struct mm_struct *mm)
{
	return get_dumpable(mm) == SUID_DUMP_USER;
}
#endif

#ifdef PROBE_SWP_UFFD
static inline bool probe(pte_t pte)
{
	return pte_swp_uffd(pte);
}
#endif
#ifdef PROBE_NO_SWP_UFFD
static inline bool probe(pte_t pte)
{
	return pte_swp_uffd_wp(pte);
}
#endif

/* Not a question: this must not compile on any kernel. */
#ifdef PROBE_NOTHING
static inline int probe(void)
{
	return hmmrt_is_declared_nowhere();
}
#endif
