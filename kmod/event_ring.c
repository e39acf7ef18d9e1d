// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings: events as programs read them, from memory that they map.
 *
 * Taps       A tap gives the events of one space to one ring. A ring of a space
 *            has one tap, a ring of children has one for each space that they
 *            create, and a ring of the machine needs none. What a process does
 *            while it is not dumpable, as after it has changed its user, is not
 *            for a ring of children.
 * Full       An event that finds a ring full is dropped and counted, so nothing
 *            waits for a reader. The reader may write anything into the
 *            mapping: the kernel keeps its own head, and takes an impossible
 *            tail for that of a full ring.
 * Shares     A ring of several spaces has a part for each of them, however many
 *            events one makes: a user's events may take three times what is
 *            free, and those of a space what the other ones of its user leave
 *            of that. So one space alone gets three fifths of the ring, and
 *            many leave a part free. Users and spaces are told apart by a hash,
 *            so two of them may share by chance.
 * Memory     The pages of a ring count as locked memory of its opener.
 * Lifetime   The ring belongs to its file, which mappings hold. A tap goes with
 *            its ring or its space, whichever ends first. Neither holds the
 *            other.
 * Locking    rings_lock protects all lists; writers of events walk them under
 *            RCU. ring->lock is below all other locks, and protects the head
 *            and the events.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mmdebug.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/dumpable.h"
#include "event.h"

/* Generations of a process that a search for the ring of an ancestor visits. */
#define ANCESTORS_MAX	64
/* Rings of a user: threads of others pay for events that they get. */
#define USER_RINGS_MAX	32

/* Where an event is counted: in of_user and of_space of struct ring_share. */
struct owner {
	u8 user;
	u8 space;
};

/* Of a ring of several spaces; protected by ring->lock. */
struct ring_share {
	u64 tail; /* first event that is counted */
	u32 of_user[U8_MAX + 1]; /* counted events */
	u32 of_space[U8_MAX + 1];
	struct owner owners[]; /* of the events that are counted */
};

/* How much is counted out at each event: more than comes in. */
#define SHARE_STEPS	64
/* How many times what is free a user may have. */
#define SHARE_OF_USER	3

struct ring {
	struct list_head link;		/* on machine_rings or children_rings */
	struct list_head all;		/* on all_rings */
	struct list_head taps;
	struct hmmrt_event_ring_args args;
	struct pid *opener; /* thread group */
	struct pid_namespace *ns; /* of the opener */
	const struct cred *cred; /* of the opener */
	struct hmmrt_locked locked; /* all pages */
	struct page **pages;
	unsigned int nr_pages;
	struct hmmrt_event_ring *header; /* all pages, mapped */
	spinlock_t lock; /* protects @head, and writes of events */
	u64 head;
	u64 dropped[HMMRT_EVENT_TYPES]; /* protected by @lock */
	struct ring_share *share; /* NULL: of one space */
	wait_queue_head_t wait;
	bool ended;		/* of a ring of a space: the space is gone */
	struct tap *tap;	/* for ring_connect(), of a ring of a space */
};

struct tap {
	struct list_head of_source;
	struct list_head of_ring;
	struct hmmrt_event_source *source;
	struct ring *ring;
	struct rcu_head rcu;
};

static DEFINE_MUTEX(rings_lock);
static LIST_HEAD(all_rings);
static LIST_HEAD(machine_rings);
static LIST_HEAD(children_rings);
/* Rings of the machine that want accesses. */
static atomic_t all_accesses = ATOMIC_INIT(0);

/* --- writing -------------------------------------------------------------- */

static void *ring_slot(const struct ring *ring, u64 n)
{
	return (void *)ring->header + PAGE_SIZE +
	       (n & (ring->args.events - 1)) * sizeof(struct hmmrt_event);
}

/* How many events the reader has not read yet, as far as it can be believed. */
static u64 ring_used(const struct ring *ring, u64 head)
{
	/* Pairs with the reader's release, after it has read the events. */
	u64 used = head - smp_load_acquire(&ring->header->tail);

	return min_t(u64, used, ring->args.events);
}

static void ring_count_dropped(struct ring *ring, unsigned int type)
{
	lockdep_assert_held(&ring->lock);
	ring->dropped[type]++;
	WRITE_ONCE(ring->header->dropped[type], ring->dropped[type]);
}

