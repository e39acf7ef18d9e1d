// SPDX-License-Identifier: MIT
/*
 * Memory objects: what devices and the CPU do with the memory. Rights of
 * devices and of the CPU, several mappings of one object, parts of mappings,
 * and the contents that all of them see.
 */
#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/objects.h"
#include "lib/pin.h"

#define DEVICES		2

FIXTURE(access) {
};

FIXTURE_VARIANT(access) {
	uint32_t location;
	uint32_t flags;
};

VARIANT(access, own_memory, .location = A);
VARIANT(access, memory_of_a_peer, .location = B);
VARIANT(access, system_memory, .location = HOST);
VARIANT(access, migratable, .location = A, .flags = MIGRATABLE);

/* The fixture's mapping has no rights for devices. */
FIXTURE_SETUP(access)
{
	DEVICES_SETUP(.devices = DEVICES, .lanes = 2, .end = objects_end);
	ASSERT_EQ(0, object_new(variant->location, OBJECT_BYTES, variant->flags, RW));
}

DEVICES_FIXTURE_TEARDOWN(access)

/* --- new memory ----------------------------------------------------------- */

TEST_F(access, new_memory_reads_zero_by_the_cpu)
{
	size_t i;

	for (i = 0; i < OBJECT_BYTES / sizeof(uint64_t); i++)
		if (((uint64_t *)buf)[i])
			break;
	EXPECT_EQ(OBJECT_BYTES / sizeof(uint64_t), i);
}

TEST_F(access, new_memory_reads_zero_by_the_device)
{
	ASSERT_EQ(0, grant(A, OBJECT_READ));
	ASSERT_VALUE(0, agent_sum(agent_of(A), buf, OBJECT_BYTES, 64));
}

/* The memory that an earlier object has left is not seen. */
TEST_F(access, memory_reads_zero_after_an_object_with_contents)
{
	for (unsigned int round = 0; round < 3; round++) {
		ASSERT_EQ(0, grant(A, OBJECT_WRITE));
		ASSERT_VALUE(0, agent_sum(agent_of(A), buf, OBJECT_BYTES, 512));
		ASSERT_DONE(agent_fill(agent_of(A), buf, OBJECT_BYTES, 64, 1));
		ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
		close(object);
		object = FD(create_at(variant->location, OBJECT_BYTES,
				      variant->flags));
		ASSERT_EQ(0, object_map_at(object, buf, OBJECT_BYTES, RW, 0));
		EXPECT_EQ(0, *word_of(buf, round));
		EXPECT_EQ(0, *word_of(buf, OBJECT_PAGES - 1));
	}
}

/* --- a debugger ----------------------------------------------------------- */

static bool mem_moves(int mem, bool write, void *data, size_t len, char *at)
{
	const off_t offset = (off_t)(uintptr_t)at;

	return (write ? pwrite(mem, data, len, offset) :
			pread(mem, data, len, offset)) == (ssize_t)len;
}

/* ptrace() takes the same path. The range is in two pages of two blocks. */
TEST_F(access, debugger_reads_and_writes_the_memory)
{
	char *at = buf + BLOCK_BYTES - 5, data[] = "a debugger";
	int mem = FD(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
	char found[sizeof(data)] = "";

	ASSERT_TRUE(mem_moves(mem, true, data, sizeof(data), at));
	EXPECT_STREQ(data, at);
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_DONE(dev_write(A, word_of(buf, 3), 42));
	ASSERT_TRUE(mem_moves(mem, false, found, sizeof(found), at));
	EXPECT_STREQ(data, found);
	ASSERT_TRUE(mem_moves(mem, false, found, 8, (char *)word_of(buf, 3)));
	EXPECT_EQ(42, *(uint64_t *)found);
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, PROT_READ));
	EXPECT_FALSE(mem_moves(mem, true, data, sizeof(data), at));
	EXPECT_TRUE(mem_moves(mem, false, found, sizeof(found), at));
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, PROT_NONE));
	EXPECT_FALSE(mem_moves(mem, false, found, sizeof(found), at));
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, RW));
	EXPECT_STREQ(data, at);
	close(mem);
}

