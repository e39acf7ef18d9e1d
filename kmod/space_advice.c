// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice: what a process asks for about ranges of its memory.
 *
 * Model      An interval tree in the space holds ranges that do not overlap.
 *            Memory outside all ranges has no advice. A change takes the ranges
 *            that it meets out of the tree, cuts, changes and merges them, and
 *            puts them back. Adjacent ranges with equal advice are always
 *            merged.
 * Locking    space->advice_lock protects the trees. It is taken in notifiers
 *            and with pages locked, so no allocation under it may wait: a
 *            change allocates its memory beforehand. A change or a lookup holds
 *            the lock from its first range to its last, so that no thread sees
 *            a change half done. So munmap() and faults wait for as many ranges
 *            as this process has created.
 * Limit      A tree has at most advice_ranges_max ranges, which bounds the
 *            wait. Advice that would create more is refused. A prefetch that
 *            would is not remembered. If the middle of a range is unmapped, the
 *            second half is dropped, unless devices have access there.
 * Lifetime   Advice is given under the mmap_lock, for mapped memory only.
 *            munmap() and mremap() drop it through the space's notifier. To
 *            drop the middle of a range needs memory for the second half; if
 *            the allocation fails, that half is dropped too.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "space.h"

/* A walk over this many ranges takes about 100 ms. */
#define RANGES_MOST	1048576u

static unsigned int advice_ranges_max = 131072;
module_param(advice_ranges_max, uint, 0644);
MODULE_PARM_DESC(advice_ranges_max,
		 "maximum number of ranges with advice per process (default 131072, at most 1048576)");

struct advised {
	struct interval_tree_node range;	/* in bytes: first and last */
	struct list_head link;			/* used while out of the tree */
	struct hmmrt_advice advice;
};

const struct hmmrt_advice hmmrt_no_advice = {
	.preferred = HMMRT_LOCATION_NONE,
	.last_prefetch = HMMRT_LOCATION_NONE,
};

static bool advice_equal(const struct hmmrt_advice *one,
			 const struct hmmrt_advice *two)
{
	return !memcmp(one, two, sizeof(*one));
}

static struct advised *advised_first(struct rb_root_cached *tree,
				     unsigned long first, unsigned long last)
{
	struct interval_tree_node *node;

	node = interval_tree_iter_first(tree, first, last);
	return node ? container_of(node, struct advised, range) : NULL;
}

/* Return the last range that starts at or before @addr. Both ends ascend. */
static struct advised *advised_before(const struct rb_root_cached *tree,
				      unsigned long addr)
{
	struct rb_node *node = tree->rb_root.rb_node;
	struct advised *found = NULL;

	while (node) {
		struct advised *advised =
			rb_entry(node, struct advised, range.rb);

		if (advised->range.start > addr) {
			node = node->rb_left;
		} else {
			found = advised;
			node = node->rb_right;
		}
	}
	return found;
}

static struct advised *advised_next(struct advised *advised,
				    unsigned long first, unsigned long last)
{
	struct interval_tree_node *node;

	node = interval_tree_iter_next(&advised->range, first, last);
	return node ? container_of(node, struct advised, range) : NULL;
}

/* Check two ranges that follow each other: see struct hmmrt_advice_tree. */
static void neighbours_check(const struct advised *one,
			     const struct advised *two)
{
	VM_WARN_ON_ONCE(one->range.last >= two->range.start);
	VM_WARN_ON_ONCE(one->range.last + 1 == two->range.start &&
			advice_equal(&one->advice, &two->advice));
}

static void advised_check(struct advised *advised)
{
	struct rb_node *before = rb_prev(&advised->range.rb);
	struct rb_node *after = rb_next(&advised->range.rb);

	VM_WARN_ON_ONCE(!PAGE_ALIGNED(advised->range.start) ||
			!PAGE_ALIGNED(advised->range.last + 1) ||
			advised->range.start > advised->range.last);
	VM_WARN_ON_ONCE(advice_equal(&advised->advice, &hmmrt_no_advice));
	if (before)
		neighbours_check(rb_entry(before, struct advised, range.rb),
				 advised);
	if (after)
		neighbours_check(advised,
				 rb_entry(after, struct advised, range.rb));
}

static void advised_insert(struct hmmrt_advice_tree *tree,
			   struct advised *advised)
{
	interval_tree_insert(&advised->range, &tree->root);
	tree->ranges++;
	if (IS_ENABLED(CONFIG_DEBUG_VM))
		advised_check(advised);
}

