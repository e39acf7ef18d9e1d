/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups, of the second version, for kernels with and without them. A kernel
 * without has none: nothing is in one, and none is found.
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

/* With a reference; -EBADF if that is no group's folder. */
static inline struct cgroup *hmmrt_cgroup_from_fd(int fd)
{
	struct cgroup *cgroup = cgroup_get_from_fd(fd);

	return IS_ERR(cgroup) ? ERR_PTR(-EBADF) : cgroup;
}

/* The one that the process of @mm is in, with a reference. */
static inline struct cgroup *hmmrt_cgroup_of(struct mm_struct *mm)
{
	struct task_struct *task = NULL;
	struct cgroup *cgroup;

	rcu_read_lock();
	do {
#ifdef CONFIG_MEMCG
		task = rcu_dereference(mm->owner);
#endif
		/* Another one meanwhile, if the first is on its way out. */
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

/* Whether it is @above, or in it. */
static inline bool hmmrt_cgroup_is_in(struct cgroup *cgroup,
				      struct cgroup *above)
{
	return cgroup_is_descendant(cgroup, above);
}

/* Nobody can enter it any more. */
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

/* Between the two, what this thread allocates is charged to another process. */
struct hmmrt_charging {
	struct mem_cgroup *memcg;
	struct mem_cgroup *before;
};

#if defined(CONFIG_CGROUPS) && defined(CONFIG_MEMCG)

/* To the process of @mm, which is alive. Such sections nest. */
static inline struct hmmrt_charging hmmrt_charge_to(struct mm_struct *mm)
{
	struct cgroup *cgroup = hmmrt_cgroup_of(mm);
	struct cgroup_subsys_state *css =
		cgroup_get_e_css(cgroup, &memory_cgrp_subsys);
	struct hmmrt_charging charging = {
		.memcg = mem_cgroup_from_css(css),
	};

	hmmrt_cgroup_put(cgroup);
	charging.before = set_active_memcg(charging.memcg);
	return charging;
}

static inline void hmmrt_charge_end(struct hmmrt_charging charging)
{
	set_active_memcg(charging.before);
	css_put(&charging.memcg->css);
}

#else

static inline struct hmmrt_charging hmmrt_charge_to(struct mm_struct *mm)
{
	return (struct hmmrt_charging){};
}

static inline void hmmrt_charge_end(struct hmmrt_charging charging)
{
}

#endif

#endif /* _HMMRT_COMPAT_CGROUP_H */