/* --- rights of a device --------------------------------------------------- */

TEST_F(access, device_has_no_rights_before_they_are_set)
{
	uint64_t *word = word_of(buf, 3) + 5;
	struct outcome outcome;

	*word = 3;
	outcome = dev_read(A, word);
	ASSERT_REFUSED(SIGSEGV, EACCES, outcome);
	EXPECT_EQ((uintptr_t)word, outcome.record.out_addr);
	EXPECT_EQ(HMMRT_ACCESS_READ, outcome.record.out_access);
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, word, 4));
	EXPECT_EQ(3, *word);
	/* A refused access changes nothing: the next one may be granted. */
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_VALUE(3, dev_read(A, word));
	ASSERT_DONE(dev_write(A, word, 4));
	EXPECT_EQ(4, *word);
}

TEST_F(access, right_to_read_refuses_writes)
{
	uint64_t *word = word_of(buf, 0);
	struct outcome outcome;

	*word = 7;
	ASSERT_EQ(0, grant(A, OBJECT_READ));
	outcome = dev_write(A, word, 8);
	ASSERT_REFUSED(SIGSEGV, EACCES, outcome);
	EXPECT_EQ(OBJECT_WRITE, outcome.record.out_access);
	ASSERT_VALUE(7, dev_read(A, word));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, word, 8));
	EXPECT_EQ(7, *word);
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_DONE(dev_write(A, word, 8));
	EXPECT_EQ(8, *word);
	/* Taken back, while the device has a writable entry. */
	ASSERT_EQ(0, grant(A, OBJECT_READ));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, word, 9));
	ASSERT_VALUE(8, dev_read(A, word));
	EXPECT_EQ(8, *word);
}

TEST_F(access, removed_rights_refuse_the_next_access)
{
	for (unsigned int round = 1; round < 20; round++) {
		ASSERT_EQ(0, grant(A, OBJECT_WRITE));
		ASSERT_DONE(dev_write(A, buf, round));
		ASSERT_EQ(0, grant(A, 0));
		ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, buf, 0));
		ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf));
		ASSERT_EQ(round, *word_of(buf, 0));
	}
}

/*
 * Posts increments that last much longer than the call that ends them. Returns
 * when the device has begun.
 */
static bool start_counting(struct agent *agent, uint64_t *word, uint64_t *seen)
{
	const uint64_t args[] = { (uintptr_t)word, 1UL << 50 };

	agent_post(agent, 0, AGENT_ADD, args, 2);
	return WAIT_UNTIL(__atomic_load_n(seen, __ATOMIC_RELAXED) > 100, 30);
}

/* Returns whether the word does not change for a while. */
static bool is_steady(const uint64_t *word)
{
	uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

	usleep(20000);
	return before == __atomic_load_n(word, __ATOMIC_RELAXED);
}

TEST_F(access, device_stops_before_the_call_that_removes_rights_returns)
{
	uint64_t *word = word_of(buf, 0);

	for (unsigned int round = 0; round < 5; round++) {
		*word = 0;
		ASSERT_EQ(0, grant(A, OBJECT_WRITE));
		ASSERT_TRUE(start_counting(agent_of(A), word, word));
		ASSERT_EQ(0, grant(A, round % 2 ? OBJECT_READ : 0));
		EXPECT_TRUE(is_steady(word));
		ASSERT_REFUSED(SIGSEGV, EACCES, agent_wait(agent_of(A), 0, 60));
	}
}

