// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events and episodes: which event an event is a part of, and how long it took.
 *
 * Lookup     The episodes of all threads are in a small hash table by thread.
 *            A thread adds and removes only its own ones, the innermost first,
 *            and each before the function that began it returns. So what it
 *            finds stays valid without a lock.
 */
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/mmdebug.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "event.h"

/* The bodies of the trace events are here. */
#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * Each change rewrites code on all CPUs, so the key stays on for a while after
 * the last ring is gone: a program that opens and closes rings does not disturb
 * others.
 */
DEFINE_STATIC_KEY_DEFERRED_FALSE(hmmrt_events_key, HZ);

/* Waiting threads have episodes, too. */
#define BUCKET_BITS	10

static struct bucket {
	spinlock_t lock; /* protects @episodes; nothing is under it */
	struct hlist_head episodes;
} buckets[1 << BUCKET_BITS];

static atomic64_t last_serial = ATOMIC64_INIT(0);

void hmmrt_events_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		spin_lock_init(&buckets[i].lock);
}

/* No ring is left. */
void hmmrt_events_exit(void)
{
	static_key_deferred_flush(&hmmrt_events_key);
}

/* A trace event was enabled, or disabled: perhaps after hmmrt_events_exit(). */
int hmmrt_events_trace_on(void)
{
	static_branch_inc(&hmmrt_events_key.key);
	return 0;
}

void hmmrt_events_trace_off(void)
{
	static_branch_dec(&hmmrt_events_key.key);
}

/* --- episodes ------------------------------------------------------------- */

static struct bucket *bucket_of(const struct task_struct *task)
{
	return &buckets[hash_ptr(task, BUCKET_BITS)];
}

/* The innermost episode of this thread, or NULL. */
static struct hmmrt_episode *innermost(void)
{
	struct bucket *bucket = bucket_of(current);
	struct hmmrt_episode *episode, *found = NULL;

	/* Only this thread adds one of its own. */
	if (hlist_empty(&bucket->episodes))
		return NULL;
	spin_lock(&bucket->lock);
	hlist_for_each_entry(episode, &bucket->episodes, link) {
		if (episode->task != current)
			continue;
		found = episode;
		break;
	}
	spin_unlock(&bucket->lock);
	return found;
}

/* The time up to @now counts for the current phase. */
static void phase_spend(struct hmmrt_episode *episode, u64 now)
{
	episode->spent[episode->phase] += now - episode->since;
	episode->since = now;
}

void hmmrt_episode_start(struct hmmrt_episode *episode)
{
	struct bucket *bucket = bucket_of(current);
	u64 now = ktime_get_ns();

	memset(episode->spent, 0, sizeof(episode->spent));
	episode->task = current;
	episode->outer = innermost();
	episode->parent = episode->outer ? episode->outer->serial : 0;
	episode->serial = atomic64_inc_return(&last_serial);
	episode->began = now;
	episode->since = now;
	if (episode->outer)
		phase_spend(episode->outer, now);
	spin_lock(&bucket->lock);
	hlist_add_head(&episode->link, &bucket->episodes);
	spin_unlock(&bucket->lock);
}

void hmmrt_episode_enter(enum hmmrt_event_phase phase)
{
	struct hmmrt_episode *episode = innermost();

	if (!episode)
		return;
	phase_spend(episode, ktime_get_ns());
	episode->phase = phase;
}

/* The time of an episode that ends at @now is also time of the outer one. */
static void outer_spend(const struct hmmrt_episode *episode, u64 now)
{
	struct hmmrt_episode *outer = episode->outer;
	unsigned int i;

	if (!outer)
		return;
	outer->since = now;
	if (episode->apart) {
		outer->spent[outer->phase] += now - episode->began;
		return;
	}
	for (i = 0; i < HMMRT_EVENT_PHASES; i++)
		outer->spent[i] += episode->spent[i];
}

/**
 * hmmrt_episode_finish() - end an episode that is recorded
 * @episode: the innermost one of this thread
 * @source: space of the event, or NULL
 * @event: to be completed and recorded, or NULL: there is no event
 */
void hmmrt_episode_finish(struct hmmrt_episode *episode,
			  const struct hmmrt_event_source *source,
			  struct hmmrt_event *event)
{
	struct bucket *bucket = bucket_of(current);
	u64 now = ktime_get_ns();
	unsigned int i;

