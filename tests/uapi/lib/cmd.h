/* SPDX-License-Identifier: MIT */
/*
 * Wrappers for the ioctls of include/uapi/linux/hmmrt.h, one function each. All
 * return 0 or a negative errno and fill in the struct's size. Outputs are in
 * the struct.
 */
#ifndef TESTS_UAPI_CMD_H
#define TESTS_UAPI_CMD_H

#include <stddef.h>
#include <stdint.h>

#include <linux/hmmrt.h>

#define PAGE_BYTES	4096UL
#define BLOCK_BYTES	(2UL << 20)
#define BLOCK_PAGES	(BLOCK_BYTES / PAGE_BYTES)

/* Return a file descriptor or a negative errno. @number counts from 0. */
int open_manager(void);
int open_gpu(unsigned int number);

/* Calls ioctl(); returns 0 or a negative errno. */
int cmd_raw(int fd, unsigned int cmd, void *arg);

int cmd_info(int fd, struct hmmrt_info *info);
int cmd_device_info(int fd, uint32_t id, struct hmmrt_device_info *info);
int cmd_space_create(int fd);
int cmd_prefetch(int fd, const void *addr, size_t len, uint32_t location,
		 struct hmmrt_prefetch *result);
int cmd_residency(int fd, const void *addr, size_t len, uint32_t *locations);
int cmd_pages(int fd, const void *addr, size_t len, struct hmmrt_page *pages);
int cmd_stats(int fd, uint32_t device, struct hmmrt_stats *stats);
int cmd_exclusive(int fd, const volatile void *addr, size_t len,
		  uint32_t device, struct hmmrt_exclusive *result);
int cmd_advise(int fd, const volatile void *addr, size_t len, uint32_t advice,
	       uint32_t location, uint64_t value);
int cmd_range_attributes(int fd, const volatile void *addr, size_t len,
			 struct hmmrt_range_attributes *attributes);
/*
 * Applies @operation to the peers of @device. Stores the outputs in *result,
 * unless @result is NULL.
 */
int cmd_peer(int fd, uint32_t device, uint32_t peer, uint32_t operation,
	     struct hmmrt_peer *result);
/* The caller fills in all members but size. */
int cmd_knob(int fd, struct hmmrt_knob *knob);
/* Set or unset a knob of a device, or of the process that owns @fd. */
int cmd_set_knob(int fd, uint32_t scope, uint32_t device, uint32_t knob,
		 uint32_t value);
int cmd_unset_knob(int fd, uint32_t scope, uint32_t device, uint32_t knob);
int cmd_set_range_knob(int fd, const volatile void *addr, size_t len,
		       uint32_t device, uint32_t knob, uint32_t value);
/* The caller fills in all members but size. */
int cmd_quota(int fd, struct hmmrt_quota *quota);
/*
 * Get or set the quota of the process that owns @fd. *quota has the state
 * afterwards; for cmd_set_quota(), @quota may be NULL.
 */
int cmd_get_quota(int fd, uint32_t device, struct hmmrt_quota *quota);
int cmd_set_quota(int fd, uint32_t device, uint64_t limit, uint32_t priority,
		  struct hmmrt_quota *quota);
/* Creates a memory object. Returns its file descriptor or a negative errno. */
int cmd_object_create(int fd, size_t bytes, uint32_t location, uint32_t flags);
int cmd_object_info(int object, struct hmmrt_object_info *info);
/* Returns another descriptor of the object, or a negative errno. */
int cmd_object_reopen(int object, uint32_t access);
/* Set the rights of a device, or get those that it has for all of a range. */
int cmd_set_access(int fd, const volatile void *addr, size_t len,
		   uint32_t device, uint32_t access);
int cmd_get_access(int fd, const volatile void *addr, size_t len,
		   uint32_t device, uint32_t *access);
/* *bind has the outputs afterwards; @bind may be NULL. */
int cmd_bind(int gpu, int space, struct hmmrt_gpu_bind *bind);
/* Binds as soon as the device's previous binding to the space has ended. */
int cmd_bind_next(int gpu, int space, struct hmmrt_gpu_bind *bind);
int cmd_bind_wait(int gpu, int space, uint32_t msec,
		  struct hmmrt_gpu_bind *bind);
int cmd_attach(int gpu, uint64_t token);
int cmd_fault_record(int gpu, struct hmmrt_gpu_fault_record *record);

/* Finds a device by name. Returns 0, or -ENODEV if no device has that name. */
int device_named(int fd, const char *name, uint32_t *id);

/* Returns the bytes of device memory in use, or a negative errno. */
int64_t device_used_bytes(int fd, uint32_t id);

/* Counts the pages that are at @location. Returns -1 if the call fails. */
long pages_at(int fd, const void *addr, size_t len, uint32_t location);

#endif
