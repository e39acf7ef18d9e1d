/* SPDX-License-Identifier: MIT */
/* The ELF image of the agent, embedded in the library. */
	.section .rodata
	.balign	16
	.globl	hmmrt_agent_image, hmmrt_agent_image_end
	.hidden	hmmrt_agent_image, hmmrt_agent_image_end
hmmrt_agent_image:
	.incbin	HMMRT_AGENT_FILE
hmmrt_agent_image_end:
	.section .note.GNU-stack, "", @progbits