static void advised_remove(struct hmmrt_advice_tree *tree,
			   struct advised *advised)
{
	interval_tree_remove(&advised->range, &tree->root);
	tree->ranges--;
	VM_WARN_ON_ONCE(RB_EMPTY_ROOT(&tree->root.rb_root) != !tree->ranges);
}

/* --- changing a range ----------------------------------------------------- */

struct change {
	unsigned long first, last;
	struct list_head spare;		/* memory allocated beforehand */
	unsigned int spares;
	struct list_head ranges;	/* taken out of the tree, in order */
	const struct hmmrt_advice_change *what;
	bool fills;			/* gives advice to memory without any */
};

static void spares_free(struct change *change)
{
	struct advised *advised, *next;

	list_for_each_entry_safe(advised, next, &change->spare, link) {
		kfree(advised);
		cond_resched();
	}
}

static int spares_alloc(struct change *change, unsigned int count)
{
	for (; change->spares < count; change->spares++) {
		struct advised *advised = kmalloc(sizeof(*advised),
						  GFP_KERNEL_ACCOUNT);

		if (!advised)
			return -ENOMEM;
		list_add(&advised->link, &change->spare);
		cond_resched();
	}
	return 0;
}

static struct advised *spare_take(struct change *change)
{
	struct advised *advised =
		list_first_entry_or_null(&change->spare, struct advised, link);

	if (!advised)
		return NULL;
	list_del(&advised->link);
	change->spares--;
	return advised;
}

static void spare_put(struct change *change, struct advised *advised)
{
	list_move(&advised->link, &change->spare);
	change->spares++;
}

/* Return an upper limit for the number of ranges that the change adds. */
static unsigned int spares_needed(struct rb_root_cached *tree,
				  const struct change *change)
{
	unsigned long at = change->first;
	struct advised *advised;
	unsigned int needed = 0;

	for (advised = advised_first(tree, change->first, change->last);
	     advised; advised = advised_next(advised, change->first,
					     change->last)) {
		needed += change->fills && advised->range.start > at;
		needed += advised->range.start < change->first;
		needed += advised->range.last > change->last;
		at = advised->range.last + 1;
		cond_resched();
	}
	return needed + (change->fills && at <= change->last);
}

/*
 * Return the exact number of ranges after the change. Unlike spares_needed()
 * this takes merges into account: it looks at all that the change meets and at
 * one byte on either side.
 */
static unsigned int ranges_after(const struct hmmrt_space *space,
				 struct hmmrt_advice_tree *tree,
				 const struct change *change)
{
	unsigned long first = change->first ? change->first - 1 : 0;
	unsigned long last = change->last + 1, at, next;
	struct hmmrt_advice before = hmmrt_no_advice;
	unsigned int ranges = tree->ranges;
	struct advised *advised;

	for (advised = advised_first(&tree->root, first, last); advised;
	     advised = advised_next(advised, first, last))
		ranges--;
	for (at = first; at <= last; at = next) {
		unsigned long start = at;
		struct hmmrt_advice advice;

		next = last + 1;
		advice = hmmrt_advice_lookup(space, &tree->root, at, &start,
					     &next);
		if (at < change->first) {
			next = min(next, change->first);
		} else if (at <= change->last) {
			next = min(next, change->last + 1);
			change->what->apply(&advice, change->what);
		}
		ranges += !advice_equal(&advice, &hmmrt_no_advice) &&
			  !advice_equal(&advice, &before);
		before = advice;
		cond_resched();
	}
	return ranges;
}

/* Take out the ranges that the change meets or may be merged with. */
static void ranges_take_out(struct hmmrt_advice_tree *tree,
			    struct change *change)
{
	unsigned long first = change->first ? change->first - 1 : 0;
	unsigned long last = change->last + 1;
	struct advised *advised;

	while ((advised = advised_first(&tree->root, first, last))) {
		advised_remove(tree, advised);
		list_add_tail(&advised->link, &change->ranges);
		cond_resched();
	}
}

/* Split the range that crosses @at. */
static void ranges_cut(struct change *change, unsigned long at)
{
	struct advised *advised, *rest;

	list_for_each_entry(advised, &change->ranges, link) {
		if (advised->range.start >= at || advised->range.last < at)
			continue;
		rest = spare_take(change);
		if (rest) {
			rest->advice = advised->advice;
			rest->range.start = at;
			rest->range.last = advised->range.last;
			list_add(&rest->link, &advised->link);
		}
		advised->range.last = at - 1;
		return;
	}
}