static struct owner owner_of(const struct hmmrt_event_source *source)
{
	struct owner owner = {};

	if (source) {
		owner.user = 1 + __kuid_val(source->uid) % U8_MAX;
		owner.space = 1 + (u32)source->space % U8_MAX;
	}
	return owner;
}

/* Count out what the reader has read. @used as of ring_used(). */
static void share_settle(struct ring *ring, u64 used)
{
	struct ring_share *share = ring->share;
	unsigned int steps;

	lockdep_assert_held(&ring->lock);
	/* A reader may also have moved the tail back. */
	for (steps = 0; steps < SHARE_STEPS && ring->head - share->tail > used;
	     steps++) {
		const struct owner *owner =
			&share->owners[share->tail++ & (ring->args.events - 1)];

		share->of_user[owner->user]--;
		share->of_space[owner->space]--;
	}
}

/* Count one more event of the owner in, if it may have one more. */
static bool share_take(struct ring *ring, u64 used, struct owner owner)
{
	struct ring_share *share = ring->share;
	u64 most = (ring->args.events - used) * SHARE_OF_USER;

	lockdep_assert_held(&ring->lock);
	if (share->of_user[owner.user] >= most ||
	    share->of_space[owner.space] >= most - share->of_user[owner.user])
		return false;
	VM_WARN_ON_ONCE(ring->head - share->tail >= ring->args.events);
	share->of_user[owner.user]++;
	share->of_space[owner.space]++;
	share->owners[ring->head & (ring->args.events - 1)] = owner;
	return true;
}

/* Return whether the ring takes an event of that source. */
static bool ring_takes(struct ring *ring, u64 used,
		       const struct hmmrt_event_source *source)
{
	if (!ring->share)
		return used < ring->args.events;
	share_settle(ring, used);
	return share_take(ring, used, owner_of(source));
}

/* There is no memory to tap a space. */
static void ring_drop_space(struct ring *ring)
{
	spin_lock(&ring->lock);
	ring_count_dropped(ring, 0);
	spin_unlock(&ring->lock);
}

static void ring_write(struct ring *ring,
		       const struct hmmrt_event_source *source,
		       const struct hmmrt_event *event)
{
	struct hmmrt_event copy;
	bool wake = false;
	u64 used;

	if (!(ring->args.types & HMMRT_EVENT_BIT(event->type)))
		return;
	copy = *event;
	copy.pid = source ? pid_nr_ns(source->pid, ring->ns) : 0;
	copy.tid = task_pid_nr_ns(current, ring->ns);
	spin_lock(&ring->lock);
	used = ring_used(ring, ring->head);
	if (!ring_takes(ring, used, source)) {
		ring_count_dropped(ring, event->type);
	} else {
		memcpy(ring_slot(ring, ring->head), &copy, sizeof(copy));
		/* Pairs with the reader's acquire. */
		smp_store_release(&ring->header->head, ++ring->head);
		wake = used + 1 >= ring->args.wake_events;
	}
	spin_unlock(&ring->lock);
	if (wake && wq_has_sleeper(&ring->wait))
		wake_up_interruptible(&ring->wait);
}

/* The opener may observe all processes of all users. */
static bool ring_is_privileged(const struct ring *ring)
{
	return cap_raised(ring->cred->cap_effective, CAP_SYS_PTRACE) &&
	       ring->cred->user_ns == &init_user_ns;
}

/* Return whether the opener may still observe the process. */
static bool tap_is_open(const struct tap *tap,
			const struct hmmrt_event_source *source)
{
	return tap->ring->args.scope == HMMRT_EVENTS_OF_SPACE ||
	       ring_is_privileged(tap->ring) ||
	       hmmrt_is_dumpable(source->pid, source->mm);
}

/* Write a completed event into all rings that want it. */
void hmmrt_event_rings_write(const struct hmmrt_event_source *source,
			     const struct hmmrt_event *event)
{
	struct ring *ring;
	struct tap *tap;

	rcu_read_lock();
	list_for_each_entry_rcu(ring, &machine_rings, link)
		ring_write(ring, source, event);
	if (source)
		list_for_each_entry_rcu(tap, &source->taps, of_source)
			if (tap_is_open(tap, source))
				ring_write(tap->ring, source, event);
	rcu_read_unlock();
}