/* The test watches by another mapping of the object. */
TEST_F(access, all_devices_stop_before_munmap_returns)
{
	char *other = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));

	ASSERT_EQ(0, grant_all(OBJECT_WRITE));
	for (unsigned int device = A; device < DEVICES; device++)
		ASSERT_TRUE(start_counting(agent_of(device),
					   word_of(buf, device),
					   word_of(other, device)));
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	EXPECT_TRUE(is_steady(word_of(other, A)));
	EXPECT_TRUE(is_steady(word_of(other, B)));
	for (unsigned int device = A; device < DEVICES; device++) {
		ASSERT_REFUSED(SIGSEGV, EFAULT,
			       agent_wait(agent_of(device), 0, 60));
		ASSERT_REFUSED(SIGSEGV, EFAULT,
			       dev_read(device,
					buf + OBJECT_BYTES - PAGE_BYTES));
	}
}

TEST_F(access, rights_are_those_of_one_device)
{
	uint64_t *word = word_of(buf, 9);

	*word = 1;
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(B, word));
	ASSERT_EQ(0, grant(B, OBJECT_READ));
	ASSERT_VALUE(1, dev_read(B, word));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(B, word, 2));
	ASSERT_DONE(dev_write(A, word, 3));
	ASSERT_VALUE(3, dev_read(B, word));
	/* B keeps its right when A loses all. */
	ASSERT_EQ(0, grant(A, 0));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, word));
	ASSERT_VALUE(3, dev_read(B, word));
}

TEST_F(access, rights_of_a_part_are_those_of_its_pages_only)
{
	char *part = buf + BLOCK_BYTES - 2 * PAGE_BYTES;

	pages_fill(buf, OBJECT_BYTES, 1);
	/* Four pages on both sides of the boundary of two blocks. */
	ASSERT_EQ(0, set_access(part, 4 * PAGE_BYTES, A, OBJECT_WRITE));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, part - PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, part + 4 * PAGE_BYTES));
	ASSERT_DONE(dev_fill(A, part, 4 * PAGE_BYTES, 511));
	ASSERT_EQ(0, set_access(part + PAGE_BYTES, PAGE_BYTES, A, 0));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, part + PAGE_BYTES));
	ASSERT_VALUE(511, dev_read(A, part));
	ASSERT_VALUE(513, dev_read(A, part + 2 * PAGE_BYTES));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
}

TEST_F(access, rights_end_with_the_mapping)
{
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 1));
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf));
	ASSERT_EQ(0, object_map_at(object, buf, OBJECT_BYTES, RW, 0));
	EXPECT_EQ(0, access_of(buf, PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf));
	/* The same for a mapping that replaces this one. */
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(0, object_map_at(object, buf, OBJECT_BYTES, RW, 0));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
}

/* Devices need no rights for other memory, before or after an object there. */
TEST_F(access, anonymous_memory_in_the_place_of_an_object_is_accessible)
{
	ASSERT_EQ(0, grant(A, OBJECT_READ));
	*word_of(buf, 0) = 5;
	ASSERT_VALUE(5, dev_read(A, buf));
	ASSERT_TRUE(map_anon_at(buf, OBJECT_BYTES));
	ASSERT_VALUE(0, dev_read(A, buf));
	ASSERT_DONE(dev_write(A, buf, 6));
	EXPECT_EQ(6, *word_of(buf, 0));
	ASSERT_EQ(0, object_map_at(object, buf, OBJECT_BYTES, RW, 0));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf));
	EXPECT_EQ(5, *word_of(buf, 0));
}

TEST_F(access, advice_and_prefetches_leave_rights_alone)
{
	const uint32_t kinds[] = {
		SET_READ_MOSTLY, UNSET_READ_MOSTLY, SET_NO_MIGRATE, UNSET_NO_MIGRATE,
	};

	ASSERT_EQ(0, grant(A, OBJECT_READ));
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		ASSERT_EQ(0, advise(buf, OBJECT_BYTES, kinds[i]));
		EXPECT_EQ(OBJECT_READ, access_of(buf, OBJECT_BYTES));
	}
	ASSERT_EQ(0, prefetch(A, buf, OBJECT_BYTES));
	ASSERT_EQ(0, prefetch(HOST, buf, OBJECT_BYTES));
	EXPECT_EQ(OBJECT_READ, access_of(buf, OBJECT_BYTES));
	ASSERT_VALUE(0, dev_read(A, buf));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, buf, 1));
}

