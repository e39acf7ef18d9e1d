// SPDX-License-Identifier: GPL-2.0-only
/*
 * Self-test of an assumption that duplicates of read-mostly pages depend on,
 * and that no header promises: a page that is shared (see move_duplicate.c) and
 * has an extra reference is not written in place. The process gets a new page,
 * and notifiers run first.
 *
 * The test runs once, when the module is loaded, in the process that loads it.
 * It uses one page. The code for duplicates makes the page shared; the test
 * holds a reference and writes to the page as a program does. If the assumption
 * does not hold, or cannot be tested, no duplicates are made. Nothing else
 * depends on it.
 */
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/mman.h>
#include <linux/migrate.h>
#include <linux/mmu_notifier.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/uaccess.h>

#include "move.h"

#define OLD	0x6f6c64u
#define NEW	0x6e6577u
/*
 * A page that something else holds for a moment cannot be shared, so try again.
 */
#define TRIES	100

static bool write_in_place;
module_param(write_in_place, bool, 0444);
MODULE_PARM_DESC(write_in_place,
		 "for tests: let the self-test behave as on a kernel that writes to shared pages in place (default N)");

struct test {
	struct mmu_interval_notifier notifier;
	struct page *page;		/* held; NULL: not yet shared */
	u32 at_notice;			/* page's word then; 0: not called */
};

static u32 page_word(struct page *page)
{
	u32 *words = kmap_local_page(page), word = READ_ONCE(*words);

	kunmap_local(words);
	return word;
}

static void page_set_word(struct page *page, u32 word)
{
	u32 *words = kmap_local_page(page);

	WRITE_ONCE(*words, word);
	kunmap_local(words);
}

/* Runs for the write below. Reclaim may call it too, and finds the old word. */
static bool test_notice(struct mmu_interval_notifier *notifier,
			const struct mmu_notifier_range *range,
			unsigned long seq)
{
	struct test *test = container_of(notifier, struct test, notifier);
	struct page *page = READ_ONCE(test->page);

	mmu_interval_set_seq(notifier, seq);
	if (page)
		WRITE_ONCE(test->at_notice, page_word(page));
	return true;
}

static const struct mmu_interval_notifier_ops test_notifier_ops = {
	.invalidate = test_notice,
};

static int test_share(struct test *test, unsigned long addr)
{
	unsigned long src = 0, dst = 0;
	struct migrate_vma args = {
		.start = addr,
		.end = addr + PAGE_SIZE,
		.src = &src,
		.dst = &dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_SYSTEM,
	};
	struct page *page = NULL;
	int rc = -EFAULT;

	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	args.vma = vma_lookup(current->mm, addr);
	if (args.vma)
		rc = hmmrt_share_pages(&args, &page);
	mmap_read_unlock(current->mm);
	WRITE_ONCE(test->page, page);
	return rc || page ? rc : -EAGAIN;
}

/* Returns 0 if the assumption holds, -EBADE if it does not. */
static int test_held(struct test *test, u32 __user *word)
{
	u32 seen = 0;
	int rc = 0;

	/*
	 * Write like a program, or, for tests, like a kernel that writes in
	 * place.
	 */
	if (write_in_place)
		page_set_word(test->page, NEW);
	else
		rc = put_user(NEW, word);
	if (!rc)
		rc = get_user(seen, word);
	if (rc)
		return rc;
	if (page_word(test->page) != OLD || seen != NEW ||
	    READ_ONCE(test->at_notice) != OLD)
		return -EBADE;
	return 0;
}

static int test_at(unsigned long addr)
{
	u32 __user *word = (u32 __user *)addr;
	struct test test = {};
	int rc;

	rc = put_user(OLD, word);
	if (rc)
		return rc;
	rc = mmu_interval_notifier_insert(&test.notifier, current->mm, addr,
					  PAGE_SIZE, &test_notifier_ops);
	if (rc)
		return rc;
	rc = test_share(&test, addr);
	if (!rc)
		rc = test_held(&test, word);
	mmu_interval_notifier_remove(&test.notifier);
	if (test.page)
		put_page(test.page);
	return rc;
}

static int test_once(void)
{
	unsigned long addr;
	int rc;

	addr = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(addr))
		return (int)addr;
	rc = test_at(addr);
	vm_munmap(addr, PAGE_SIZE);
	return rc;
}

/**
 * hmmrt_selftest() - test if duplicates may be made
 *
 * Context: module init, in the process that loads the module.
 */
void __init hmmrt_selftest(void)
{
	unsigned int try;
	int rc = -ESRCH;

	for (try = 0; current->mm && try < TRIES; try++) {
		rc = test_once();
		if (rc != -EAGAIN)
			break;
		cond_resched();
	}
	hmmrt_duplicates_allow(!rc);
	if (rc)
		pr_warn("hmmrt: no duplicates of read-mostly memory: %s (%d)\n",
			rc == -EBADE ? "this kernel writes shared pages in place" :
				       "the self-test failed",
			rc);
}
