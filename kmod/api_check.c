// SPDX-License-Identifier: GPL-2.0-only
/* The layout of the UAPI is frozen: a build error here is an ABI break. */
#include <linux/build_bug.h>

#include "api.h"

#define CHECK_SIZE(type, bytes) BUILD_BUG_ON(sizeof(struct type) != (bytes))
#define CHECK_AT(type, member, at) \
	BUILD_BUG_ON(offsetof(struct type, member) != (at))

static void check_informative(void)
{
	CHECK_SIZE(hmmrt_info, 32);
	CHECK_AT(hmmrt_info, out_uapi_version, 8);
	CHECK_AT(hmmrt_info, out_devices, 12);
	CHECK_AT(hmmrt_info, out_page_size, 16);
	CHECK_AT(hmmrt_info, out_block_size, 20);
	CHECK_AT(hmmrt_info, out_features, 24);

	CHECK_SIZE(hmmrt_device_info, 128);
	CHECK_AT(hmmrt_device_info, device_id, 8);
	CHECK_AT(hmmrt_device_info, out_numa_node, 12);
	CHECK_AT(hmmrt_device_info, out_memory_bytes, 16);
	CHECK_AT(hmmrt_device_info, out_used_bytes, 24);
	CHECK_AT(hmmrt_device_info, out_backed_bytes, 32);
	CHECK_AT(hmmrt_device_info, out_name, 40);
	CHECK_AT(hmmrt_device_info, out_properties, 72);
	CHECK_AT(hmmrt_device_info, out_evictions, 80);
	CHECK_AT(hmmrt_device_info, out_evictions_ahead, 88);
	CHECK_AT(hmmrt_device_info, out_free_chunks, 96);
	CHECK_AT(hmmrt_device_info, out_partial_chunks, 100);
	CHECK_AT(hmmrt_device_info, out_full_chunks, 104);
	CHECK_AT(hmmrt_device_info, out_chunk_bytes, 108);
	CHECK_AT(hmmrt_device_info, out_split_chunks, 112);
	CHECK_AT(hmmrt_device_info, out_merged_chunks, 120);

	CHECK_SIZE(hmmrt_space_create, 8);
}

static void check_moves(void)
{
	CHECK_SIZE(hmmrt_prefetch, 160);
	CHECK_AT(hmmrt_prefetch, addr, 8);
	CHECK_AT(hmmrt_prefetch, len, 16);
	CHECK_AT(hmmrt_prefetch, location, 24);
	CHECK_AT(hmmrt_prefetch, __reserved, 28);
	CHECK_AT(hmmrt_prefetch, outcomes, 32);
	CHECK_AT(hmmrt_prefetch, out_pages_moved, 40);
	CHECK_AT(hmmrt_prefetch, out_pages_there, 48);
	CHECK_AT(hmmrt_prefetch, out_stayed, 56);
	CHECK_AT(hmmrt_prefetch, done, 152);

	CHECK_SIZE(hmmrt_residency, 32);
	CHECK_AT(hmmrt_residency, addr, 8);
	CHECK_AT(hmmrt_residency, len, 16);
	CHECK_AT(hmmrt_residency, locations, 24);

	CHECK_SIZE(hmmrt_stats, 232);
	CHECK_AT(hmmrt_stats, device_id, 8);
	CHECK_AT(hmmrt_stats, out_device_faults, 16);
	CHECK_AT(hmmrt_stats, out_retries, 80);
	CHECK_AT(hmmrt_stats, out_copied_pages, 88);
	CHECK_AT(hmmrt_stats, out_evictions, 96);
	CHECK_AT(hmmrt_stats, out_evicted_pages, 104);
	CHECK_AT(hmmrt_stats, out_thrashing_faults, 112);
	CHECK_AT(hmmrt_stats, out_fault_batches, 120);
	CHECK_AT(hmmrt_stats, out_merged_faults, 128);
	CHECK_AT(hmmrt_stats, out_flushed_faults, 136);
	CHECK_AT(hmmrt_stats, out_replays, 144);
	CHECK_AT(hmmrt_stats, out_pending_faults, 152);
	CHECK_AT(hmmrt_stats, out_thrashing_blocks, 160);
	CHECK_AT(hmmrt_stats, out_throttled_faults, 168);
	CHECK_AT(hmmrt_stats, out_thrash_pins, 176);
	CHECK_AT(hmmrt_stats, out_thrash_unpins, 184);
	CHECK_AT(hmmrt_stats, out_counted_moves, 192);
	CHECK_AT(hmmrt_stats, out_quota_refusals, 200);
	CHECK_AT(hmmrt_stats, out_memory_refusals, 208);
	CHECK_AT(hmmrt_stats, out_thrashing_resets, 216);
	CHECK_AT(hmmrt_stats, out_blocks, 224);

	CHECK_SIZE(hmmrt_exclusive, 48);
	CHECK_AT(hmmrt_exclusive, addr, 8);
	CHECK_AT(hmmrt_exclusive, len, 16);
	CHECK_AT(hmmrt_exclusive, device_id, 24);
	CHECK_AT(hmmrt_exclusive, __reserved, 28);
	CHECK_AT(hmmrt_exclusive, out_pages, 32);
	CHECK_AT(hmmrt_exclusive, done, 40);
}