/* --- several mappings and parts ------------------------------------------- */

TEST_F(access, two_addresses_show_the_same_bytes)
{
	char *other = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));

	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_EQ(0, set_access(other, OBJECT_BYTES, A, OBJECT_READ));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 100));
	EXPECT_EQ(-1, pages_check(other, OBJECT_BYTES, 100));
	ASSERT_SUM(A, other, OBJECT_BYTES, 100);
	pages_fill(other, OBJECT_BYTES, 200);
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 200));
	ASSERT_SUM(A, buf, OBJECT_BYTES, 200);
	/* Rights belong to the address. */
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, other, 1));
	ASSERT_DONE(dev_write(A, buf, 1));
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	ASSERT_VALUE(1, dev_read(A, other));
}

/* Offsets that no block of addresses is aligned to. */
TEST_F(access, mapping_at_an_offset_shows_that_part)
{
	const size_t pages[] = { 1, 17, BLOCK_PAGES - 1, BLOCK_PAGES,
				 OBJECT_PAGES - 1 };

	pages_fill(buf, OBJECT_BYTES, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++) {
		size_t offset = pages[i] * PAGE_BYTES;
		size_t len = OBJECT_BYTES - offset;
		char *part = NOT_NULL(object_map(object, len, RW, offset));

		ASSERT_EQ(0, set_access(part, len, A, OBJECT_WRITE));
		ASSERT_SUM(A, part, len, 1 + pages[i]);
		EXPECT_EQ(-1, pages_check(part, len, 1 + pages[i]));
		ASSERT_DONE(dev_write(A, part + len - PAGE_BYTES, 9));
		EXPECT_EQ(9, *word_of(buf, OBJECT_PAGES - 1));
		*word_of(buf, OBJECT_PAGES - 1) = OBJECT_PAGES;
		ASSERT_VALUE(OBJECT_PAGES,
			     dev_read(A, part + len - PAGE_BYTES));
	}
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
}

/* The pages of an object in another order, three mappings in one block. */
TEST_F(access, parts_in_any_order_show_their_pages)
{
	char *parts = ANON(BLOCK_BYTES);
	const size_t len = 8 * PAGE_BYTES;

	pages_fill(buf, OBJECT_BYTES, 1);
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(0, object_map_at(object, parts + i * len, len, RW,
					   (2 - i) * 100 * PAGE_BYTES));
	ASSERT_EQ(0, set_access(parts, 3 * len, A, OBJECT_WRITE));
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_SUM(A, parts + i * len, len, 1 + (2 - i) * 100);
	/* The anonymous memory behind them is in the same block. */
	ASSERT_DONE(dev_write(A, parts + 3 * len, 77));
	EXPECT_EQ(77, *word_of(parts, 24));
	ASSERT_DONE(dev_write(A, parts + len, 88));
	EXPECT_EQ(88, *word_of(buf, 100));
}

TEST_F(access, unmapped_part_is_inaccessible_and_the_rest_stays)
{
	const size_t hole = 3 * PAGE_BYTES, at = BLOCK_BYTES - PAGE_BYTES;

	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 1));
	ASSERT_EQ(0, munmap(buf + at, hole));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf + at));
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       dev_read(A, buf + at + hole - PAGE_BYTES));
	EXPECT_EQ(SIGSEGV, cpu_read(buf + at, NULL));
	ASSERT_SUM(A, buf, at, 1);
	ASSERT_DONE(dev_write(A, buf + at + hole, 4));
	EXPECT_EQ(4, *word_of(buf, (at + hole) / PAGE_BYTES));
	/* The hole has kept its contents in the object. */
	ASSERT_EQ(0, object_map_at(object, buf + at, hole, RW, at));
	EXPECT_EQ(-1, pages_check(buf + at, hole, BLOCK_PAGES));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf + at));
}

