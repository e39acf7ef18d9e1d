/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lookup of a span's blocks by address, shared by space_span.c and
 * space_invalidate.c.
 */
#ifndef _HMMRT_SPACE_SPAN_H
#define _HMMRT_SPACE_SPAN_H

#include <linux/mmdebug.h>

#include "space.h"

extern const struct mmu_interval_notifier_ops hmmrt_span_notifier_ops;

/* The index of a block in its span. */
static inline unsigned int index_in_span(const struct hmmrt_span *span,
					 unsigned long addr)
{
	VM_WARN_ON_ONCE(addr - span->start >= HMMRT_SPAN_SIZE);
	return (addr - span->start) >> HMMRT_BLOCK_SHIFT;
}

static inline struct hmmrt_block *span_block(struct hmmrt_span *span,
					     unsigned long addr)
{
	return READ_ONCE(span->blocks[index_in_span(span, addr)]);
}

#endif /* _HMMRT_SPACE_SPAN_H */
