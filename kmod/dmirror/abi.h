/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of /dev/hmm_dmirrorN to programs. Numbers and layout are those
 * of the kernel's lib/test_hmm_uapi.h, which header packages do not contain.
 */
#ifndef _HMMRT_DMIRROR_ABI_H
#define _HMMRT_DMIRROR_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct hmm_dmirror_cmd - argument of all ioctls
 * @addr: address that the device accesses, in the process's address space
 * @ptr: user buffer that data is read from or written to
 * @npages: number of pages
 * @cpages: out, on success: pages that were copied or migrated
 * @faults: out, on success: device faults that the call made
 */
struct hmm_dmirror_cmd {
	__u64 addr;
	__u64 ptr;
	__u64 npages;
	__u64 cpages;
	__u64 faults;
};

#define HMM_DMIRROR_READ		_IOWR('H', 0x00, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_WRITE		_IOWR('H', 0x01, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_MIGRATE_TO_DEV	_IOWR('H', 0x02, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_MIGRATE_TO_SYS	_IOWR('H', 0x03, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_SNAPSHOT		_IOWR('H', 0x04, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_EXCLUSIVE		_IOWR('H', 0x05, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_CHECK_EXCLUSIVE	_IOWR('H', 0x06, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_RELEASE		_IOWR('H', 0x07, struct hmm_dmirror_cmd)
/* The npages member contains HMM_DMIRROR_FLAG_*. */
#define HMM_DMIRROR_FLAGS		_IOWR('H', 0x08, struct hmm_dmirror_cmd)
/* As HMM_DMIRROR_READ, which in the kernel's own driver cannot wait for userfaultfd. */
#define HMM_DMIRROR_READ_UNLOCKED	_IOWR('H', 0x09, struct hmm_dmirror_cmd)

/* Make the next allocation of a huge page fail, and then clear the flag. */
#define HMM_DMIRROR_FLAG_FAIL_ALLOC	0x1ULL

/* HMM_DMIRROR_SNAPSHOT writes one byte with these bits for each page. */
#define HMM_DMIRROR_PROT_NONE			0x00
#define HMM_DMIRROR_PROT_READ			0x01
#define HMM_DMIRROR_PROT_WRITE			0x02
#define HMM_DMIRROR_PROT_PMD			0x04
#define HMM_DMIRROR_PROT_PUD			0x08
#define HMM_DMIRROR_PROT_ZERO			0x10
#define HMM_DMIRROR_PROT_DEV_PRIVATE_LOCAL	0x20
#define HMM_DMIRROR_PROT_DEV_COHERENT_LOCAL	0x40
#define HMM_DMIRROR_PROT_DEV_COHERENT_REMOTE	0x50
#define HMM_DMIRROR_PROT_ERROR			0xff

#endif /* _HMMRT_DMIRROR_ABI_H */