TEST_F(access, mprotect_does_not_change_the_rights_of_devices)
{
	*word_of(buf, 0) = 1;
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, PROT_READ));
	EXPECT_EQ(SIGSEGV, cpu_write(buf, 9));
	ASSERT_DONE(dev_write(A, buf, 2));
	EXPECT_EQ(2, *word_of(buf, 0));
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, PROT_NONE));
	EXPECT_EQ(SIGSEGV, cpu_read(buf, NULL));
	ASSERT_DONE(dev_write(A, buf, 3));
	ASSERT_DONE(dev_write(A, buf + BLOCK_BYTES, 4));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf, OBJECT_BYTES));
	/* A part splits the mapping. */
	ASSERT_EQ(0, mprotect(buf + BLOCK_BYTES, PAGE_BYTES, RW));
	EXPECT_EQ(4, *word_of(buf, BLOCK_PAGES));
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, RW));
	EXPECT_EQ(3, *word_of(buf, 0));
	ASSERT_EQ(0, grant(A, 0));
	ASSERT_EQ(0, mprotect(buf, OBJECT_BYTES, RW));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf));
}

/* Also with PROT_NONE from the beginning, as a runtime maps it. */
TEST_F(access, cpu_without_permission_gets_sigsegv)
{
	char *none = NOT_NULL(object_map(object, OBJECT_BYTES, PROT_NONE, 0));
	char *read_only =
		NOT_NULL(object_map(object, OBJECT_BYTES, PROT_READ, 0));
	uint64_t value = 0;

	*word_of(buf, 0) = 6;
	EXPECT_EQ(SIGSEGV, cpu_read(none, &value));
	EXPECT_EQ(SIGSEGV, cpu_write(none, 7));
	EXPECT_EQ(0, cpu_read(read_only, &value));
	EXPECT_EQ(6, value);
	EXPECT_EQ(SIGSEGV, cpu_write(read_only, 7));
	ASSERT_EQ(0, set_access(none, OBJECT_BYTES, A, OBJECT_WRITE));
	ASSERT_DONE(dev_write(A, none, 8));
	EXPECT_EQ(SIGSEGV, cpu_read(none, &value));
	ASSERT_EQ(0, mprotect(none, OBJECT_BYTES, PROT_READ));
	EXPECT_EQ(0, cpu_read(none, &value));
	EXPECT_EQ(8, value);
	EXPECT_EQ(8, *word_of(buf, 0));
}

/* mremap() cannot enlarge it, or map it twice. */
TEST_F(access, refused_mremap_changes_nothing)
{
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 1));
	EXPECT_EQ(MAP_FAILED,
		  mremap(buf, OBJECT_BYTES, OBJECT_BYTES + PAGE_BYTES,
			 MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED,
		  mremap(buf, OBJECT_BYTES, OBJECT_BYTES + PAGE_BYTES, 0));
	EXPECT_EQ(MAP_FAILED, mremap(buf, 0, OBJECT_BYTES, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(buf, OBJECT_BYTES, OBJECT_BYTES,
				     MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf, OBJECT_BYTES));
	EXPECT_FILLS(A, buf, OBJECT_BYTES, 50);
	/* Shrinking is unmapping. */
	EXPECT_EQ(buf, mremap(buf, OBJECT_BYTES, BLOCK_BYTES, 0));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf + BLOCK_BYTES));
	ASSERT_VALUE(50, dev_read(A, buf));
}