static void check_advice(void)
{
	CHECK_SIZE(hmmrt_advise, 40);
	CHECK_AT(hmmrt_advise, addr, 8);
	CHECK_AT(hmmrt_advise, len, 16);
	CHECK_AT(hmmrt_advise, advice, 24);
	CHECK_AT(hmmrt_advise, location, 28);
	CHECK_AT(hmmrt_advise, value, 32);

	CHECK_SIZE(hmmrt_range_attributes, 56);
	CHECK_AT(hmmrt_range_attributes, addr, 8);
	CHECK_AT(hmmrt_range_attributes, len, 16);
	CHECK_AT(hmmrt_range_attributes, out_flags, 24);
	CHECK_AT(hmmrt_range_attributes, out_accessed_by, 28);
	CHECK_AT(hmmrt_range_attributes, out_preferred_location, 32);
	CHECK_AT(hmmrt_range_attributes, out_last_prefetch, 36);
	CHECK_AT(hmmrt_range_attributes, out_granularity, 40);
	CHECK_AT(hmmrt_range_attributes, out_alike_bytes, 48);

	CHECK_SIZE(hmmrt_page, 32);
	CHECK_AT(hmmrt_page, flags, 4);
	CHECK_AT(hmmrt_page, mapped_by, 8);
	CHECK_AT(hmmrt_page, written_by, 12);
	CHECK_AT(hmmrt_page, duplicates, 16);
	CHECK_AT(hmmrt_page, cause, 20);
	CHECK_AT(hmmrt_page, time, 24);

	CHECK_SIZE(hmmrt_pages, 40);
	CHECK_AT(hmmrt_pages, addr, 8);
	CHECK_AT(hmmrt_pages, len, 16);
	CHECK_AT(hmmrt_pages, pages, 24);
	CHECK_AT(hmmrt_pages, page_bytes, 32);
	CHECK_AT(hmmrt_pages, __reserved, 36);

	CHECK_SIZE(hmmrt_peer, 32);
	CHECK_AT(hmmrt_peer, device_id, 8);
	CHECK_AT(hmmrt_peer, peer_id, 12);
	CHECK_AT(hmmrt_peer, operation, 16);
	CHECK_AT(hmmrt_peer, __reserved, 20);
	CHECK_AT(hmmrt_peer, out_possible, 24);
	CHECK_AT(hmmrt_peer, out_enabled, 28);
}

static void check_objects(void)
{
	CHECK_SIZE(hmmrt_object_create, 24);
	CHECK_AT(hmmrt_object_create, bytes, 8);
	CHECK_AT(hmmrt_object_create, location, 16);
	CHECK_AT(hmmrt_object_create, out_fd, 20);

	CHECK_SIZE(hmmrt_object_info, 40);
	CHECK_AT(hmmrt_object_info, out_bytes, 8);
	CHECK_AT(hmmrt_object_info, out_id, 16);
	CHECK_AT(hmmrt_object_info, out_location, 24);
	CHECK_AT(hmmrt_object_info, out_flags, 28);
	CHECK_AT(hmmrt_object_info, out_resident_bytes, 32);

	CHECK_SIZE(hmmrt_object_reopen, 16);
	CHECK_AT(hmmrt_object_reopen, access, 8);
	CHECK_AT(hmmrt_object_reopen, out_fd, 12);

	CHECK_SIZE(hmmrt_access, 40);
	CHECK_AT(hmmrt_access, addr, 8);
	CHECK_AT(hmmrt_access, len, 16);
	CHECK_AT(hmmrt_access, operation, 24);
	CHECK_AT(hmmrt_access, device_id, 28);
	CHECK_AT(hmmrt_access, access, 32);
	CHECK_AT(hmmrt_access, out_access, 36);
}

static void check_knob(void)
{
	CHECK_SIZE(hmmrt_knob, 112);
	CHECK_AT(hmmrt_knob, knob, 8);
	CHECK_AT(hmmrt_knob, operation, 12);
	CHECK_AT(hmmrt_knob, scope, 16);
	CHECK_AT(hmmrt_knob, device_id, 20);
	CHECK_AT(hmmrt_knob, addr, 24);
	CHECK_AT(hmmrt_knob, len, 32);
	CHECK_AT(hmmrt_knob, value, 40);
	CHECK_AT(hmmrt_knob, out_value, 44);
	CHECK_AT(hmmrt_knob, out_min, 48);
	CHECK_AT(hmmrt_knob, out_max, 52);
	CHECK_AT(hmmrt_knob, out_default, 56);
	CHECK_AT(hmmrt_knob, out_scopes, 60);
	CHECK_AT(hmmrt_knob, out_name, 64);
}

