/* SPDX-License-Identifier: MIT */
/* In place of what kmod/compat/probe.sh finds: the stubs are those of an old kernel. */
