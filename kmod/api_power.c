// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and hibernation of the machine.
 *
 * Suspend      Devices may lose power. All pages that can be moved are in system
 *              memory before. What stays is what a driver has promised to keep:
 *              memory of pinned objects, and pages that are held.
 * Hibernation  The image has no device memory, so it is refused with EBUSY if
 *              pages stay on a device.
 * Both         Devices get no memory until the machine is awake again, so that
 *              nothing moves back. They map memory where it is. Works and the
 *              threads of serve_fault_in.c are frozen.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>

#include "api.h"

/* Returns -EBUSY if a page stays on a device, or -EINTR. */
static int devices_evict(void)
{
	struct hmmrt_device *dev;
	int rc = 0, one;
	u32 id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		dev = hmmrt_device_get(id);
		if (!dev)
			continue;
		one = hmmrt_device_evict(dev);
		if (one)
			pr_warn("%s: pages stay in its memory: %d\n", dev->name,
				one);
		rc = rc ? rc : one;
		hmmrt_device_put(dev);
	}
	return rc;
}

static int power_notify(struct notifier_block *block, unsigned long action,
			void *data)
{
	int rc = 0;

	switch (action) {
	case PM_SUSPEND_PREPARE:
		hmmrt_devices_close(true);
		devices_evict();
		break;
	case PM_HIBERNATION_PREPARE:
		hmmrt_devices_close(true);
		rc = devices_evict();
		if (!rc && hmmrt_device_is_orphaned())
			rc = -EBUSY;
		if (rc)
			hmmrt_devices_close(false);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		hmmrt_devices_close(false);
		break;
	}
	return notifier_from_errno(rc);
}

static struct notifier_block power_notifier = {
	.notifier_call = power_notify,
};

/* Not while the machine goes to sleep: the first step would be missed. */
int __init hmmrt_power_init(void)
{
	unsigned int flags = lock_system_sleep();
	int rc = register_pm_notifier(&power_notifier);

	unlock_system_sleep(flags);
	return rc;
}

void hmmrt_power_exit(void)
{
	unregister_pm_notifier(&power_notifier);
}
