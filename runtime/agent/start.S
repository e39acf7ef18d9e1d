/* SPDX-License-Identifier: MIT */
/* The agent's entry point, and code that switches stacks. */
#include <asm/unistd.h>

	.text

	.globl	_start
	.hidden	_start
	.type	_start, @function
_start:
	xorl	%ebp, %ebp
	movq	%rsp, %rdi
	andq	$-16, %rsp
	call	boot_from_exec
	ud2
	.size	_start, . - _start

	.globl	continue_on_stack
	.hidden	continue_on_stack
	.type	continue_on_stack, @function
/* rdi entry, rsi argument, rdx stack */
continue_on_stack:
	movq	%rdx, %rsp
	andq	$-16, %rsp
	xorl	%ebp, %ebp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	ud2
	.size	continue_on_stack, . - continue_on_stack

	.globl	clone_thread
	.hidden	clone_thread
	.type	clone_thread, @function
/* rdi flags, rsi stack, rdx entry, rcx argument */
clone_thread:
	movq	%rdx, %r8		/* r8 is tls: CLONE_SETTLS only */
	movq	%rcx, %r9
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	movl	$__NR_clone, %eax
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	xorl	%ebp, %ebp
	andq	$-16, %rsp
	movq	%r9, %rdi
	call	*%r8
	ud2
	.size	clone_thread, . - clone_thread

/*
 * The order matters: save the stack, set `running`, and then read `sticky`. A
 * lane that stops the device sets `sticky` before it signals the running lanes.
 */
	.globl	lane_call
	.hidden	lane_call
	.type	lane_call, @function
/* rdi lane, rsi fn, rdx closure, rcx begin, r8 end, r9 stack */
lane_call:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rdi, %rbx
	movq	%rsp, (%rbx)
	fninit
	fldcw	28(%rbx)
	ldmxcsr	24(%rbx)
	movq	8(%rbx), %rax
	movl	$1, %r10d
	xchgl	%r10d, (%rax)
	movq	16(%rbx), %rax
	cmpl	$0, (%rax)
	jne	lane_call_stopped
	movq	%rsi, %rax
	movq	%rdx, %rdi
	movq	%rcx, %rsi
	movq	%r8, %rdx
	movq	%r9, %rsp
	xorl	%ebp, %ebp
	cld
	call	*%rax
	xorl	%eax, %eax
	jmp	1f

	.globl	lane_call_stopped
	.hidden	lane_call_stopped
	.type	lane_call_stopped, @function
lane_call_stopped:
	movl	$1, %eax
1:	movq	8(%rbx), %rcx
	movl	$0, (%rcx)
	movq	(%rbx), %rsp
	cld
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	lane_call, . - lane_call

	.globl	walk_call
	.hidden	walk_call
	.type	walk_call, @function
/* rdi lane, rsi fn, rdx first, rcx second */
walk_call:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rdi, %rbx
	movq	%rsp, 32(%rbx)
	subq	$8, %rsp
	movq	%rsi, %rax
	movq	%rdx, %rdi
	movq	%rcx, %rsi
	xorl	%ebp, %ebp
	cld
	call	*%rax

	.globl	walk_call_stopped
	.hidden	walk_call_stopped
	.type	walk_call_stopped, @function
walk_call_stopped:
	movq	32(%rbx), %rsp
	cld
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	walk_call, . - walk_call

	.globl	signal_restorer
	.hidden	signal_restorer
	.type	signal_restorer, @function
signal_restorer:
	movl	$__NR_rt_sigreturn, %eax
	syscall
	.size	signal_restorer, . - signal_restorer

/* The compiler may emit calls to these for struct assignments. */
	.globl	memcpy
	.hidden	memcpy
	.type	memcpy, @function
memcpy:
	movq	%rdi, %rax
	movq	%rdx, %rcx
	rep movsb
	ret
	.size	memcpy, . - memcpy

	.globl	memset
	.hidden	memset
	.type	memset, @function
memset:
	movq	%rdi, %r8
	movl	%esi, %eax
	movq	%rdx, %rcx
	rep stosb
	movq	%r8, %rax
	ret
	.size	memset, . - memset

	.section .note.GNU-stack, "", @progbits
