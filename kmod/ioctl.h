/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table-driven dispatch of size-first ioctl arguments, for both modules.
 *
 * "General ioctl format" in uapi/linux/hmmrt.h defines the rules. Handlers get
 * a complete, zero-extended copy of the argument. A command with output fields
 * has the argument written back on success, and on -EINTR if the table says so.
 * After a signal without a handler the core repeats the call, with the argument
 * as it is then.
 * A command that changes state can learn whether the write succeeded, and undo
 * the change if not, so that EFAULT always means that nothing was changed.
 */
#ifndef _HMMRT_IOCTL_H
#define _HMMRT_IOCTL_H

#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hmmrt_device.h>
#include <linux/uaccess.h>

struct hmmrt_space;

/* Every argument starts with these fields. */
struct hmmrt_ioctl_head {
	u32 size;
	u32 flags;
};

#define HMMRT_IOCTL_MAX_SIZE	256

struct hmmrt_ioctl_op {
	unsigned int cmd;
	u32 size;		/* of the current struct */
	u32 min_size;		/* of the struct's first version */
	u32 flags;		/* that the command knows */
	bool write_on_error;	/* out_* are valid with -EINTR too */
	bool silent;		/* has no out_* fields */
	int (*fn)(struct file *file, void *arg);
	/*
	 * Instead of @fn: @space returns the space that the command is for, or
	 * an ERR_PTR, and @space_fn gets it. NULL: it is for no process.
	 */
	struct hmmrt_space *(*space)(struct file *file, const void *arg);
	int (*space_fn)(struct hmmrt_space *space, void *arg);
	/*
	 * Called after an @fn that succeeded. Nothing acts on the change made
	 * by @fn before this call. If the answer did not arrive, the change
	 * must be undone completely. Cannot fail.
	 */
	void (*answered)(struct file *file, bool arrived);
};

#define HMMRT_IOCTL_OP(_cmd, _fn, _struct, _last, ...)                      \
	{                                                                   \
		.cmd = _cmd, .size = sizeof(struct _struct) +               \
				     BUILD_BUG_ON_ZERO(                     \
					     sizeof(struct _struct) >       \
					     HMMRT_IOCTL_MAX_SIZE),         \
		.min_size = offsetofend(struct _struct, _last), .fn = _fn,  \
		__VA_ARGS__                                                 \
	}

static inline int hmmrt_ioctl_call(struct file *file,
				   const struct hmmrt_ioctl_op *op, void *arg)
{
	struct hmmrt_space *space;

	if (op->fn)
		return op->fn(file, arg);
	space = op->space(file, arg);
	return IS_ERR(space) ? PTR_ERR(space) : op->space_fn(space, arg);
}

/* One call: the argument, and the file that the command made, or NULL. */
struct hmmrt_ioctl_frame {
	u64 arg[HMMRT_IOCTL_MAX_SIZE / sizeof(u64)];
	struct file *made;
	int fd;
};

/*
 * Called by a handler that succeeds: the process gets @made as descriptor @fd,
 * which is reserved, unless the answer does not arrive. Consumes both.
 */
static inline void hmmrt_ioctl_made(void *arg, struct file *made, int fd)
{
	struct hmmrt_ioctl_frame *frame =
		container_of(arg, struct hmmrt_ioctl_frame, arg[0]);

	frame->made = made;
	frame->fd = fd;
}

static inline void hmmrt_ioctl_install(struct hmmrt_ioctl_frame *frame,
				       bool arrived)
{
	if (!frame->made)
		return;
	if (arrived) {
		fd_install(frame->fd, frame->made);
		return;
	}
	put_unused_fd(frame->fd);
	fput(frame->made);
}

static inline long hmmrt_ioctl_run(struct file *file,
				   const struct hmmrt_ioctl_op *op,
				   void __user *uarg)
{
	struct hmmrt_ioctl_frame frame = {};
	struct hmmrt_ioctl_head *head = (void *)frame.arg;
	bool arrived;
	u32 size;
	int rc;

	if (get_user(size, (u32 __user *)uarg))
		return -EFAULT;
	if (size < op->min_size)
		return -EINVAL;
	/* No struct is that large, and the tail is checked in one call. */
	if (size > PAGE_SIZE)
		return -E2BIG;
	rc = copy_struct_from_user(frame.arg, op->size, uarg, size);
	if (rc)
		return rc;
	if (head->flags & ~op->flags)
		return -EOPNOTSUPP;
	rc = hmmrt_ioctl_call(file, op, frame.arg);
	if (rc && !(rc == -EINTR && op->write_on_error))
		return hmmrt_restart(rc);
	if (op->silent)
		return rc;
	head->size = size;
	arrived = !copy_to_user(uarg, frame.arg, min(size, op->size));
	hmmrt_ioctl_install(&frame, arrived);
	if (!rc && op->answered)
		op->answered(file, arrived);
	return arrived ? hmmrt_restart(rc) : -EFAULT;
}

static inline long hmmrt_ioctl_dispatch(struct file *file, unsigned int cmd,
					void __user *uarg,
					const struct hmmrt_ioctl_op *ops,
					unsigned int nr_ops)
{
	unsigned int i;

	for (i = 0; i < nr_ops; i++)
		if (ops[i].cmd == cmd)
			return hmmrt_ioctl_run(file, &ops[i], uarg);
	return -ENOTTY;
}

#endif /* _HMMRT_IOCTL_H */
