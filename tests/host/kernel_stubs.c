// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <linux/xarray.h>

#include "kernel_stubs.h"

static int fail_after = -1;
static unsigned int warnings;

void host_fail_after(int count)
{
	fail_after = count;
}

void *host_alloc(size_t size)
{
	if (fail_after >= 0 && fail_after-- == 0)
		return NULL;
	return calloc(1, size);
}

bool host_warn_on(bool condition)
{
	warnings += condition;
	return condition;
}

unsigned int host_warnings(void)
{
	return warnings;
}

void xa_init(struct xarray *xa)
{
	xa->first = NULL;
}

static struct host_entry *entry_find(struct xarray *xa, unsigned long index)
{
	struct host_entry *entry;

	for (entry = xa->first; entry; entry = entry->next)
		if (entry->index == index)
			return entry;
	return NULL;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	struct host_entry *entry = entry_find(xa, index);

	return entry ? entry->value : NULL;
}

static void *xa_erase(struct xarray *xa, unsigned long index)
{
	struct host_entry **link = &xa->first, *entry;
	void *before;

	while (*link && (*link)->index != index)
		link = &(*link)->next;
	entry = *link;
	if (!entry)
		return NULL;
	*link = entry->next;
	before = entry->value;
	free(entry);
	return before;
}

void *xa_store(struct xarray *xa, unsigned long index, void *value, gfp_t gfp)
{
	struct host_entry *entry = entry_find(xa, index);
	void *before = NULL;

	(void)gfp;
	if (!value)
		return xa_erase(xa, index);
	if (!entry) {
		entry = host_alloc(sizeof(*entry));
		if (!entry)
			return (void *)(intptr_t)-ENOMEM;
		entry->index = index;
		entry->next = xa->first;
		xa->first = entry;
	} else {
		before = entry->value;
	}
	entry->value = value;
	return before;
}

int xa_err(const void *result)
{
	intptr_t value = (intptr_t)result;

	return value < 0 && value > -4096 ? (int)value : 0;
}

void xa_destroy(struct xarray *xa)
{
	struct host_entry *entry;

	while ((entry = xa->first)) {
		xa->first = entry->next;
		free(entry);
	}
}