/* --- accesses ------------------------------------------------------------- */

static bool ring_wants_accesses(const struct ring *ring)
{
	return ring->args.types & HMMRT_EVENT_BIT(HMMRT_EVENT_ACCESS);
}

/* A ring begins or ends. Taps count it if it isn't one of the machine. */
static void ring_count_accesses(const struct ring *ring, int change)
{
	if (ring->args.scope == HMMRT_EVENTS_OF_MACHINE &&
	    ring_wants_accesses(ring))
		atomic_add(change, &all_accesses);
}

/* Return whether accesses of the space are recorded. */
bool hmmrt_event_wants_accesses(const struct hmmrt_event_source *source)
{
	return READ_ONCE(source->accesses) || atomic_read(&all_accesses);
}

/* --- taps ----------------------------------------------------------------- */

static void tap_add(struct tap *tap, struct ring *ring,
		    struct hmmrt_event_source *source)
{
	lockdep_assert_held(&rings_lock);
	tap->ring = ring;
	tap->source = source;
	WRITE_ONCE(source->accesses,
		   source->accesses + ring_wants_accesses(ring));
	list_add(&tap->of_ring, &ring->taps);
	list_add_rcu(&tap->of_source, &source->taps);
}

static void tap_remove(struct tap *tap)
{
	struct hmmrt_event_source *source = tap->source;

	lockdep_assert_held(&rings_lock);
	WRITE_ONCE(source->accesses,
		   source->accesses - ring_wants_accesses(tap->ring));
	list_del_rcu(&tap->of_source);
	list_del(&tap->of_ring);
	kfree_rcu(tap, rcu);
}

/* Return whether the caller's process descends from the one that opened it. */
static bool ring_is_of_ancestor(const struct ring *ring)
{
	const struct task_struct *task = current;
	unsigned int generation;
	bool found = false;

	rcu_read_lock();
	for (generation = 0; !found && generation < ANCESTORS_MAX;
	     generation++) {
		const struct task_struct *parent =
			rcu_dereference(task->real_parent);

		if (parent == task)
			break;
		task = parent;
		found = task_tgid((struct task_struct *)task) == ring->opener;
	}
	rcu_read_unlock();
	return found;
}

/*
 * Return whether the opener of the ring may observe the caller's process: the
 * rule of ptrace() for processes of the same user. ptrace_may_access() cannot be
 * asked: it judges the calling process, which is the observed one here, and
 * modules cannot call it. Yama has no say in it, which restricts attaching only.
 */
static bool ring_may_observe(const struct ring *ring)
{
	const struct cred *own = ring->cred, *cred = current_cred();

	if (ring_is_privileged(ring))
		return true;
	return cred->user_ns == own->user_ns && uid_eq(cred->uid, own->uid) &&
	       uid_eq(cred->euid, own->uid) && uid_eq(cred->suid, own->uid) &&
	       gid_eq(cred->gid, own->gid) && gid_eq(cred->egid, own->gid) &&
	       gid_eq(cred->sgid, own->gid) &&
	       cap_issubset(cred->cap_permitted, own->cap_permitted) &&
	       hmmrt_is_dumpable(task_tgid(current), current->mm);
}

/*
 * Tap a new space of the caller for the rings of its ancestors. No reclaim under
 * the lock: it may wait for programs.
 */
void hmmrt_event_source_tap(struct hmmrt_event_source *source)
{
	struct ring *ring;
	struct tap *tap;

	mutex_lock(&rings_lock);
	list_for_each_entry(ring, &children_rings, link) {
		if (!ring_is_of_ancestor(ring) || !ring_may_observe(ring))
			continue;
		tap = kmalloc(sizeof(*tap), GFP_NOWAIT | __GFP_ACCOUNT |
						    __GFP_NOWARN);
		if (tap)
			tap_add(tap, ring, source);
		else
			ring_drop_space(ring);
	}
	mutex_unlock(&rings_lock);
}

/**
 * hmmrt_event_source_init() - prepare for events of a space
 * @source: of the space, before anything can happen in it
 * @space: its id
 * @pid: its process; valid until hmmrt_event_source_exit()
 * @mm: its mm, likewise
 */
