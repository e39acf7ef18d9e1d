/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of processes and drivers. */
#ifndef _HMMRT_API_H
#define _HMMRT_API_H

#include <linux/fs.h>
#include <linux/init.h>
#include <linux/seq_file.h>

#include "serve.h"

/* main.c */
extern const struct file_operations hmmrt_fops;

/* api_bind.c */
struct hmmrt_space *hmmrt_space_get(struct mm_struct *mm);
bool hmmrt_mm_is_agent(struct mm_struct *mm);

/* api_device.c */
struct hmmrt_device *hmmrt_device_get(u32 id);
void hmmrt_device_put(struct hmmrt_device *dev);
unsigned int hmmrt_device_count(void);
void hmmrt_devices_close(bool closed);
bool hmmrt_device_is_orphaned(void);
void hmmrt_device_fill_info(struct hmmrt_device *dev,
			    struct hmmrt_device_info *info);

/* api_power.c */
int __init hmmrt_power_init(void);
void hmmrt_power_exit(void);

/* api_prefetch.c */
int hmmrt_ioc_prefetch(struct hmmrt_space *space, void *data);

/* api_pages.c */
int hmmrt_ioc_residency(struct hmmrt_space *space, void *data);
int hmmrt_ioc_pages(struct hmmrt_space *space, void *data);
bool hmmrt_may_tell_merged(void);

/* api_advice.c */
int hmmrt_ioc_advise(struct hmmrt_space *space, void *data);
int hmmrt_advice_set_knob(struct hmmrt_space *space, unsigned long start,
			  unsigned long end, u32 slot, u32 set);
int hmmrt_ioc_range_attributes(struct hmmrt_space *space, void *data);
int hmmrt_advice_check(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);

/* api_event.c */
int hmmrt_ioc_events_open(struct hmmrt_space *space, void *data);
int hmmrt_ioc_annotate(struct hmmrt_space *space, void *data);

/* api_knob.c */
int hmmrt_ioc_knob(struct hmmrt_space *space, void *data);

/* api_quota.c */
int hmmrt_ioc_quota(struct hmmrt_space *space, void *data);

/* api_stats.c */
int hmmrt_ioc_stats(struct hmmrt_space *space, void *data);
void hmmrt_space_show(struct seq_file *seq, struct hmmrt_space *space);
void hmmrt_debugfs_init(void);
void hmmrt_debugfs_exit(void);
void hmmrt_debugfs_add(struct hmmrt_device *dev);
void hmmrt_debugfs_remove(struct hmmrt_device *dev);

/* api_object.c */
int hmmrt_ioc_object_create(struct hmmrt_space *space, void *data);
int hmmrt_ioc_access(struct hmmrt_space *space, void *data);

/* api_check.c */
void hmmrt_uapi_check(void);

#endif /* _HMMRT_API_H */