static void ranges_fill(struct change *change)
{
	unsigned long at = change->first;
	struct advised *advised, *hole;

	if (!change->fills)
		return;
	list_for_each_entry(advised, &change->ranges, link) {
		if (advised->range.last < at)
			continue;
		if (at > change->last || advised->range.start > change->last)
			break;
		if (advised->range.start > at) {
			hole = spare_take(change);
			hole->advice = hmmrt_no_advice;
			hole->range.start = at;
			hole->range.last = advised->range.start - 1;
			list_add_tail(&hole->link, &advised->link);
		}
		at = advised->range.last + 1;
	}
	if (at > change->last)
		return;
	hole = spare_take(change);
	hole->advice = hmmrt_no_advice;
	hole->range.start = at;
	hole->range.last = change->last;
	/* Insert before the range that ended the loop, or at the end. */
	list_add_tail(&hole->link, &advised->link);
}

static void ranges_change(struct change *change)
{
	struct advised *advised;

	list_for_each_entry(advised, &change->ranges, link)
		if (advised->range.start >= change->first &&
		    advised->range.last <= change->last)
			change->what->apply(&advised->advice, change->what);
}

/* Merge adjacent ranges with equal advice, and drop ranges without advice. */
static void ranges_put_back(struct hmmrt_advice_tree *tree,
			    struct change *change)
{
	struct advised *advised, *next, *before = NULL;

	list_for_each_entry_safe(advised, next, &change->ranges, link) {
		if (advice_equal(&advised->advice, &hmmrt_no_advice)) {
			spare_put(change, advised);
		} else if (before &&
			   before->range.last + 1 == advised->range.start &&
			   advice_equal(&before->advice, &advised->advice)) {
			before->range.last = advised->range.last;
			spare_put(change, advised);
		} else {
			before = advised;
		}
	}
	list_for_each_entry_safe(advised, next, &change->ranges, link) {
		list_del(&advised->link);
		advised_insert(tree, advised);
		cond_resched();
	}
}

static void change_init(struct change *change, unsigned long start,
			unsigned long end,
			const struct hmmrt_advice_change *what)
{
	struct hmmrt_advice advice = hmmrt_no_advice;

	change->first = start;
	change->last = end - 1;
	change->spares = 0;
	INIT_LIST_HEAD(&change->spare);
	INIT_LIST_HEAD(&change->ranges);
	change->what = what;
	what->apply(&advice, what);
	change->fills = !advice_equal(&advice, &hmmrt_no_advice);
}

static unsigned int ranges_max(void)
{
	return min(READ_ONCE(advice_ranges_max), RANGES_MOST);
}

/* Call with advice_lock held for writing. Drops it while it allocates. */
static int change_prepare(struct hmmrt_space *space,
			  struct hmmrt_advice_tree *tree, struct change *change)
{
	unsigned int needed, most;
	int rc = 0;

	while (!rc) {
		lockdep_assert_held_write(&space->advice_lock);
		needed = spares_needed(&tree->root, change);
		/*
		 * A change that adds no range is allowed even after the limit
		 * was lowered.
		 */
		most = max(ranges_max(), tree->ranges);
		if (tree->ranges + needed > most &&
		    ranges_after(space, tree, change) > most)
			return -ENOSPC;
		if (needed <= change->spares)
			break;
		up_write(&space->advice_lock);
		rc = spares_alloc(change, needed);
		down_write(&space->advice_lock);
	}
	return rc;
}

/* Returns -ENOSPC if there would be too many ranges. */
static int tree_change(struct hmmrt_space *space,
		       struct hmmrt_advice_tree *tree, unsigned long start,
		       unsigned long end,
		       const struct hmmrt_advice_change *what)
{
	struct change change;
	int rc;

	lockdep_assert_held(&space->mm->mmap_lock);
	change_init(&change, start, end, what);
	/* Set first, so that readers without the lock miss no range. */
	WRITE_ONCE(tree->used, true);
	down_write(&space->advice_lock);
	rc = change_prepare(space, tree, &change);
	if (!rc) {
		ranges_take_out(tree, &change);
		ranges_cut(&change, change.first);
		ranges_cut(&change, change.last + 1);
		ranges_fill(&change);
		ranges_change(&change);
		ranges_put_back(tree, &change);
	}
	up_write(&space->advice_lock);
	spares_free(&change);
	return rc;
}

