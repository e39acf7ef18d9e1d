/* SPDX-License-Identifier: MIT */
/*
 * NUMA nodes of threads and of memory. All buffers have NODES_PAGES pages. Link
 * with libnuma.
 */
#ifndef TESTS_UAPI_NODES_H
#define TESTS_UAPI_NODES_H

#include <stdbool.h>
#include <stddef.h>

#define NODES_PAGES	64

/* Return whether nodes 0 and 1 have memory. */
bool have_two_nodes(void);
bool run_on_node(int node);
/* @mode is MPOL_*, @nodes has a bit for each node. Returns 0 or -1. */
int set_policy(void *buf, size_t len, int mode, unsigned long nodes);

/*
 * Asks move_pages() for the status of each page of the buffer: its node or a
 * negative errno. With @node >= 0, first asks it to move the pages there.
 */
int page_status(const char *buf, int node, int status[NODES_PAGES]);
int count_status(const int status[NODES_PAGES], int wanted);
/*
 * Returns how many pages of the buffer are on a node, -1 when the call fails.
 */
int pages_on_node(const char *buf, int node);

#endif
