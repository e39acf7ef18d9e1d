// SPDX-License-Identifier: MIT
/* Annotations: events that a process itself emits. */
#include <sched.h>

#include "lib/events.h"
#include "lib/fixture.h"

FIXTURE(annotation) {
	struct events events;
};

FIXTURE_SETUP(annotation)
{
	space = FD(open_manager());
	ASSERT_EQ(0, cmd_space_create(space));
	buf = ANON(BLOCK_BYTES);
	ASSERT_EQ(0, events_open(&self->events, space, HMMRT_EVENTS_OF_SPACE,
				 HMMRT_EVENTS_MIN));
}

FIXTURE_TEARDOWN(annotation)
{
	events_close(&self->events);
	close(space);
}

static struct hmmrt_annotate annotate(uint32_t kind, const char *text)
{
	struct hmmrt_annotate arg = { .size = sizeof(arg), .kind = kind };

	snprintf(arg.text, sizeof(arg.text), "%s", text);
	return arg;
}

TEST_F(annotation, they_are_events_with_their_text)
{
	static const char longest[] =
		"a text of as many bytes as an event has, without the ..";
	struct hmmrt_annotate arg = annotate(HMMRT_ANNOTATE_MARK, longest);
	const struct hmmrt_event *event;
	uint64_t most;

	ASSERT_EQ(HMMRT_EVENT_TEXT_BYTES, sizeof(longest));
	ASSERT_EQ(0, events_annotate(space, &arg));
	arg = annotate(HMMRT_ANNOTATE_SECTION, "solve");
	arg.since = now_ns() - 1000000;
	ASSERT_EQ(0, events_annotate(space, &arg));
	most = now_ns() - arg.since;
	/* The last byte of one page, and the first one of the next. */
	arg = annotate(HMMRT_ANNOTATE_NAME, "grid");
	arg.addr = (uintptr_t)buf + PAGE_BYTES - 1;
	arg.len = 2;
	ASSERT_EQ(0, events_annotate(space, &arg));
	ASSERT_EQ(3, events_unread(&self->events));

	event = events_at(&self->events, 0);
	EXPECT_EQ(HMMRT_EVENT_MARK, event->type);
	EXPECT_STREQ(longest, event->text);
	EXPECT_EQ(0, event->addr);
	EXPECT_EQ(0, event->pages);
	EXPECT_EQ(0, event->duration);
	EXPECT_EQ(getpid(), event->pid);
	EXPECT_EQ(gettid(), event->tid);
	EXPECT_EQ(HMMRT_LOCATION_NONE, event->device);
	event = events_at(&self->events, 1);
	EXPECT_EQ(HMMRT_EVENT_SECTION, event->type);
	EXPECT_STREQ("solve", event->text);
	EXPECT_LE(1000000, event->duration);
	EXPECT_GE(most, event->duration);
	event = events_at(&self->events, 2);
	EXPECT_EQ(HMMRT_EVENT_NAME, event->type);
	EXPECT_STREQ("grid", event->text);
	EXPECT_EQ(arg.addr, event->addr);
	EXPECT_EQ(2, event->pages);
}

TEST_F(annotation, name_may_be_taken_away)
{
	struct hmmrt_annotate arg = annotate(HMMRT_ANNOTATE_NAME, "");
	const struct hmmrt_event *event;

	arg.addr = (uintptr_t)buf;
	arg.len = BLOCK_BYTES;
	ASSERT_EQ(0, events_annotate(space, &arg));
	ASSERT_EQ(1, events_unread(&self->events));
	event = events_at(&self->events, 0);
	EXPECT_EQ(HMMRT_EVENT_NAME, event->type);
	EXPECT_STREQ("", event->text);
	EXPECT_EQ(BLOCK_PAGES, event->pages);
}

TEST_F(annotation, text_may_be_in_any_language)
{
	static const char text[] =
		"\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80"
		"\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf '\"";
	struct hmmrt_annotate arg = annotate(HMMRT_ANNOTATE_MARK, text);

	ASSERT_EQ(0, events_annotate(space, &arg));
	ASSERT_EQ(1, events_unread(&self->events));
	EXPECT_STREQ(text, events_at(&self->events, 0)->text);
}

/*
 * An event's time and duration use the same clock. The clock of a process in
 * another time namespace has an offset, but its section must begin at the same
 * moment.
 */
