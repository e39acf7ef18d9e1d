/* SPDX-License-Identifier: GPL-2.0-only */
/* One worker that serves the faults of all devices and processes. */
#ifndef _HMMRT_FAULTY_WORKER_H
#define _HMMRT_FAULTY_WORKER_H

#include <linux/types.h>

struct hmmrt_binding;

int worker_fault(struct hmmrt_binding *binding, unsigned long addr,
		 unsigned int access, const bool *stopping);
void worker_stopping(void);
void worker_exit(void);

#endif /* _HMMRT_FAULTY_WORKER_H */