void hmmrt_event_source_init(struct hmmrt_event_source *source, u64 space,
			     struct pid *pid, struct mm_struct *mm)
{
	source->space = space;
	source->pid = pid;
	source->mm = mm;
	source->uid = current_uid();
	INIT_LIST_HEAD(&source->taps);
}

/* No other thread records an event of the space any more. */
void hmmrt_event_source_exit(struct hmmrt_event_source *source)
{
	struct tap *tap, *next;

	mutex_lock(&rings_lock);
	list_for_each_entry_safe(tap, next, &source->taps, of_source) {
		struct ring *ring = tap->ring;

		tap_remove(tap);
		if (ring->args.scope != HMMRT_EVENTS_OF_SPACE)
			continue;
		WRITE_ONCE(ring->ended, true);
		wake_up_interruptible(&ring->wait);
	}
	mutex_unlock(&rings_lock);
}

/* --- files ---------------------------------------------------------------- */

static void ring_free_pages(struct ring *ring)
{
	unsigned int i;

	vunmap(ring->header); /* may be NULL */
	for (i = 0; i < ring->nr_pages; i++)
		__free_page(ring->pages[i]);
	kvfree(ring->pages);
	hmmrt_unlock_pages(&ring->locked);
	kvfree(ring->share);
}

/* Context: no other thread can find the ring. */
static void ring_free(struct ring *ring)
{
	ring_free_pages(ring);
	put_pid(ring->opener);
	put_pid_ns(ring->ns);
	put_cred(ring->cred);
	kfree(ring->tap);
	kfree(ring);
}

/* End a ring that is connected. */
static void ring_destroy(struct ring *ring)
{
	struct tap *tap, *next;

	static_branch_slow_dec_deferred(&hmmrt_events_key);
	mutex_lock(&rings_lock);
	ring_count_accesses(ring, -1);
	list_for_each_entry_safe(tap, next, &ring->taps, of_ring)
		tap_remove(tap);
	list_del(&ring->all);
	if (ring->args.scope != HMMRT_EVENTS_OF_SPACE)
		list_del_rcu(&ring->link);
	mutex_unlock(&rings_lock);
	/* Writers may still have found it. */
	synchronize_rcu();
	ring_free(ring);
}

static int ring_release(struct inode *inode, struct file *file)
{
	ring_destroy(file->private_data);
	return 0;
}

static int ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct ring *ring = file->private_data;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff ||
	    vma_pages(vma) != ring->nr_pages)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	hmmrt_vm_flags_clear(vma, VM_MAYEXEC);
	hmmrt_vm_flags_set(vma, VM_DONTCOPY);
	return remap_vmalloc_range(vma, ring->header, 0);
}

static __poll_t ring_poll(struct file *file, poll_table *table)
{
	struct ring *ring = file->private_data;
	__poll_t mask = 0;
	u64 head;

	poll_wait(file, &ring->wait, table);
	spin_lock(&ring->lock);
	head = ring->head;
	spin_unlock(&ring->lock);
	if (ring_used(ring, head) >= ring->args.wake_events)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ring->ended))
		mask |= EPOLLHUP;
	return mask;
}

static const struct file_operations ring_fops = {
	.owner = THIS_MODULE,
	.release = ring_release,
	.mmap = ring_mmap,
	.poll = ring_poll,
};