	VM_WARN_ON_ONCE(innermost() != episode);
	spin_lock(&bucket->lock);
	hlist_del(&episode->link);
	spin_unlock(&bucket->lock);
	phase_spend(episode, now);
	outer_spend(episode, now);
	if (!event)
		return;
	event->serial = episode->serial;
	event->parent = episode->parent;
	event->time = now;
	event->duration = now - episode->began;
	for (i = 0; i < HMMRT_EVENT_PHASES; i++)
		event->phase[i] = min_t(u64, episode->spent[i], U32_MAX);
	hmmrt_event_record(source, event);
}

/**
 * hmmrt_episode_finish_moved() - end an episode that moved pages
 * @episode: the innermost one of this thread, recorded
 * @source: space of the pages, or NULL
 * @from_device: how many pages were moved, by source device
 * @moved: how many in all, or 0: all of them came from devices
 * @move: cause, address and target of all of them
 *
 * Each source is an event. The first one has the time of the episode.
 */
void hmmrt_episode_finish_moved(struct hmmrt_episode *episode,
				const struct hmmrt_event_source *source,
				const u32 *from_device, u64 moved,
				const struct hmmrt_event *move)
{
	bool first = true;
	u64 devices = 0;
	u32 id;

	for (id = 0; id <= HMMRT_MAX_DEVICES; id++) {
		bool host = id == HMMRT_MAX_DEVICES;
		struct hmmrt_event event = *move;

		event.type = HMMRT_EVENT_MIGRATION;
		event.from = host ? HMMRT_LOCATION_HOST : id;
		event.pages = host ? moved - min(moved, devices) :
				     from_device[id];
		devices += host ? 0 : from_device[id];
		if (!event.pages)
			continue;
		if (first)
			hmmrt_episode_finish(episode, source, &event);
		else
			hmmrt_event_record(source, &event);
		first = false;
	}
	if (first)
		hmmrt_episode_finish(episode, NULL, NULL);
}

/**
 * hmmrt_episode_answer() - note what a lane is told about its fault
 * @batch: the innermost episode of this thread, which served the fault
 * @answer: for the thread of that lane
 */
void hmmrt_episode_answer(const struct hmmrt_episode *batch,
			  struct hmmrt_event_answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->when = ktime_get_ns();
	if (!batch->recorded)
		return;
	answer->batch = batch->serial;
	memcpy(answer->spent, batch->spent, sizeof(answer->spent));
	answer->spent[batch->phase] += answer->when - batch->since;
}

/**
 * hmmrt_episode_answered() - another lane has served the fault of this one
 * @episode: of the fault; what follows in it is the phase REPLAY
 * @answer: of the other lane
 *
 * The fault has the phases of the batch, except that all the time before the
 * batch is the phase QUEUE.
 */
void hmmrt_episode_answered(struct hmmrt_episode *episode,
			    const struct hmmrt_event_answer *answer)
{
	u64 served = 0, waited;
	unsigned int i;

	/* Events were off for one of the two. */
	if (!episode->recorded || !answer->when)
		return;
	for (i = 0; i < HMMRT_EVENT_PHASES; i++)
		served += answer->spent[i];
	waited = answer->when - episode->began;
	/* The batch may have begun before the fault, but served it after. */
	if (served <= waited) {
		memcpy(episode->spent, answer->spent, sizeof(episode->spent));
		episode->spent[HMMRT_PHASE_QUEUE] += waited - served;
	} else {
		memset(episode->spent, 0, sizeof(episode->spent));
		episode->spent[HMMRT_PHASE_QUEUE] = waited;
	}
	episode->since = answer->when;
	episode->phase = HMMRT_PHASE_REPLAY;
	episode->parent = answer->batch;
}

/* --- events --------------------------------------------------------------- */

#define HAS_DEVICE BIT(0)
#define HAS_FROM BIT(1)
#define HAS_TO BIT(2)

/* Members that an event of the type has; the others are no location. */
static const u8 members[HMMRT_EVENT_TYPES] = {
	[HMMRT_EVENT_BIND] = HAS_DEVICE,
	[HMMRT_EVENT_UNBIND] = HAS_DEVICE,
	[HMMRT_EVENT_DEVICE_FAULT] = HAS_DEVICE,
	[HMMRT_EVENT_FAULT_BATCH] = HAS_DEVICE,
	[HMMRT_EVENT_REPLAY] = HAS_DEVICE,
	[HMMRT_EVENT_CPU_FAULT] = HAS_FROM | HAS_TO,
	[HMMRT_EVENT_MIGRATION] = HAS_FROM | HAS_TO,
	[HMMRT_EVENT_EVICTION] = HAS_DEVICE,
	[HMMRT_EVENT_DUPLICATE] = HAS_DEVICE,
	[HMMRT_EVENT_DUPLICATE_DROP] = HAS_DEVICE,
	[HMMRT_EVENT_MAP] = HAS_DEVICE,
	[HMMRT_EVENT_MAP_REMOTE] = HAS_DEVICE,
	[HMMRT_EVENT_INVALIDATE] = 0,
	[HMMRT_EVENT_THRASHING] = HAS_DEVICE,
	[HMMRT_EVENT_THROTTLE] = HAS_DEVICE,
	[HMMRT_EVENT_REFUSAL] = HAS_DEVICE,
	[HMMRT_EVENT_PREFETCH] = HAS_TO,
	[HMMRT_EVENT_ADVISE] = HAS_TO,
	[HMMRT_EVENT_MARK] = 0,
	[HMMRT_EVENT_SECTION] = 0,
	[HMMRT_EVENT_NAME] = 0,
	[HMMRT_EVENT_ACCESS] = HAS_DEVICE,
};

