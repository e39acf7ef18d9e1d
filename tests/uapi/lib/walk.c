// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "walk.h"

char *walk_addr(const struct walk *walk, unsigned int page)
{
	return walk->base + page * PAGE_BYTES;
}

static enum model_location location_of_id(uint32_t id)
{
	if (id == HMMRT_LOCATION_HOST)
		return MODEL_ON_HOST;
	if (id == id_of(A))
		return MODEL_ON_A;
	return id == id_of(B) ? MODEL_ON_B : MODEL_NOWHERE;
}

static unsigned int devices_of(uint32_t mask)
{
	return (mask >> id_of(A) & 1) | (mask >> id_of(B) & 1) << 1;
}

void walk_compare(struct walk *walk, unsigned int index,
		  const struct hmmrt_page *found, enum entries entries)
{
	const struct model_page *page = &walk->model.pages[index];
	unsigned int mapped = devices_of(found->mapped_by);
	enum model_location at = location_of_id(found->location);

	if (at != (enum model_location)page->at)
		steps_fail(&walk->steps, "page %u: expected at %u, found at %u, cause %u",
			   index, page->at, at, found->cause);
	if (mapped & ~page->mapped ||
	    (entries == EXACTLY && mapped != page->mapped))
		steps_fail(&walk->steps, "page %u: expected mapped by %x, found %x", index,
			   page->mapped, mapped);
	model_found_mapped(&walk->model, index, mapped,
			   devices_of(found->written_by));
}

void walk_check_pages(struct walk *walk, unsigned int first,
		      unsigned int count, enum entries entries)
{
	unsigned int end = first + count;
	int rc;

	first -= first % MODEL_BLOCK;
	end = (end + MODEL_BLOCK - 1) / MODEL_BLOCK * MODEL_BLOCK;
	rc = cmd_pages(space, walk_addr(walk, first),
		       (end - first) * PAGE_BYTES, walk->found);
	if (rc)
		steps_fail(&walk->steps, "HMMRT_IOC_PAGES: %s", strerror(-rc));
	for (unsigned int i = first; !rc && i < end; i++)
		walk_compare(walk, i, &walk->found[i - first], entries);
	for (unsigned int i = first / MODEL_BLOCK; i < end / MODEL_BLOCK; i++)
		model_found_block(&walk->model, i);
}

void walk_check_all(struct walk *walk)
{
	struct hmmrt_stats stats;

	walk_check_pages(walk, 0, MODEL_PAGES, EXACTLY);
	for (unsigned int dev = 0; dev < MODEL_DEVICES; dev++) {
		int rc = cmd_stats(space, id_of(dev), &stats);
		uint64_t found = stats.out_device_faults -
				 walk->faults_before[dev];

		if (rc || found != walk->model.all_faults[dev])
			steps_fail(&walk->steps, "device %u: expected %llu faults, found %llu",
				   dev,
				   (unsigned long long)walk->model.all_faults[dev],
				   (unsigned long long)found);
	}
}

void walk_find_mappings(struct walk *walk)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t base = (uintptr_t)walk->base, start, end;
	unsigned int page = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) != 2 || end <= base)
			continue;
		while (page < MODEL_PAGES && base + page * PAGE_BYTES >= start &&
		       base + page * PAGE_BYTES < end)
			walk->model.pages[page++].mapping =
				(uint32_t)(start / PAGE_BYTES);
	}
	if (maps)
		fclose(maps);
	if (page != MODEL_PAGES)
		steps_fail(&walk->steps, "/proc/self/maps has page %u in no mapping", page);
}