static void advice_forget(struct hmmrt_advice *advice,
			  const struct hmmrt_advice_change *what)
{
	*advice = hmmrt_no_advice;
}

/*
 * Returns true if devices have access in a range: they must not lose it where
 * the object stays mapped. The number of mappings bounds such ranges.
 */
static bool ranges_have_access(const struct change *change)
{
	const struct advised *advised;

	list_for_each_entry(advised, &change->ranges, link)
		if (advised->advice.access)
			return true;
	return false;
}

static void tree_drop(struct hmmrt_space *space, struct hmmrt_advice_tree *tree,
		      unsigned long start, unsigned long end)
{
	static const struct hmmrt_advice_change forget = {
		.apply = advice_forget,
	};
	struct advised *spare;
	struct change change;
	bool full;

	if (!READ_ONCE(tree->used))
		return;
	change_init(&change, start, end, &forget);
	spare = kmalloc(sizeof(*spare), GFP_NOWAIT | __GFP_HIGH | __GFP_NOWARN);
	down_write(&space->advice_lock);
	full = tree->ranges >= ranges_max();
	ranges_take_out(tree, &change);
	/* Used if a range is cut in two. */
	if (spare && (!full || ranges_have_access(&change))) {
		list_add(&spare->link, &change.spare);
		change.spares++;
		spare = NULL;
	}
	ranges_cut(&change, change.last + 1);
	/*
	 * This cut can do without the spare: after the first cut the range ends
	 * inside the dropped part, so its second half is dropped anyway.
	 */
	ranges_cut(&change, change.first);
	ranges_change(&change);
	ranges_put_back(tree, &change);
	up_write(&space->advice_lock);
	kfree(spare);
	spares_free(&change);
}

/**
 * hmmrt_advice_drop() - drop the advice of memory that was unmapped or moved
 * @space: space of the process
 * @start: first address
 * @end: end address, exclusive
 *
 * Context: in a notifier that may sleep.
 */
void hmmrt_advice_drop(struct hmmrt_space *space, unsigned long start,
		       unsigned long end)
{
	tree_drop(space, &space->advice, start, end);
	tree_drop(space, &space->prefetched, start, end);
}

static void advice_forget_device(struct hmmrt_advice *advice,
				 const struct hmmrt_advice_change *what)
{
	advice->accessed_by &= ~BIT(what->location);
	advice->access &= ~HMMRT_ADVICE_ACCESS(what->location,
					       HMMRT_ACCESS_OF_OBJECTS);
	if (advice->preferred == what->location)
		advice->preferred = HMMRT_LOCATION_NONE;
	if (advice->last_prefetch == what->location)
		advice->last_prefetch = HMMRT_LOCATION_NONE;
}

/* Ranges that have equal advice afterwards are merged. Adds no range. */
static void tree_forget_device(struct hmmrt_space *space,
			       struct hmmrt_advice_tree *tree, u32 id)
{
	const struct hmmrt_advice_change forget = {
		.apply = advice_forget_device,
		.location = id,
	};
	struct change change;

	lockdep_assert_held_write(&space->advice_lock);
	change_init(&change, 0, TASK_SIZE_MAX, &forget);
	ranges_take_out(tree, &change);
	ranges_change(&change);
	ranges_put_back(tree, &change);
	spares_free(&change);
}

/**
 * hmmrt_advice_forget_device() - drop advice about a device that is unbound
 * @space: space of the process
 * @id: id of the device, which another device may get later
 *
 * Context: may sleep.
 */
void hmmrt_advice_forget_device(struct hmmrt_space *space, u32 id)
{
	down_write(&space->advice_lock);
	tree_forget_device(space, &space->advice, id);
	tree_forget_device(space, &space->prefetched, id);
	up_write(&space->advice_lock);
}

static void tree_destroy(struct hmmrt_advice_tree *tree)
{
	struct advised *advised;

	while ((advised = advised_first(&tree->root, 0, ULONG_MAX))) {
		advised_remove(tree, advised);
		kfree(advised);
		cond_resched();
	}
}

void hmmrt_advice_destroy(struct hmmrt_space *space)
{
	tree_destroy(&space->advice);
	tree_destroy(&space->prefetched);
}

void hmmrt_advice_init(struct hmmrt_space *space)
{
	init_rwsem(&space->advice_lock);
	space->advice.root = RB_ROOT_CACHED;
	space->prefetched.root = RB_ROOT_CACHED;
}

