// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that misbehaves on request. Tests of the test tools load it to check
 * that a warning, a leak or a hang makes a run fail:
 *
 *   insmod hmmrt_canary.ko fault=warn   a WARN
 *   insmod hmmrt_canary.ko fault=leak   memory that no pointer refers to
 *   insmod hmmrt_canary.ko fault=hang   uninterruptible sleep for seconds=N
 *   insmod hmmrt_canary.ko fault=none   nothing: the run must pass
 */
#include <linux/bug.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "What to do wrong: none, warn, leak or hang");

/* Default: longer than the time limit of any test. */
static unsigned int seconds = 3600;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "How long a hang lasts");

static int canary_leak(void)
{
	void *lost = kmalloc(192, GFP_KERNEL);

	if (!lost)
		return -ENOMEM;
	memset(lost, 0x5a, 192);
	/* Otherwise the compiler may remove kmalloc() and memset(). */
	OPTIMIZER_HIDE_VAR(lost);
	return 0;
}

static void canary_hang(void)
{
	unsigned long end = jiffies + seconds * HZ;

	pr_info("hmmrt_canary: hanging for %u s\n", seconds);
	while (time_before(jiffies, end)) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_timeout(end - jiffies);
	}
}

static int __init canary_init(void)
{
	if (!strcmp(fault, "warn"))
		WARN(1, "hmmrt_canary: a warning on request\n");
	else if (!strcmp(fault, "leak"))
		return canary_leak();
	else if (!strcmp(fault, "hang"))
		canary_hang();
	else if (strcmp(fault, "none"))
		return -EINVAL;
	return 0;
}

static void __exit canary_exit(void)
{
}

module_init(canary_init);
module_exit(canary_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("hmmrt: a module that misbehaves on request");
