// SPDX-License-Identifier: MIT
/*
 * Advice: compares the attributes of ranges with a model that keeps them page
 * by page, and checks what each kind of advice does to the location of pages.
 */
#include "lib/fixture.h"
#include "lib/loop.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)

DEVICES_FIXTURE(advice, .devices = 2)

/* --- attributes ----------------------------------------------------------- */

TEST_F(advice, each_kind_is_set_and_unset)
{
	char *buf = ANON(BLOCK_BYTES);
	const uint32_t dev = id_of(A);

	ASSERT_ATTRIBUTES(buf, BLOCK_BYTES, 0, 0, NONE, NONE, 0);
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(buf, BLOCK_BYTES, SET_PREFERRED_LOCATION, A));
	ASSERT_EQ(0, advise_at(buf, BLOCK_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(0, advise_at(buf, BLOCK_BYTES, SET_ACCESSED_BY, HOST));
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, SET_NO_MIGRATE));
	ASSERT_EQ(0, advise_value(buf, BLOCK_BYTES, SET_GRANULARITY,
				  GRANULE_BYTES));
	ASSERT_ATTRIBUTES(buf, BLOCK_BYTES,
			  HMMRT_RANGE_READ_MOSTLY | HMMRT_RANGE_NO_MIGRATE,
			  HMMRT_BY_CPU | 1u << dev, dev, NONE, GRANULE_BYTES);
	ASSERT_EQ(0, prefetch(HOST, buf, BLOCK_BYTES));
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(buf, BLOCK_BYTES, UNSET_ACCESSED_BY, HOST));
	ASSERT_ATTRIBUTES(buf, BLOCK_BYTES, HMMRT_RANGE_NO_MIGRATE, 1u << dev,
			  dev, HOST, GRANULE_BYTES);
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_PREFERRED_LOCATION));
	ASSERT_EQ(0, advise_at(buf, BLOCK_BYTES, UNSET_ACCESSED_BY, A));
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_NO_MIGRATE));
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_GRANULARITY));
	ASSERT_ATTRIBUTES(buf, BLOCK_BYTES, 0, 0, NONE, HOST, 0);
}

#define NO_NODE HMMRT_LOCATION_HOST_NODE(HMMRT_LOCATION_MAX_NODE)

/* Offsets are relative to a buffer of four pages. */
static const struct bad_call {
	int error;
	uint64_t offset;
	uint64_t len;
	uint32_t advice;
	uint32_t location;
	uint64_t value;
} bad_calls[] = {
	{ -EINVAL, 0, 0, SET_READ_MOSTLY, 0, 0 },
	{ -EINVAL, 1, PAGE_BYTES, SET_READ_MOSTLY, 0, 0 },
	{ -EINVAL, 0, PAGE_BYTES + 1, SET_READ_MOSTLY, 0, 0 },
	{ -EOVERFLOW, 0, -PAGE_BYTES, SET_READ_MOSTLY, 0, 0 },
	{ -EOVERFLOW, 1ul << 63, PAGE_BYTES, SET_READ_MOSTLY, 0, 0 },
	{ -EFAULT, 0, 5 * PAGE_BYTES, SET_READ_MOSTLY, 0, 0 },
	{ -EFAULT, -PAGE_BYTES, PAGE_BYTES, SET_NO_MIGRATE, 0, 0 },
	{ -EINVAL, 0, PAGE_BYTES, 0, 0, 0 },
	{ -EINVAL, 0, PAGE_BYTES, 11, 0, 0 },
	{ -EINVAL, 0, PAGE_BYTES, -1u, 0, 0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_READ_MOSTLY, 1, 0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_READ_MOSTLY, 0, 1 },
	{ -ENODEV, 0, PAGE_BYTES, SET_PREFERRED_LOCATION, 15, 0 },
	{ -ENODEV, 0, PAGE_BYTES, SET_PREFERRED_LOCATION, HMMRT_MAX_DEVICES,
	  0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_PREFERRED_LOCATION, NONE, 0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_PREFERRED_LOCATION, NO_NODE, 0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_ACCESSED_BY, HMMRT_LOCATION_HOST_NODE(0),
	  0 },
	{ -ENODEV, 0, PAGE_BYTES, SET_ACCESSED_BY, 15, 0 },
	{ -ENODEV, 0, PAGE_BYTES, UNSET_ACCESSED_BY, HMMRT_MAX_DEVICES, 0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_GRANULARITY, 0, 0 },
	{ -EINVAL, 0, PAGE_BYTES, SET_GRANULARITY, 0, PAGE_BYTES / 2 },
	{ -EINVAL, 0, PAGE_BYTES, SET_GRANULARITY, 0, 3 * PAGE_BYTES },
	{ -EINVAL, 0, PAGE_BYTES, SET_GRANULARITY, 0, 2 * BLOCK_BYTES },
};