/* Those that trace_event() does not name. */
static void trace_other_event(const struct hmmrt_event *event)
{
	switch (event->type) {
	case HMMRT_EVENT_BIND:
		trace_hmmrt_bind(event);
		break;
	case HMMRT_EVENT_UNBIND:
		trace_hmmrt_unbind(event);
		break;
	case HMMRT_EVENT_THRASHING:
		trace_hmmrt_thrashing(event);
		break;
	case HMMRT_EVENT_THROTTLE:
		trace_hmmrt_throttle(event);
		break;
	case HMMRT_EVENT_REFUSAL:
		trace_hmmrt_refusal(event);
		break;
	case HMMRT_EVENT_PREFETCH:
		trace_hmmrt_prefetch(event);
		break;
	case HMMRT_EVENT_ADVISE:
		trace_hmmrt_advise(event);
		break;
	case HMMRT_EVENT_INVALIDATE:
		trace_hmmrt_invalidate(event);
		break;
	case HMMRT_EVENT_MARK:
		trace_hmmrt_mark(event);
		break;
	case HMMRT_EVENT_SECTION:
		trace_hmmrt_section(event);
		break;
	case HMMRT_EVENT_NAME:
		trace_hmmrt_name(event);
		break;
	case HMMRT_EVENT_ACCESS:
		break;
	default:
		VM_WARN_ON_ONCE(1);
	}
}

static void trace_event(const struct hmmrt_event *event)
{
	switch (event->type) {
	case HMMRT_EVENT_DEVICE_FAULT:
		trace_hmmrt_device_fault(event);
		break;
	case HMMRT_EVENT_FAULT_BATCH:
		trace_hmmrt_fault_batch(event);
		break;
	case HMMRT_EVENT_REPLAY:
		trace_hmmrt_replay(event);
		break;
	case HMMRT_EVENT_CPU_FAULT:
		trace_hmmrt_cpu_fault(event);
		break;
	case HMMRT_EVENT_MIGRATION:
		trace_hmmrt_migration(event);
		break;
	case HMMRT_EVENT_EVICTION:
		trace_hmmrt_eviction(event);
		break;
	case HMMRT_EVENT_DUPLICATE:
		trace_hmmrt_duplicate(event);
		break;
	case HMMRT_EVENT_DUPLICATE_DROP:
		trace_hmmrt_duplicate_drop(event);
		break;
	case HMMRT_EVENT_MAP:
		trace_hmmrt_map(event);
		break;
	case HMMRT_EVENT_MAP_REMOTE:
		trace_hmmrt_map_remote(event);
		break;
	default:
		trace_other_event(event);
	}
}

/**
 * hmmrt_event_record() - complete an event, and give it to its readers
 * @source: its space, which the caller holds, or NULL
 * @event: with @serial 0 unless it ends an episode
 *
 * Context: see event.h.
 */
void hmmrt_event_record(const struct hmmrt_event_source *source,
			struct hmmrt_event *event)
{
	if (!event->serial) {
		const struct hmmrt_episode *outer = innermost();

		event->serial = atomic64_inc_return(&last_serial);
		event->parent = outer ? outer->serial : 0;
		event->time = ktime_get_ns();
	}
	event->space = source ? source->space : 0;
	if (!(members[event->type] & HAS_DEVICE))
		event->device = HMMRT_LOCATION_NONE;
	if (!(members[event->type] & HAS_FROM))
		event->from = HMMRT_LOCATION_NONE;
	if (!(members[event->type] & HAS_TO))
		event->to = HMMRT_LOCATION_NONE;
	event->pid = source ? pid_nr(source->pid) : 0;
	event->tid = current->pid;
	trace_event(event);
	hmmrt_event_rings_write(source, event);
}
