/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: what happens to the memory of spaces, for the rings of programs that
 * observe it and for trace events. Nothing is recorded, and almost nothing is
 * executed, while no ring is open and no trace event is enabled.
 *
 * Episodes   What takes time (a fault, a batch, a migration, an eviction) is an
 *            episode: it lasts from hmmrt_episode_begin() to _end(), in one
 *            thread, and episodes of a thread are nested. So an event needs no
 *            argument for the event that it is a part of: that is the innermost
 *            episode of the thread.
 * Phases     An episode is always in one phase. The time of an inner episode
 *            counts for the phases of the outer one too. The phases therefore
 *            add up to the duration.
 * Context    Any that may take a spinlock, with interrupts enabled. No lock is
 *            taken while the locks of this layer are held but those of wait
 *            queues.
 */
#ifndef _HMMRT_EVENT_H
#define _HMMRT_EVENT_H

#include <linux/jump_label_ratelimit.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <uapi/linux/hmmrt_event.h>

#include "hmmrt.h"

struct cred;
struct file;
struct mm_struct;
struct pid;
struct task_struct;

/* What events need to know of a space; part of it. */
struct hmmrt_event_source {
	u64 space; /* id */
	struct pid *pid; /* of its process; held by the space */
	struct mm_struct *mm; /* the same */
	kuid_t uid; /* its creator */
	unsigned int accesses; /* taps of rings that want them */
	struct list_head taps; /* see event_ring.c */
};

struct hmmrt_episode {
	struct hlist_node link; /* among those of all threads */
	const struct task_struct *task;
	struct hmmrt_episode *outer; /* of the same thread, or NULL */
	bool recorded; /* it began while events were on */
	/* Its time counts for one phase of the outer episode, not for many. */
	bool apart;
	u64 serial;
	u64 parent; /* serial, or 0 */
	u64 began; /* in nanoseconds */
	u64 since; /* when the current phase began */
	enum hmmrt_event_phase phase;
	u64 spent[HMMRT_EVENT_PHASES];
};

/* What a lane needs to know about a fault that another lane served. */
struct hmmrt_event_answer {
	u64 batch; /* serial, or 0 */
	u64 when;
	u64 spent[HMMRT_EVENT_PHASES];
};

extern struct static_key_false_deferred hmmrt_events_key;

static inline bool hmmrt_events_on(void)
{
	return static_branch_unlikely(&hmmrt_events_key.key);
}

/* event.c */
void hmmrt_events_init(void);
void hmmrt_events_exit(void);
void hmmrt_event_record(const struct hmmrt_event_source *source,
			struct hmmrt_event *event);
void hmmrt_episode_start(struct hmmrt_episode *episode);
void hmmrt_episode_finish(struct hmmrt_episode *episode,
			  const struct hmmrt_event_source *source,
			  struct hmmrt_event *event);
void hmmrt_episode_finish_moved(struct hmmrt_episode *episode,
				const struct hmmrt_event_source *source,
				const u32 *from_device, u64 moved,
				const struct hmmrt_event *move);
void hmmrt_episode_enter(enum hmmrt_event_phase phase);
void hmmrt_episode_answer(const struct hmmrt_episode *batch,
			  struct hmmrt_event_answer *answer);
void hmmrt_episode_answered(struct hmmrt_episode *episode,
			    const struct hmmrt_event_answer *answer);
int hmmrt_events_trace_on(void);
void hmmrt_events_trace_off(void);

/* event_ring.c */
struct hmmrt_event_ring_args {
	u32 events;
	u32 wake_events;
	u64 types;
	enum hmmrt_event_scope scope;
};

void hmmrt_event_source_init(struct hmmrt_event_source *source, u64 space,
			     struct pid *pid, struct mm_struct *mm);
void hmmrt_event_source_tap(struct hmmrt_event_source *source);
void hmmrt_event_source_exit(struct hmmrt_event_source *source);
struct file *hmmrt_event_ring_open(const struct hmmrt_event_ring_args *args,
				   struct hmmrt_event_source *source,
				   u64 *map_bytes);
bool hmmrt_event_wants_accesses(const struct hmmrt_event_source *source);
void hmmrt_event_rings_write(const struct hmmrt_event_source *source,
			     const struct hmmrt_event *event);

/*
 * Record an event of @_source, which is NULL for none. The other arguments are
 * initialisers of struct hmmrt_event.
 */
#define hmmrt_event(_source, ...)                                           \
	do {                                                                \
		if (hmmrt_events_on())                                      \
			hmmrt_event_record(_source, &(struct hmmrt_event){  \
							    __VA_ARGS__ }); \
	} while (0)

/* Begin an episode in @phase. */
static inline void hmmrt_episode_begin(struct hmmrt_episode *episode,
				       enum hmmrt_event_phase phase)
{
	episode->recorded = hmmrt_events_on();
	if (!episode->recorded)
		return;
	episode->phase = phase;
	episode->apart = false;
	hmmrt_episode_start(episode);
}

/* The thread enters another phase of its innermost episode. */
static inline void hmmrt_episode_phase(enum hmmrt_event_phase phase)
{
	if (hmmrt_events_on())
		hmmrt_episode_enter(phase);
}

/* End an episode that is no event after all. */
static inline void hmmrt_episode_cancel(struct hmmrt_episode *episode)
{
	if (episode->recorded)
		hmmrt_episode_finish(episode, NULL, NULL);
	episode->recorded = false;
}

/* End an episode with an event; the arguments are those of hmmrt_event(). */
#define hmmrt_episode_end(_episode, _source, ...)                         \
	do {                                                              \
		struct hmmrt_episode *__ended = (_episode);               \
									  \
		if (__ended->recorded)                                    \
			hmmrt_episode_finish(__ended, _source,            \
					     &(struct hmmrt_event){       \
						     __VA_ARGS__ });      \
		__ended->recorded = false;                                \
	} while (0)

/*
 * End an episode that moved pages: see hmmrt_episode_finish_moved(). The
 * arguments at the end are those of hmmrt_event().
 */
#define hmmrt_episode_end_moved(_episode, _source, _from, _moved, ...)    \
	do {                                                              \
		struct hmmrt_episode *__ended = (_episode);               \
									  \
		if (__ended->recorded)                                    \
			hmmrt_episode_finish_moved(                       \
				__ended, _source, _from, _moved,          \
				&(struct hmmrt_event){ __VA_ARGS__ });    \
		__ended->recorded = false;                                \
	} while (0)

#endif /* _HMMRT_EVENT_H */