/* --- lookup --------------------------------------------------------------- */

/*
 * Return the advice at @addr. Shrink [@start, @end) to the part around @addr
 * that has the same advice.
 */
struct hmmrt_advice hmmrt_advice_lookup(const struct hmmrt_space *space,
					const struct rb_root_cached *tree,
					unsigned long addr,
					unsigned long *start,
					unsigned long *end)
{
	struct advised *advised = advised_before(tree, addr);
	struct hmmrt_advice advice = hmmrt_no_advice;
	struct rb_node *next;

	lockdep_assert_held(&space->advice_lock);
	VM_WARN_ON_ONCE(addr < *start || addr >= *end);
	next = advised ? rb_next(&advised->range.rb) : rb_first_cached(tree);
	if (advised && advised->range.last >= addr) {
		advice = advised->advice;
		*start = max(*start, advised->range.start);
		*end = min(*end, advised->range.last + 1);
	} else if (advised) {
		*start = max(*start, advised->range.last + 1);
	}
	if (next)
		*end = min(*end, rb_entry(next, struct advised, range.rb)
					 ->range.start);
	return advice;
}

/**
 * hmmrt_advice_at() - return the advice at an address
 * @space: space of the process
 * @addr: in [*@start, *@end)
 * @start: raised to the first address with the same advice, if that is higher
 * @end: lowered to the end of the same advice, if that is lower
 *
 * Context: any that may sleep.
 */
struct hmmrt_advice hmmrt_advice_at(struct hmmrt_space *space,
				    unsigned long addr, unsigned long *start,
				    unsigned long *end)
{
	struct hmmrt_advice advice;

	if (!READ_ONCE(space->advice.used))
		return hmmrt_no_advice;
	down_read(&space->advice_lock);
	advice = hmmrt_advice_lookup(space, &space->advice.root, addr, start,
				     end);
	up_read(&space->advice_lock);
	return advice;
}

static void advice_prefetched(struct hmmrt_advice *advice,
			      const struct hmmrt_advice_change *what)
{
	advice->last_prefetch = what->location;
}

/* Return whether a location is system memory or an online node of it. */
bool hmmrt_location_is_host(u32 location)
{
	if (location == HMMRT_LOCATION_HOST)
		return true;
	return (location & ~HMMRT_LOCATION_MAX_NODE) ==
		       HMMRT_LOCATION_HOST_NODE(0) &&
	       hmmrt_node_is_online(location & HMMRT_LOCATION_MAX_NODE);
}

/* As hmmrt_change_advice(), for a range that is mapped. */
int hmmrt_change_advice_locked(struct hmmrt_space *space, unsigned long start,
			       unsigned long end,
			       const struct hmmrt_advice_change *what)
{
	int rc;

	lockdep_assert_held(&space->mm->mmap_lock);
	rc = tree_change(space, &space->advice, start, end, what);
	return rc == -ENOSPC ? -ENOMEM : rc;
}

/**
 * hmmrt_change_advice() - change the advice of all of a range, or of none
 * @space: space of the process, with an mm that is alive
 * @start: first address
 * @end: end address, exclusive
 * @what: what to change
 *
 * Context: takes the mmap_lock.
 * Return: 0; -EFAULT: some part is not mapped; -ENOMEM: also for too many
 * ranges; -EINTR.
 */
int hmmrt_change_advice(struct hmmrt_space *space, unsigned long start,
			unsigned long end,
			const struct hmmrt_advice_change *what)
{
	int rc = hmmrt_covered_read_lock(space->mm, start, end);

	if (rc)
		return rc;
	rc = hmmrt_change_advice_locked(space, start, end, what);
	mmap_read_unlock(space->mm);
	return rc;
}

/* Record the target of a prefetch, up to the first hole. */
int hmmrt_advice_prefetched(struct hmmrt_space *space, unsigned long start,
			    unsigned long end, u32 location)
{
	const struct hmmrt_advice_change what = {
		.apply = advice_prefetched,
		.location = location,
	};
	int rc = 0;

	lockdep_assert_held(&space->mm->mmap_lock);
	end = hmmrt_covered_end(space->mm, start, end);
	if (start < end)
		rc = tree_change(space, &space->prefetched, start, end, &what);
	/* Nothing depends on this, but older records are no longer true. */
	if (rc == -ENOSPC) {
		tree_drop(space, &space->prefetched, start, end);
		rc = 0;
	}
	return rc;
}