TEST_F(advice, bad_arguments_change_nothing)
{
	char *buf = ANON(4 * PAGE_BYTES);
	const size_t page = PAGE_BYTES;
	const struct bad_call *call;

	for (call = bad_calls; call < *(&bad_calls + 1); call++)
		ASSERT_EQ(call->error,
			  cmd_advise(space,
				     (void *)((uintptr_t)buf + call->offset),
				     call->len, call->advice, call->location,
				     call->value))
		{
			TH_LOG("call %zd", call - bad_calls);
		}
	ASSERT_ATTRIBUTES(buf, 4 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
	ASSERT_EQ(0, advise_at(buf, page, SET_PREFERRED_LOCATION,
			       HMMRT_LOCATION_HOST_NODE(0)));
	ASSERT_ATTRIBUTES(buf, page, 0, 0, HMMRT_LOCATION_HOST_NODE(0), NONE, 0);
}

struct changer {
	char *buf;
	size_t len;
	uint32_t locations[2];
	unsigned int round;
};

static void prefer_next(void *arg)
{
	struct changer *changer = arg;

	advise_at(changer->buf, changer->len, SET_PREFERRED_LOCATION,
		  changer->locations[changer->round++ % 2]);
}

/*
 * A change of a large range is atomic to readers, although the range consists
 * of many stored ranges.
 */
TEST_F(advice, attributes_are_a_consistent_snapshot)
{
	struct hmmrt_range_attributes attributes;
	struct changer changer = {
		.len = 64 * PAGE_BYTES,
		.locations = { HOST, A },
	};
	unsigned int mixed = 0;
	struct loop loop;

	changer.buf = ANON(changer.len);
	for (size_t i = 0; i < 64; i += 2)
		ASSERT_EQ(0, advise(changer.buf + i * PAGE_BYTES, PAGE_BYTES,
				    SET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(changer.buf, changer.len, SET_PREFERRED_LOCATION,
			       HOST));
	ASSERT_EQ(0, loop_start(&loop, prefer_next, &changer));
	for (size_t i = 0; i < 5000; i++) {
		ASSERT_EQ(0, cmd_range_attributes(space, changer.buf,
						  changer.len, &attributes));
		mixed += attributes.out_preferred_location == NONE;
	}
	ASSERT_EQ(0, loop_stop(&loop));
	EXPECT_EQ(0, mixed);
}

/*
 * While the advice of a range changes, its entries are out of the tree for a
 * moment. A concurrent fault must still see the advice that did not change.
 */
TEST_F(advice, advice_holds_while_other_advice_changes)
{
	struct changer changer = {
		.len = PAGE_BYTES,
		.locations = { HOST, HMMRT_LOCATION_HOST_NODE(0) },
	};
	struct loop loop;

	changer.buf = ANON(PAGE_BYTES);
	ASSERT_EQ(0, advise(changer.buf, PAGE_BYTES, SET_NO_MIGRATE));
	ASSERT_EQ(0, loop_start(&loop, prefer_next, &changer));
	for (uint64_t i = 0; i < 700; i++) {
		ASSERT_EQ(0, madvise(changer.buf, PAGE_BYTES, MADV_DONTNEED));
		ASSERT_DONE(dev_write(A, changer.buf, i));
	}
	ASSERT_EQ(0, loop_stop(&loop));
	EXPECT_EQ(0, stats_of(A).out_migrated_to_device);
}

TEST_F(advice, munmap_drops_advice_while_other_advice_changes)
{
	char *buf = ANON(2 * PAGE_BYTES);
	struct changer changer = {
		.buf = buf + PAGE_BYTES,
		.len = PAGE_BYTES,
		.locations = { HOST, A },
	};
	struct loop loop;

	ASSERT_EQ(0, loop_start(&loop, prefer_next, &changer));
	for (unsigned int i = 0; i < 700; i++) {
		ASSERT_EQ(0, advise(buf, PAGE_BYTES, SET_NO_MIGRATE));
		ASSERT_EQ(0, munmap(buf, PAGE_BYTES));
		ASSERT_TRUE(map_anon_at(buf, PAGE_BYTES));
		ASSERT_ATTRIBUTES(buf, PAGE_BYTES, 0, 0, NONE, NONE, 0);
	}
	ASSERT_EQ(0, loop_stop(&loop));
}

/* The device's id may be given to another device after the unbinding. */
TEST_F(advice, unbind_drops_advice_for_the_device)
{
	char *buf = FILLED(4 * PAGE_BYTES);

	ASSERT_EQ(0, advise_at(buf, 4 * PAGE_BYTES, SET_PREFERRED_LOCATION, B));
	ASSERT_EQ(0, advise_at(buf, 2 * PAGE_BYTES, SET_ACCESSED_BY, B));
	ASSERT_EQ(0, advise_at(buf, 2 * PAGE_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(0, prefetch(B, buf, 4 * PAGE_BYTES));
	/* The first device's agent has the second device's file open, too. */
	DEV_SYSCALL(A, SYS_close, session.devices[B].gpu);
	session_unbind(&session, B);
	ASSERT_ATTRIBUTES(buf, 2 * PAGE_BYTES, 0, 1u << id_of(A), NONE, NONE,
			  0);
	ASSERT_ATTRIBUTES(buf, 4 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
	EXPECT_EQ(-1, pages_check(buf, 4 * PAGE_BYTES, 1));
}

TEST_F(advice, attributes_of_bad_ranges_are_errors)
{
	struct hmmrt_range_attributes attributes;
	char *buf = ANON(2 * PAGE_BYTES);

	ASSERT_EQ(-EINVAL, cmd_range_attributes(space, buf, 0, &attributes));
	ASSERT_EQ(-EINVAL, cmd_range_attributes(space, buf + 1, PAGE_BYTES,
						&attributes));
	ASSERT_EQ(-EOVERFLOW,
		  cmd_range_attributes(space, buf, -PAGE_BYTES, &attributes));
	ASSERT_EQ(-EFAULT, cmd_range_attributes(space, buf, 3 * PAGE_BYTES,
						&attributes));
}

TEST_F(advice, mixed_range_reports_common_attributes_only)
{
	char *buf = ANON(4 * PAGE_BYTES);

	ASSERT_EQ(0, advise_at(buf, 3 * PAGE_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(0, advise_at(buf + PAGE_BYTES, 3 * PAGE_BYTES,
			       SET_ACCESSED_BY, B));
	ASSERT_EQ(0, advise_at(buf, 2 * PAGE_BYTES, SET_PREFERRED_LOCATION, A));
	ASSERT_EQ(0, advise_at(buf + 2 * PAGE_BYTES, PAGE_BYTES,
			       SET_PREFERRED_LOCATION, HOST));
	ASSERT_ATTRIBUTES(buf, 2 * PAGE_BYTES, 0, 1u << id_of(A), id_of(A),
			  NONE, 0);
	ASSERT_ATTRIBUTES(buf + PAGE_BYTES, 2 * PAGE_BYTES, 0,
			  1u << id_of(A) | 1u << id_of(B), NONE, NONE, 0);
	ASSERT_ATTRIBUTES(buf + 2 * PAGE_BYTES, 2 * PAGE_BYTES, 0,
			  1u << id_of(B), NONE, NONE, 0);
	ASSERT_ATTRIBUTES(buf, 4 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
}

#define MODEL_PAGES	48

struct model_page {
	bool mapped;
	struct hmmrt_range_attributes is;
};

static void model_forget(struct model_page *page)
{
	memset(&page->is, 0, sizeof(page->is));
	page->is.out_preferred_location = NONE;
	page->is.out_last_prefetch = NONE;
}

static void model_apply(struct hmmrt_range_attributes *is, uint32_t advice,
			uint32_t location, uint64_t value)
{
	const uint32_t bit = location == HOST ? HMMRT_BY_CPU : 1u << location;

	switch (advice) {
	case SET_READ_MOSTLY:
		is->out_flags |= HMMRT_RANGE_READ_MOSTLY;
		break;
	case UNSET_READ_MOSTLY:
		is->out_flags &= ~HMMRT_RANGE_READ_MOSTLY;
		break;
	case SET_PREFERRED_LOCATION:
		is->out_preferred_location = location;
		break;
	case UNSET_PREFERRED_LOCATION:
		is->out_preferred_location = NONE;
		break;
	case SET_ACCESSED_BY:
		is->out_accessed_by |= bit;
		break;
	case UNSET_ACCESSED_BY:
		is->out_accessed_by &= ~bit;
		break;
	case SET_NO_MIGRATE:
		is->out_flags |= HMMRT_RANGE_NO_MIGRATE;
		break;
	case UNSET_NO_MIGRATE:
		is->out_flags &= ~HMMRT_RANGE_NO_MIGRATE;
		break;
	case SET_GRANULARITY:
		is->out_granularity = value;
		break;
	case UNSET_GRANULARITY:
		is->out_granularity = 0;
		break;
	}
}

static uint32_t model_location(uint32_t advice, uint32_t dev)
{
	switch (advice) {
	case SET_PREFERRED_LOCATION:
	case SET_ACCESSED_BY:
	case UNSET_ACCESSED_BY:
		return rand() % 2 ? dev : HOST;
	default:
		return 0;
	}
}

/* Applies the call to the model. Returns the result expected of the ioctl. */
static int model_advise(struct model_page *model, size_t first, size_t count,
			uint32_t advice, uint32_t location, uint64_t value)
{
	for (size_t i = first; i < first + count; i++)
		if (!model[i].mapped)
			return -EFAULT;
	for (size_t i = first; i < first + count; i++)
		model_apply(&model[i].is, advice, location, value);
	return 0;
}

static bool same_attributes(const struct hmmrt_range_attributes *one,
			    const struct hmmrt_range_attributes *two)
{
	return one->out_flags == two->out_flags &&
	       one->out_accessed_by == two->out_accessed_by &&
	       one->out_preferred_location == two->out_preferred_location &&
	       one->out_last_prefetch == two->out_last_prefetch &&
	       one->out_granularity == two->out_granularity;
}

/*
 * Compares out_alike_bytes of a query from page @first to the end of the
 * mapping.
 */
static bool alike_bytes_are_right(char *buf, const struct model_page *model,
				  size_t first)
{
	struct hmmrt_range_attributes is;
	size_t alike = 0, end = first;

	while (end < MODEL_PAGES && model[end].mapped)
		end++;
	for (size_t i = first; i < end && alike == i - first; i++)
		alike += same_attributes(&model[first].is, &model[i].is);
	return !cmd_range_attributes(space, buf + first * PAGE_BYTES,
				     (end - first) * PAGE_BYTES, &is) &&
	       is.out_alike_bytes == alike * PAGE_BYTES;
}

/* Returns the index of the first page that differs from the model, or -1. */
static long model_check(char *buf, const struct model_page *model)
{
	for (long i = 0; i < MODEL_PAGES; i++) {
		struct hmmrt_range_attributes is;
		int rc = cmd_range_attributes(space, buf + i * PAGE_BYTES,
					      PAGE_BYTES, &is);

		if (rc != (model[i].mapped ? 0 : -EFAULT))
			return i;
		if (!rc && (!same_attributes(&is, &model[i].is) ||
			    !alike_bytes_are_right(buf, model, i)))
			return i;
	}
	return -1;
}

static bool model_unmap(char *buf, struct model_page *model, size_t first,
			size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		model[i].mapped = false;
		model_forget(&model[i]);
	}
	return !munmap(buf + first * PAGE_BYTES, count * PAGE_BYTES);
}

/* May map over existing mappings, which unmaps them first. */
static bool model_map(char *buf, struct model_page *model, size_t first,
		      size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		model[i].mapped = true;
		model_forget(&model[i]);
	}
	return map_anon_at(buf + first * PAGE_BYTES, count * PAGE_BYTES);
}

TEST_F_TIMEOUT(advice, random_advice_matches_a_per_page_model, 300)
{
	struct model_page model[MODEL_PAGES];
	char *buf;

	srand(test_seed());
	buf = ANON(MODEL_PAGES * PAGE_BYTES);
	ASSERT_TRUE(model_map(buf, model, 0, MODEL_PAGES));
	for (unsigned int step = 0; step < 1500; step++) {
		const size_t first = rand() % MODEL_PAGES;
		const size_t count = 1 + rand() % (MODEL_PAGES - first);
		const uint32_t advice = 1 + rand() % 10;
		const uint32_t location = model_location(advice, id_of(A));
		const uint64_t value = advice == SET_GRANULARITY ?
					       PAGE_BYTES << rand() % 10 :
					       0;

		switch (rand() % 8) {
		case 0:
			ASSERT_TRUE(model_unmap(buf, model, first, count));
			break;
		case 1:
			ASSERT_TRUE(model_map(buf, model, first, count));
			break;
		default:
			ASSERT_EQ(model_advise(model, first, count, advice,
					       location, value),
				  cmd_advise(space, buf + first * PAGE_BYTES,
					     count * PAGE_BYTES, advice,
					     location, value))
			{
				TH_LOG("step %u", step);
			}
		}
		if (step % 8)
			continue;
		ASSERT_EQ(-1, model_check(buf, model))
		{
			TH_LOG("step %u", step);
		}
	}
	ASSERT_EQ(-1, model_check(buf, model));
}

TEST_F(advice, munmap_and_mremap_drop_advice_of_their_range_only)
{
	char *buf = ANON(8 * PAGE_BYTES);
	char *there = ANON(8 * PAGE_BYTES);
	pid_t pid;

	memset(buf, 1, 8 * PAGE_BYTES);
	ASSERT_EQ(0, advise(buf, 8 * PAGE_BYTES, SET_NO_MIGRATE));
	ASSERT_EQ(0, madvise(buf, 8 * PAGE_BYTES, MADV_DONTNEED));
	ASSERT_EQ(0, mprotect(buf, 8 * PAGE_BYTES, PROT_READ));
	ASSERT_EQ(0, mprotect(buf, 8 * PAGE_BYTES, RW));
	pid = FORK();
	if (!pid)
		_exit(munmap(buf, 8 * PAGE_BYTES) ? 1 : 0);
	ASSERT_EQ(0, process_wait(pid));
	ASSERT_ATTRIBUTES(buf, 8 * PAGE_BYTES, HMMRT_RANGE_NO_MIGRATE, 0, NONE,
			  NONE, 0);
	/* Shrink and grow in place: the new part has no advice. */
	ASSERT_EQ(buf, mremap(buf, 8 * PAGE_BYTES, 6 * PAGE_BYTES, 0));
	ASSERT_EQ(buf, mremap(buf, 6 * PAGE_BYTES, 8 * PAGE_BYTES, 0));
	ASSERT_ATTRIBUTES(buf, 6 * PAGE_BYTES, HMMRT_RANGE_NO_MIGRATE, 0, NONE,
			  NONE, 0);
	ASSERT_ATTRIBUTES(buf + 6 * PAGE_BYTES, 2 * PAGE_BYTES, 0, 0, NONE,
			  NONE, 0);
	/* After a move, neither the old nor the new address has advice. */
	memset(buf, 1, 8 * PAGE_BYTES);
	ASSERT_EQ(there, mremap(buf, 8 * PAGE_BYTES, 8 * PAGE_BYTES,
				MREMAP_MAYMOVE | MREMAP_FIXED, there));
	ASSERT_ATTRIBUTES(there, 8 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
	ASSERT_TRUE(map_anon_at(buf, 8 * PAGE_BYTES));
	ASSERT_ATTRIBUTES(buf, 8 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
}

TEST_F_TIMEOUT(advice, sparse_terabyte_is_advised_quickly, 300)
{
	const size_t len = 1ul << 40;
	char *buf = mmap(NULL, len, RW,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t begin = now_ns();

	ASSERT_NE(MAP_FAILED, buf);
	for (size_t at = 0; at < len; at += len / 16)
		buf[at] = 1;
	ASSERT_EQ(0, advise(buf, len, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise(buf, len, UNSET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(buf, len, SET_ACCESSED_BY, A));
	ASSERT_ATTRIBUTES(buf, len, 0, 1u << id_of(A), NONE, NONE, 0);
	ASSERT_LE(16, stats_of(A).out_mapped_pages);
	/* Checking each page of the terabyte would take hours. */
	ASSERT_GT(60000000000ull, now_ns() - begin);
	ASSERT_EQ(0, munmap(buf, len));
}

TEST_F_TIMEOUT(advice, alternating_ranges_are_all_stored, 300)
{
	const size_t count = 20000;
	char *buf = mmap(NULL, count * PAGE_BYTES, RW,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_NE(MAP_FAILED, buf);
	for (size_t i = 0; i < count; i++)
		ASSERT_EQ(0, advise(buf + i * PAGE_BYTES, PAGE_BYTES,
				    i % 2 ? SET_NO_MIGRATE : SET_READ_MOSTLY));
	for (size_t i = 0; i < count; i += 501)
		ASSERT_ATTRIBUTES(buf + i * PAGE_BYTES, PAGE_BYTES,
				  i % 2 ? HMMRT_RANGE_NO_MIGRATE :
					  HMMRT_RANGE_READ_MOSTLY,
				  0, NONE, NONE, 0);
	ASSERT_EQ(0, advise_at(buf, count * PAGE_BYTES, SET_PREFERRED_LOCATION,
			       HOST));
	ASSERT_ATTRIBUTES(buf, count * PAGE_BYTES, 0, 0, HOST, NONE, 0);
	ASSERT_EQ(0, munmap(buf, count * PAGE_BYTES));
}

TEST_F(advice, last_prefetch_reports_the_requested_location)
{
	char *buf = ANON(4 * PAGE_BYTES);

	ASSERT_EQ(0, prefetch(A, buf, 3 * PAGE_BYTES));
	ASSERT_EQ(0, prefetch(HOST, buf, PAGE_BYTES));
	ASSERT_ATTRIBUTES(buf, PAGE_BYTES, 0, 0, NONE, HOST, 0);
	ASSERT_ATTRIBUTES(buf + PAGE_BYTES, 2 * PAGE_BYTES, 0, 0, NONE,
			  id_of(A), 0);
	ASSERT_ATTRIBUTES(buf, 3 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
	ASSERT_ATTRIBUTES(buf + 2 * PAGE_BYTES, 2 * PAGE_BYTES, 0, 0, NONE, NONE,
			  0);
}

/* --- effects -------------------------------------------------------------- */

TEST_F(advice, preferred_host_keeps_pages_in_system_memory)
{
	char *buf = FILLED(GRANULE_BYTES);

	ASSERT_EQ(0,
		  advise_at(buf, GRANULE_BYTES, SET_PREFERRED_LOCATION, HOST));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_DONE(dev_fill(A, buf, GRANULE_BYTES, 9));
	ASSERT_HAS(HOST, buf, GRANULE_BYTES, 9);
	ASSERT_EQ(0, stats_of(A).out_migrated_to_device);
	/* A prefetch moves the pages regardless. Faults leave them there. */
	MOVE(A, buf, GRANULE_BYTES);
	ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 9));
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, UNSET_PREFERRED_LOCATION));
	ASSERT_VALUE(9, dev_read(B, buf));
	ASSERT_AT(B, buf, GRANULE_BYTES);
}

TEST_F(advice, preferred_device_gets_pages_and_others_map_them)
{
	char *buf = FILLED(GRANULE_BYTES);

	ASSERT_EQ(0, advise_at(buf, GRANULE_BYTES, SET_PREFERRED_LOCATION, A));
	/*
	 * The preferred location is another device: this one maps them
	 * remotely.
	 */
	ASSERT_VALUE(1, dev_read(B, buf));
	ASSERT_AT(HOST, buf, GRANULE_BYTES);
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_AT(A, buf, GRANULE_BYTES);
	/*
	 * The CPU cannot map the device's memory; its fault migrates only one
	 * page.
	 */
	ASSERT_EQ(2, *(uint64_t *)(buf + PAGE_BYTES));
	ASSERT_AT(HOST, buf + PAGE_BYTES, PAGE_BYTES);
	ASSERT_AT(A, buf + 2 * PAGE_BYTES, GRANULE_BYTES - 2 * PAGE_BYTES);
	ASSERT_VALUE(2, dev_read(A, buf + PAGE_BYTES));
	ASSERT_AT(A, buf, GRANULE_BYTES);
}

/* Without the advice, such accesses leave memory in system memory. */
TEST_F(advice, preferred_device_gets_pages_back_after_each_cpu_access)
{
	uint64_t *word = ANON(PAGE_BYTES);

	ASSERT_EQ(0, advise_at(word, PAGE_BYTES, SET_PREFERRED_LOCATION, A));
	for (uint64_t i = 0; i < 40; i++) {
		*word = i;
		ASSERT_VALUE(i, dev_read(A, word));
		ASSERT_AT(A, word, PAGE_BYTES);
	}
}

TEST_F(advice, no_migrate_stops_migration_by_faults_and_prefetches)
{
	char *buf = FILLED(GRANULE_BYTES);
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, SET_NO_MIGRATE));
	ASSERT_EQ(0, prefetch_result(A, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(0, result.out_pages_moved);
	ASSERT_EQ(GRANULE_BYTES / PAGE_BYTES,
		  result.out_stayed[HMMRT_STAY_POLICY]);
	ASSERT_FILLS(A, buf, GRANULE_BYTES, 5);
	ASSERT_AT(HOST, buf, GRANULE_BYTES);
}

TEST_F(advice, advice_applies_to_its_range_only)
{
	char *buf = FILLED(2 * GRANULE_BYTES);

	ASSERT_EQ(0,
		  advise(buf + 3 * PAGE_BYTES, 5 * PAGE_BYTES, SET_NO_MIGRATE));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_AT(A, buf, 3 * PAGE_BYTES);
	ASSERT_AT(HOST, buf + 3 * PAGE_BYTES, 5 * PAGE_BYTES);
	ASSERT_VALUE(4, dev_read(A, buf + 3 * PAGE_BYTES));
	ASSERT_AT(HOST, buf + 3 * PAGE_BYTES, 5 * PAGE_BYTES);
	ASSERT_VALUE(9, dev_read(A, buf + 8 * PAGE_BYTES));
	ASSERT_AT(A, buf + 8 * PAGE_BYTES, GRANULE_BYTES / 2);
}

TEST_F(advice, granularity_sets_the_pages_moved_per_fault)
{
	char *buf = ANON(BLOCK_BYTES);

	for (size_t grain = PAGE_BYTES; grain <= BLOCK_BYTES; grain *= 8) {
		PLACE(HOST, buf, BLOCK_BYTES, 1);
		ASSERT_EQ(0, advise_value(buf, BLOCK_BYTES, SET_GRANULARITY,
					  grain));
		ASSERT_VALUE(1 + BLOCK_BYTES / PAGE_BYTES / 2,
			     dev_read(A, buf + BLOCK_BYTES / 2));
		ASSERT_EQ((long)(grain / PAGE_BYTES),
			  count_at(A, buf, BLOCK_BYTES));
		/* The CPU's fault moves the same number of pages back. */
		ASSERT_EQ(0, prefetch(A, buf, BLOCK_BYTES));
		ASSERT_EQ(1, *(volatile uint64_t *)buf);
		ASSERT_EQ((long)(grain / PAGE_BYTES),
			  count_at(HOST, buf, BLOCK_BYTES));
	}
}

TEST_HARNESS_MAIN
