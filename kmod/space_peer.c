// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers: two devices that map each other's memory, if a process enables that
 * for them.
 *
 * Model      space->peers has, for each device, the ids of the devices whose
 *            memory it may map. kmod/serve_window.c checks that when it writes
 *            an entry, and records in the block map which peer's memory the
 *            entry is for. When a page leaves the peer, its invalidation
 *            removes all entries, so nothing here has to do that.
 * End        Disabling peers, or ending either binding, clears a bit and then
 *            removes the entries. The bit is cleared under space->spans_lock.
 *            So a block that was created before is found here, and a lane that
 *            maps in a block created later sees the cleared bit. In a block
 *            that is found, a mapping lane either took the block's lock first,
 *            and then has recorded the peer, or it sees the cleared bit too.
 * Objects    Entries for memory objects on a peer depend on the access that the
 *            process has given with HMMRT_IOC_ACCESS and not on space->peers.
 *            They may be removed here, and come back by faults.
 * Coherent   All devices map coherent memory by its physical address. Entries
 *            for it do not depend on what is enabled here.
 * Locking    space->peering serialises changes, so that a change is complete
 *            when the next caller gets the mutex.
 */
#include "space.h"

/* Returns true if the hardware of the device can access memory of the peer. */
bool hmmrt_peer_possible(const struct hmmrt_device *dev,
			 const struct hmmrt_device *peer)
{
	return dev->ops == peer->ops &&
	       (dev->flags & peer->flags & HMMRT_DEVICE_PEER_ACCESS);
}

/* The result is stable under block->lock only, see above. */
bool hmmrt_peer_enabled(const struct hmmrt_binding *binding,
			const struct hmmrt_device *peer)
{
	return READ_ONCE(binding->space->peers[binding->dev->id]) &
	       BIT(peer->id);
}

/*
 * Remove all entries that the device has of the block. It gets the entries that
 * are not of the peer's memory back by faults. As in the notifier, the device's
 * cached copies are invalidated after the entries, without the lock.
 */
static void block_revoke(struct hmmrt_binding *binding,
			 struct hmmrt_block *block, u32 peer_id)
{
	struct hmmrt_block_map *map = READ_ONCE(block->maps[binding->dev->id]);
	unsigned long end = block->start + HMMRT_BLOCK_SIZE;
	LIST_HEAD(taken);

	if (!map)
		return;
	mutex_lock(&block->lock);
	if (!(map->peers & BIT(peer_id))) {
		mutex_unlock(&block->lock);
		return;
	}
	hmmrt_map_forget(block, binding->dev->id, &taken);
	map->zapping++;
	binding->dev->ops->unmap(binding, block->start, end);
	mutex_unlock(&block->lock);
	binding->dev->ops->invalidate(binding, block->start, end);
	mutex_lock(&block->lock);
	VM_WARN_ON_ONCE(!map->zapping);
	map->zapping--;
	mutex_unlock(&block->lock);
	hmmrt_duplicates_free(&taken);
	hmmrt_map_ahead_again(block);
}

/*
 * Without a binding there are no valid entries: see hmmrt_unbind(). As in the
 * notifier, it is looked up for each block.
 */
static void device_revoke(struct hmmrt_space *space, u32 device_id, u32 peer_id)
{
	struct hmmrt_binding *binding;
	struct hmmrt_block *block;
	unsigned long addr;
	int idx;

	for (addr = 0; (block = hmmrt_block_next(space, &addr));
	     addr += HMMRT_BLOCK_SIZE) {
		idx = srcu_read_lock(&hmmrt_srcu);
		binding = hmmrt_space_binding(space, device_id);
		if (binding)
			block_revoke(binding, block, peer_id);
		srcu_read_unlock(&hmmrt_srcu, idx);
		hmmrt_block_put(block);
		cond_resched();
	}
}

static void peer_enable(struct hmmrt_space *space, u32 device_id, u32 peer_id)
{
	lockdep_assert_held(&space->peering);
	if (space->peers[device_id] & BIT(peer_id))
		return;
	/* Set the bit before the scan for advice: see hmmrt_ioc_advise(). */
	smp_store_mb(space->peers[device_id],
		     space->peers[device_id] | BIT(peer_id));
	hmmrt_map_ahead_all_again(space);
}

static void peer_disable(struct hmmrt_space *space, u32 device_id, u32 peer_id)
{
	lockdep_assert_held(&space->peering);
	if (!(space->peers[device_id] & BIT(peer_id)))
		return;
	mutex_lock(&space->spans_lock);
	WRITE_ONCE(space->peers[device_id],
		   space->peers[device_id] & ~BIT(peer_id));
	mutex_unlock(&space->spans_lock);
	device_revoke(space, device_id, peer_id);
}

static int peer_change(struct hmmrt_space *space, struct hmmrt_peer *arg)
{
	if (arg->operation == HMMRT_PEER_ENABLE && !arg->out_possible)
		return -EOPNOTSUPP;
	if (mutex_lock_killable(&space->peering))
		return -EINTR;
	if (arg->operation == HMMRT_PEER_ENABLE)
		peer_enable(space, arg->device_id, arg->peer_id);
	else if (arg->operation == HMMRT_PEER_DISABLE)
		peer_disable(space, arg->device_id, arg->peer_id);
	arg->out_enabled = !!(space->peers[arg->device_id] &
			      BIT(arg->peer_id));
	mutex_unlock(&space->peering);
	return 0;
}

int hmmrt_ioc_peer(struct hmmrt_space *space, void *data)
{
	struct hmmrt_peer *arg = data;
	struct hmmrt_binding *binding, *peer;
	int rc = -ENODEV;

	if (arg->__reserved)
		return -EOPNOTSUPP;
	if (arg->operation > HMMRT_PEER_DISABLE ||
	    arg->device_id == arg->peer_id)
		return -EINVAL;
	binding = hmmrt_space_binding_get(space, arg->device_id);
	if (!binding)
		return -ENODEV;
	peer = hmmrt_space_binding_get(space, arg->peer_id);
	if (peer) {
		arg->out_possible =
			hmmrt_peer_possible(binding->dev, peer->dev);
		rc = peer_change(space, arg);
		hmmrt_binding_put(peer);
	}
	hmmrt_binding_put(binding);
	return rc;
}

/* Lookups no longer find the binding. The next binding starts without peers. */
void hmmrt_peers_forget(struct hmmrt_binding *binding)
{
	struct hmmrt_space *space = binding->space;
	u32 id, device_id = binding->dev->id;

	mutex_lock(&space->peering);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		peer_disable(space, id, device_id);
		peer_disable(space, device_id, id);
	}
	mutex_unlock(&space->peering);
}
