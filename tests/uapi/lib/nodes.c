// SPDX-License-Identifier: MIT
#include "nodes.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>

#include "cmd.h"

bool have_two_nodes(void)
{
	return numa_available() >= 0 && numa_node_size64(0, NULL) > 0 &&
	       numa_node_size64(1, NULL) > 0;
}

bool run_on_node(int node)
{
	return !numa_run_on_node(node);
}

int set_policy(void *buf, size_t len, int mode, unsigned long nodes)
{
	return (int)mbind(buf, len, mode, &nodes, 8 * sizeof(nodes), 0);
}

int page_status(const char *buf, int node, int status[NODES_PAGES])
{
	int nodes[NODES_PAGES];
	void *pages[NODES_PAGES];

	for (size_t i = 0; i < NODES_PAGES; i++) {
		pages[i] = (void *)(buf + i * PAGE_BYTES);
		nodes[i] = node;
		status[i] = -ENXIO;
	}
	return (int)move_pages(0, NODES_PAGES, pages, node < 0 ? NULL : nodes,
			       status, MPOL_MF_MOVE);
}

int count_status(const int status[NODES_PAGES], int wanted)
{
	int n = 0;

	for (int i = 0; i < NODES_PAGES; i++)
		n += status[i] == wanted;
	return n;
}

int pages_on_node(const char *buf, int node)
{
	int status[NODES_PAGES];

	if (page_status(buf, -1, status))
		return -1;
	return count_status(status, node);
}
