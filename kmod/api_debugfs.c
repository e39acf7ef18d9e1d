// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/hmmrt: what each device has done since it was registered,
 * for all processes together. It is for developers, and may change.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "api.h"

static struct dentry *root;

static int moves_show(struct seq_file *seq, void *unused)
{
	const struct hmmrt_device *dev = seq->private;
	unsigned int size, move;

	seq_puts(seq, "pages\tin\tout\tevicted\n");
	for (size = 0; size < HMMRT_MOVE_SIZES; size++) {
		seq_printf(seq, "%lu", BIT(size));
		for (move = 0; move < HMMRT_MOVES; move++)
			seq_printf(seq, "\t%lld",
				   atomic64_read(&dev->moves[move][size]));
		seq_putc(seq, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(moves);

/* Without debugfs, or if it fails, there are no files. */
void hmmrt_debugfs_init(void)
{
	root = debugfs_create_dir("hmmrt", NULL);
}

void hmmrt_debugfs_exit(void)
{
	debugfs_remove(root);
}

void hmmrt_debugfs_add(struct hmmrt_device *dev)
{
	dev->debugfs = debugfs_create_dir(dev->name, root);
	debugfs_create_file("moves", 0444, dev->debugfs, dev, &moves_fops);
}

/* Waits for readers. */
void hmmrt_debugfs_remove(struct hmmrt_device *dev)
{
	debugfs_remove(dev->debugfs);
}