static void check_quota(void)
{
	CHECK_SIZE(hmmrt_quota, 72);
	CHECK_AT(hmmrt_quota, operation, 8);
	CHECK_AT(hmmrt_quota, scope, 12);
	CHECK_AT(hmmrt_quota, device_id, 16);
	CHECK_AT(hmmrt_quota, cgroup_fd, 20);
	CHECK_AT(hmmrt_quota, limit_bytes, 24);
	CHECK_AT(hmmrt_quota, priority, 32);
	CHECK_AT(hmmrt_quota, out_priority, 36);
	CHECK_AT(hmmrt_quota, out_limit_bytes, 40);
	CHECK_AT(hmmrt_quota, out_used_bytes, 48);
	CHECK_AT(hmmrt_quota, out_refused, 56);
	CHECK_AT(hmmrt_quota, out_evicted_bytes, 64);
}

static void check_gpu(void)
{
	CHECK_SIZE(hmmrt_gpu_bind, 32);
	CHECK_AT(hmmrt_gpu_bind, space_fd, 8);
	CHECK_AT(hmmrt_gpu_bind, out_device_id, 12);
	CHECK_AT(hmmrt_gpu_bind, out_token, 16);
	CHECK_AT(hmmrt_gpu_bind, wait_msec, 24);
	CHECK_AT(hmmrt_gpu_bind, __reserved, 28);

	CHECK_SIZE(hmmrt_gpu_attach, 16);
	CHECK_AT(hmmrt_gpu_attach, token, 8);

	CHECK_SIZE(hmmrt_gpu_fault_record, 24);
	CHECK_AT(hmmrt_gpu_fault_record, out_addr, 8);
	CHECK_AT(hmmrt_gpu_fault_record, out_access, 16);
	CHECK_AT(hmmrt_gpu_fault_record, out_errno, 20);
}

static void check_events(void)
{
	CHECK_SIZE(hmmrt_event, 192);
	CHECK_AT(hmmrt_event, time, 16);
	CHECK_AT(hmmrt_event, addr, 40);
	CHECK_AT(hmmrt_event, type, 64);
	CHECK_AT(hmmrt_event, device, 72);
	CHECK_AT(hmmrt_event, error, 84);
	CHECK_AT(hmmrt_event, count, 96);
	CHECK_AT(hmmrt_event, phase, 108);
	CHECK_AT(hmmrt_event, text, 136);

	CHECK_SIZE(hmmrt_event_ring, 544);
	CHECK_AT(hmmrt_event_ring, tail, 8);
	CHECK_AT(hmmrt_event_ring, events, 16);
	CHECK_AT(hmmrt_event_ring, dropped, 32);
	BUILD_BUG_ON(HMMRT_EVENT_TYPES >
		     ARRAY_SIZE(((struct hmmrt_event_ring *)0)->dropped));

	CHECK_SIZE(hmmrt_events_open, 48);
	CHECK_AT(hmmrt_events_open, scope, 8);
	CHECK_AT(hmmrt_events_open, events, 12);
	CHECK_AT(hmmrt_events_open, types, 16);
	CHECK_AT(hmmrt_events_open, wake_events, 24);
	CHECK_AT(hmmrt_events_open, out_fd, 28);
	CHECK_AT(hmmrt_events_open, out_map_bytes, 32);

	CHECK_SIZE(hmmrt_annotate, 96);
	CHECK_AT(hmmrt_annotate, kind, 8);
	CHECK_AT(hmmrt_annotate, addr, 16);
	CHECK_AT(hmmrt_annotate, len, 24);
	CHECK_AT(hmmrt_annotate, since, 32);
	CHECK_AT(hmmrt_annotate, text, 40);

	/* Events have the rules of policy, and the steps of thrashing. */
	BUILD_BUG_ON((int)HMMRT_RULE_DEFAULT != HMMRT_EVENT_RULE_DEFAULT);
	BUILD_BUG_ON((int)HMMRT_RULE_QUOTA != HMMRT_EVENT_RULE_QUOTA);
	BUILD_BUG_ON((int)HMMRT_THRASHING_RESET != HMMRT_EVENT_THRASHING_RESET);
}

void hmmrt_uapi_check(void)
{
	check_informative();
	check_moves();
	check_advice();
	check_objects();
	check_knob();
	check_quota();
	check_events();
	check_gpu();
}
