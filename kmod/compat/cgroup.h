/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to cgroup v2, for kernels with and without CONFIG_CGROUPS. Without it,
 * no process is in a cgroup, and a lookup fails. The memory controller may be
 * in a hierarchy of cgroup v1.
 */
#ifndef _HMMRT_COMPAT_CGROUP_H
#define _HMMRT_COMPAT_CGROUP_H

#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

struct cgroup;

#ifdef CONFIG_CGROUPS

/*
 * Return the cgroup of a directory descriptor with a reference, or -EBADF if
 * @fd is not a cgroup directory.
 */
static inline struct cgroup *hmmrt_cgroup_from_fd(int fd)
{
	struct cgroup *cgroup = cgroup_get_from_fd(fd);

	return IS_ERR(cgroup) ? ERR_PTR(-EBADF) : cgroup;
}

/* Return the cgroup of the process of @mm, with a reference. */
static inline struct cgroup *hmmrt_cgroup_of(struct mm_struct *mm)
{
	struct task_struct *task = NULL;
	struct cgroup *cgroup;

	rcu_read_lock();
	do {
#ifdef CONFIG_MEMCG
		task = rcu_dereference(mm->owner);
#endif
		/* If the cgroup is being removed, look up the new one. */
		cgroup = task_dfl_cgroup(task ? task : current);
	} while (!cgroup_tryget(cgroup));
	rcu_read_unlock();
	return cgroup;
}

static inline void hmmrt_cgroup_get(struct cgroup *cgroup)
{
	cgroup_get(cgroup);
}

static inline void hmmrt_cgroup_put(struct cgroup *cgroup)
{
	if (cgroup)
		cgroup_put(cgroup);
}

/* Return true if @cgroup is @above or a descendant of it. */
static inline bool hmmrt_cgroup_is_in(struct cgroup *cgroup,
				      struct cgroup *above)
{
	return cgroup_is_descendant(cgroup, above);
}

/* Return true if the cgroup was removed, so that no process can enter it. */
static inline bool hmmrt_cgroup_is_dead(const struct cgroup *cgroup)
{
	return !(READ_ONCE(cgroup->self.flags) & CSS_ONLINE);
}

#else

static inline struct cgroup *hmmrt_cgroup_from_fd(int fd)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline struct cgroup *hmmrt_cgroup_of(struct mm_struct *mm)
{
	return NULL;
}

static inline void hmmrt_cgroup_get(struct cgroup *cgroup)
{
}

static inline void hmmrt_cgroup_put(struct cgroup *cgroup)
{
}

static inline bool hmmrt_cgroup_is_in(struct cgroup *cgroup,
				      struct cgroup *above)
{
	return false;
}

static inline bool hmmrt_cgroup_is_dead(const struct cgroup *cgroup)
{
	return true;
}

#endif

/*
 * Between hmmrt_charge_to() and hmmrt_charge_end(), memory that this thread
 * allocates is charged to another memory cgroup, of whichever hierarchy.
 * Sections can nest.
 */
struct hmmrt_charging {
	struct mem_cgroup *memcg;
	struct mem_cgroup *before;
};

/* Charge to the process of @mm, which must be alive. */
static inline struct hmmrt_charging hmmrt_charge_to(struct mm_struct *mm)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(mm);

	return (struct hmmrt_charging){
		.memcg = memcg,
		.before = set_active_memcg(memcg),
	};
}

static inline void hmmrt_charge_end(struct hmmrt_charging charging)
{
	set_active_memcg(charging.before);
	mem_cgroup_put(charging.memcg);
}

/*
 * The charge of a page that was allocated with __GFP_ACCOUNT, and the reference
 * that belongs to it; 0 if it has none. Freeing the page uncharges it. As the
 * core does with a folio that migrates, these take the charge off a page, and
 * put it on another one that has none. Both pages are single ones.
 */
static inline unsigned long hmmrt_page_take_memcg(struct page *page)
{
	unsigned long data = 0;

#ifdef CONFIG_MEMCG
	VM_WARN_ON_ONCE(PageCompound(page));
	data = page_folio(page)->memcg_data;
	page_folio(page)->memcg_data = 0;
#endif
	return data;
}

static inline void hmmrt_page_give_memcg(struct page *page, unsigned long data)
{
#ifdef CONFIG_MEMCG
	VM_WARN_ON_ONCE(PageCompound(page) || page_folio(page)->memcg_data);
	page_folio(page)->memcg_data = data;
#endif
}

/* Returns true if a page of a process has its charge. The page is locked. */
static inline bool hmmrt_page_is_charged(struct page *page)
{
	VM_WARN_ON_ONCE(!PageLocked(page));
#ifdef CONFIG_MEMCG
	return mem_cgroup_disabled() || page_folio(page)->memcg_data;
#else
	return true;
#endif
}

/* Whether so many pages can be charged without reclaim, as of now. */
static inline bool hmmrt_memcg_has_room(struct mem_cgroup *memcg,
					unsigned long npages)
{
#ifdef CONFIG_MEMCG
	struct page_counter *counter = memcg ? &memcg->memory : NULL;

	for (; counter; counter = counter->parent)
		if (page_counter_read(counter) + npages >
		    READ_ONCE(counter->max))
			return false;
#endif
	return true;
}

#endif /* _HMMRT_COMPAT_CGROUP_H */