TEST_F(annotation, section_begins_at_the_time_that_was_told)
{
	struct hmmrt_annotate arg = annotate(HMMRT_ANNOTATE_SECTION, "solve");
	const uint64_t offset = 100000 * 1000000000ull, began = now_ns();
	const struct hmmrt_event *event;
	struct events machine;
	int manager;
	pid_t pid;

	ASSERT_EQ(0, events_open(&machine, space, HMMRT_EVENTS_OF_MACHINE,
				 HMMRT_EVENTS_MIN));
	arg.since = began;
	ASSERT_EQ(0, events_annotate(space, &arg));
	if (unshare(CLONE_NEWTIME)) {
		events_close(&machine);
		SKIP(return, "no time namespaces: %s", strerror(errno));
	}
	ASSERT_TRUE(write_text("/proc/self/timens_offsets", "1 100000 0"));
	pid = fork();
	if (!pid) {
		manager = open_manager();
		arg.since += offset;
		_exit(cmd_space_create(manager) ||
		      events_annotate(manager, &arg));
	}
	EXPECT_EQ(0, process_wait(pid));
	ASSERT_EQ(2, events_count(&machine, HMMRT_EVENT_SECTION, NULL));
	while (events_unread(&machine)) {
		event = events_at(&machine, 0);
		if (event->type == HMMRT_EVENT_SECTION) {
			EXPECT_LE(began, event->time - event->duration);
			EXPECT_GE(began + 1000000,
				  event->time - event->duration);
		}
		machine.ring->tail++;
	}
	events_close(&machine);
}

TEST_F(annotation, wrong_annotation_gets_its_error_and_is_no_event)
{
	struct hmmrt_annotate name = annotate(HMMRT_ANNOTATE_NAME, "grid");
	struct hmmrt_annotate mark = annotate(HMMRT_ANNOTATE_MARK, "here");
	struct hmmrt_annotate section =
		annotate(HMMRT_ANNOTATE_SECTION, "solve");
	struct hmmrt_annotate arg;
	int manager = open_manager();

	section.since = now_ns();
	name.addr = (uintptr_t)buf;
	name.len = PAGE_BYTES;
#define SET_TEXT(_text) memcpy(arg.text, _text, sizeof(_text))
#define NOT_ANNOTATED(_errno, _file, _good, ...)			\
	EXPECT_CHANGED(-(_errno), events_annotate(_file, &arg), arg,	\
		       _good, __VA_ARGS__)
	NOT_ANNOTATED(EINVAL, manager, mark, );
	NOT_ANNOTATED(EINVAL, space, mark, arg.kind = 0);
	NOT_ANNOTATED(EINVAL, space, mark, arg.kind = HMMRT_ANNOTATE_NAME + 1);
	NOT_ANNOTATED(EOPNOTSUPP, space, mark, arg.__reserved = 1);
	NOT_ANNOTATED(EINVAL, space, mark, arg.text[0] = 0);
	NOT_ANNOTATED(EINVAL, space, mark,
		      memset(arg.text, 'x', sizeof(arg.text)));
	NOT_ANNOTATED(EINVAL, space, mark, arg.addr = PAGE_BYTES);
	NOT_ANNOTATED(EINVAL, space, mark, arg.len = 1);
	NOT_ANNOTATED(EINVAL, space, mark, arg.text[1] = '\n');
	NOT_ANNOTATED(EINVAL, space, mark, arg.text[1] = 0x7f);
	/* Terminal escape sequences, and invalid UTF-8. */
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("a\xc2\x9b[2J"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("a\xc2\x80"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("a\x9b[31m"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xc1\x9b"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xe0\x82\x9b"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xf0\x80\x82\x9b"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xed\xa0\x80"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xf4\x90\x80\x80"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xe2\x80\xa8"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("a\xc3"));
	NOT_ANNOTATED(EINVAL, space, mark, SET_TEXT("\xff"));
	NOT_ANNOTATED(EINVAL, space, mark, arg.since = 1);
	NOT_ANNOTATED(EINVAL, space, section, arg.text[0] = 0);
	NOT_ANNOTATED(EINVAL, space, section, arg.since = 0);
	NOT_ANNOTATED(EINVAL, space, section,
		      arg.since += 3600 * 1000000000ull);
	NOT_ANNOTATED(EINVAL, space, name, arg.len = 0);
	NOT_ANNOTATED(EINVAL, space, name, arg.since = 1);
	NOT_ANNOTATED(EOVERFLOW, space, name, arg.len = UINT64_MAX);
	NOT_ANNOTATED(EOVERFLOW, space, name, arg.addr = 1ull << 63);
	EXPECT_EQ(0, events_unread(&self->events));
	EXPECT_EQ(0, events_annotate(space, &mark));
	EXPECT_EQ(0, events_annotate(space, &section));
	EXPECT_EQ(0, events_annotate(space, &name));
	EXPECT_EQ(3, events_unread(&self->events));
	close(manager);
}

TEST_HARNESS_MAIN