static int ring_alloc_pages(struct ring *ring)
{
	size_t bytes = (size_t)ring->args.events * sizeof(struct hmmrt_event);
	unsigned int nr = 1 + DIV_ROUND_UP(bytes, PAGE_SIZE);
	int rc;

	rc = hmmrt_lock_pages(&ring->locked, nr);
	if (rc)
		return rc;
	ring->pages = kvmalloc_array(nr, sizeof(*ring->pages),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ring->pages)
		return -ENOMEM;
	while (ring->nr_pages < nr) {
		struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					       __GFP_RETRY_MAYFAIL |
					       __GFP_NOWARN);

		if (!page)
			return -ENOMEM;
		ring->pages[ring->nr_pages++] = page;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	ring->header = vmap(ring->pages, nr, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	return ring->header ? 0 : -ENOMEM;
}

/* One space alone cannot fill the ring, and has to wake the reader. */
static int ring_alloc_share(struct ring *ring)
{
	ring->share = kvzalloc(struct_size(ring->share, owners,
					   ring->args.events),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	ring->args.wake_events = min(ring->args.wake_events,
				     ring->args.events / 2);
	return ring->share ? 0 : -ENOMEM;
}

static struct ring *ring_create(const struct hmmrt_event_ring_args *args)
{
	struct ring *ring;
	int rc;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->args = *args;
	INIT_LIST_HEAD(&ring->link);
	INIT_LIST_HEAD(&ring->taps);
	spin_lock_init(&ring->lock);
	init_waitqueue_head(&ring->wait);
	ring->opener = get_task_pid(current, PIDTYPE_TGID);
	ring->ns = get_pid_ns(task_active_pid_ns(current));
	ring->cred = get_current_cred();
	rc = ring_alloc_pages(ring);
	if (!rc && args->scope != HMMRT_EVENTS_OF_SPACE)
		rc = ring_alloc_share(ring);
	if (!rc && args->scope == HMMRT_EVENTS_OF_SPACE) {
		ring->tap = kmalloc(sizeof(*ring->tap), GFP_KERNEL_ACCOUNT);
		rc = ring->tap ? 0 : -ENOMEM;
	}
	if (rc) {
		ring_free(ring);
		return ERR_PTR(rc);
	}
	ring->header->events = args->events;
	ring->header->event_bytes = sizeof(struct hmmrt_event);
	ring->header->data_bytes = PAGE_SIZE;
	ring->header->version = HMMRT_UAPI_VERSION;
	return ring;
}

static bool user_has_too_many(const struct cred *cred)
{
	const struct ring *ring;
	unsigned int n = 0;

	lockdep_assert_held(&rings_lock);
	list_for_each_entry(ring, &all_rings, all)
		n += uid_eq(ring->cred->uid, cred->uid);
	return n >= USER_RINGS_MAX && !capable(CAP_SYS_RESOURCE);
}

/* From now on the ring gets events. */
static int ring_connect(struct ring *ring, struct hmmrt_event_source *source)
{
	static_branch_deferred_inc(&hmmrt_events_key);
	mutex_lock(&rings_lock);
	if (user_has_too_many(ring->cred)) {
		mutex_unlock(&rings_lock);
		static_branch_slow_dec_deferred(&hmmrt_events_key);
		return -EMFILE;
	}
	list_add(&ring->all, &all_rings);
	if (ring->args.scope == HMMRT_EVENTS_OF_SPACE)
		tap_add(ring->tap, ring, source);
	else if (ring->args.scope == HMMRT_EVENTS_OF_CHILDREN)
		list_add_rcu(&ring->link, &children_rings);
	else
		list_add_rcu(&ring->link, &machine_rings);
	ring_count_accesses(ring, 1);
	/* It belongs to the lists, if there is one. */
	ring->tap = NULL;
	mutex_unlock(&rings_lock);
	return 0;
}

/**
 * hmmrt_event_ring_open() - make a ring
 * @args: the caller has checked them, and its permission
 * @source: space for HMMRT_EVENTS_OF_SPACE, which the caller holds, or NULL
 * @map_bytes: set to the size of the mapping
 *
 * Context: may sleep.
 * Return: the file of the ring, or -ENOMEM, -EPERM: RLIMIT_MEMLOCK, -EMFILE,
 * -ENFILE, -EINTR.
 */
struct file *hmmrt_event_ring_open(const struct hmmrt_event_ring_args *args,
				   struct hmmrt_event_source *source,
				   u64 *map_bytes)
{
	struct ring *ring = ring_create(args);
	struct file *file;
	int rc;

	if (IS_ERR(ring))
		return ERR_CAST(ring);
	*map_bytes = (u64)ring->nr_pages << PAGE_SHIFT;
	rc = ring_connect(ring, source);
	if (rc) {
		ring_free(ring);
		return ERR_PTR(rc);
	}
	file = anon_inode_getfile("[hmmrt-events]", &ring_fops, ring, O_RDWR);
	if (IS_ERR(file))
		ring_destroy(ring);
	return file;
}
