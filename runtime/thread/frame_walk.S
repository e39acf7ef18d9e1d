/* SPDX-License-Identifier: MIT */
/*
 * hmmrt_walk_from(rdi state, rsi collect, rdx argument): calls collect(argument) from a frame that
 * seems to be called by the code of @state. The frame information declares that this function
 * interrupted that code, as a signal does, and that the registers are in @state, which RBX points
 * to. An unwinder continues there.
 */
	.text
	.globl	hmmrt_walk_from
	.hidden	hmmrt_walk_from
	.type	hmmrt_walk_from, @function
hmmrt_walk_from:
	.cfi_startproc
	.cfi_signal_frame
	pushq	%rbx
	movq	%rdi, %rbx
	movq	%rdx, %rdi
	/* CFA = *(RBX + 8), the stack pointer of the state */
	.cfi_escape 0x0f, 3, 0x73, 8, 0x06
	/* the register (DWARF number) is at RBX + offset */
	.cfi_escape 0x10, 16, 2, 0x73, 0	/* rip */
	.cfi_escape 0x10, 3, 2, 0x73, 16	/* rbx */
	.cfi_escape 0x10, 6, 2, 0x73, 24	/* rbp */
	.cfi_escape 0x10, 12, 2, 0x73, 32	/* r12 */
	.cfi_escape 0x10, 13, 2, 0x73, 40	/* r13 */
	.cfi_escape 0x10, 14, 2, 0x73, 48	/* r14 */
	.cfi_escape 0x10, 15, 2, 0x73, 56	/* r15 */
	call	*%rsi
	popq	%rbx
	ret
	.cfi_endproc
	.size	hmmrt_walk_from, . - hmmrt_walk_from

	.section .note.GNU-stack, "", @progbits