/* Of all, and of a part, to an address that blocks are not aligned to. */
TEST_F(access, mremap_moves_the_bytes_and_ends_the_rights)
{
	const size_t at = 100 * PAGE_BYTES, len = 8 * PAGE_BYTES;
	char *target = ANON(OBJECT_BYTES + BLOCK_BYTES);
	char *moved = target + 3 * PAGE_BYTES;

	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 1));
	ASSERT_EQ(moved, mremap(buf + at, len, len,
				MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf + at));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, moved));
	EXPECT_EQ(-1, pages_check(moved, len, 101));
	ASSERT_VALUE(100, dev_read(A, buf + at - PAGE_BYTES));
	ASSERT_VALUE(109, dev_read(A, buf + at + len));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf, at));
	ASSERT_EQ(0, set_access(moved, len, A, OBJECT_WRITE));
	EXPECT_FILLS(A, moved, len, 500);
	/* The memory is still at its place in the object. */
	ASSERT_EQ(0, object_map_at(object, buf + at, len, RW, at));
	EXPECT_EQ(-1, pages_check(buf + at, len, 500));
}

/* --- contents ------------------------------------------------------------- */

TEST_F(access, cpu_and_device_see_what_the_other_has_written)
{
	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	for (unsigned int round = 1; round <= 3; round++) {
		pages_fill(buf, OBJECT_BYTES, 1000 * round);
		ASSERT_SUM(A, buf, OBJECT_BYTES, 1000 * round);
		ASSERT_FILLS(A, buf, OBJECT_BYTES, 9000 * round);
	}
}

/* Each sees single words of the other at once, in one page. */
TEST_F(access, cpu_and_device_take_turns_on_a_word)
{
	uint64_t *word = word_of(buf, 1) + 3, value = 0;

	ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	for (unsigned int round = 0; round < 100; round++) {
		ASSERT_EQ(value, *word);
		*word = ++value;
		ASSERT_VALUE(value, dev_read(A, word));
		ASSERT_DONE(dev_write(A, word, ++value));
	}
}

/*
 * Both devices and the CPU count. Without exclusive access, atomic operations
 * on memory that moves are not atomic between them, but each has its own word.
 */
TEST_F(access, writes_of_all_to_one_page_are_kept)
{
	const uint64_t times = amount(20000, 5000);
	uint64_t *words = word_of(buf, 2), args[2] = { 0, times };

	for (unsigned int device = A; device < DEVICES; device++) {
		ASSERT_EQ(0, grant(device, OBJECT_WRITE));
		args[0] = (uintptr_t)&words[device];
		agent_post(agent_of(device), 0, AGENT_ADD, args, 2);
	}
	for (uint64_t i = 0; i < times; i++)
		__atomic_fetch_add(&words[DEVICES], 1, __ATOMIC_RELAXED);
	for (unsigned int device = A; device < DEVICES; device++)
		ASSERT_DONE(agent_wait(agent_of(device), 0, 100));
	for (unsigned int device = A; device <= DEVICES; device++)
		EXPECT_EQ(times, words[device]);
}

/* System calls reach the memory as the CPU does; nothing can pin it. */
TEST_F(access, system_calls_read_and_write_it_and_pins_are_efault)
{
	struct iovec local = { .iov_len = 8 }, remote = { .iov_len = 8 };
	uint64_t found = 0;
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	*word_of(buf, 0) = 0x1234;
	ASSERT_EQ(8, write(ends[1], buf, 8));
	ASSERT_EQ(8, read(ends[0], buf + PAGE_BYTES, 8));
	EXPECT_EQ(0x1234, *word_of(buf, 1));
	ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, PROT_NONE));
	EXPECT_EQ(-1, write(ends[1], buf, 8));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, RW));
	EXPECT_EQ(-EFAULT, pin_memory(buf, PAGE_BYTES));
	local.iov_base = &found;
	remote.iov_base = buf;
	EXPECT_EQ(-1, process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0x1234, *word_of(buf, 0));
	close(ends[0]);
	close(ends[1]);
}

TEST_HARNESS_MAIN
