// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers: devices that are given entries for each other's memory, where a process
 * enables that for the two.
 *
 * Model      space->peers has, for each device, the ids of the devices whose
 *            memory it may map. kmod/serve.c asks when it writes an entry, and
 *            notes in the block map whose memory there is one for. A page that
 *            leaves the peer takes all entries along by its invalidation, so
 *            nothing here is needed for that.
 * End        Disabling, and the end of either binding, takes a bit back and then
 *            the entries. The bit is cleared under space->spans_lock: a block that
 *            was made before is found, and who maps in one that was made later
 *            sees that it is cleared. In a block that is found either its lock
 *            was taken by who maps first, who then noted it, or he sees it too.
 * Coherent   memory is mapped by all devices anyway, by its physical address: no
 *            entry for it depends on what is enabled here.
 * Locking    space->peering, so that it is over for everybody who comes second.
 */
#include "hmmrt.h"

static bool peer_possible(const struct hmmrt_device *dev,
			  const struct hmmrt_device *peer)
{
	return dev->ops == peer->ops &&
	       (dev->flags & peer->flags & HMMRT_DEVICE_PEER_ACCESS);
}

/* For good only under block->lock, see above. */
bool hmmrt_peer_enabled(const struct hmmrt_binding *binding,
			const struct hmmrt_device *peer)
{
	return READ_ONCE(binding->space->peers[binding->dev->id]) &
	       BIT(peer->id);
}

/*
 * All that the device has of the block goes: what is not the peer's it gets again
 * by a fault. As in the notifier, the device's cached copies go after the entries,
 * without the lock.
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
	hmmrt_map_forget(map, &taken);
	map->zapping++;
	binding->dev->ops->unmap(binding, block->start, end);
	mutex_unlock(&block->lock);
	binding->dev->ops->invalidate(binding, block->start, end);
	mutex_lock(&block->lock);
	map->zapping--;
	mutex_unlock(&block->lock);
	hmmrt_copies_free(&taken);
	hmmrt_map_ahead_again(block);
}

static void binding_revoke(struct hmmrt_binding *binding, u32 peer_id)
{
	struct hmmrt_block *block;
	unsigned long addr;

	for (addr = 0; (block = hmmrt_block_next(binding->space, &addr));
	     addr += HMMRT_BLOCK_SIZE) {
		block_revoke(binding, block, peer_id);
		hmmrt_block_put(block);
		cond_resched();
	}
}

static void peer_enable(struct hmmrt_space *space, u32 device_id, u32 peer_id)
{
	lockdep_assert_held(&space->peering);
	if (space->peers[device_id] & BIT(peer_id))
		return;
	/* Before advice is looked for: see hmmrt_advise(). */
	smp_store_mb(space->peers[device_id],
		     space->peers[device_id] | BIT(peer_id));
	hmmrt_map_ahead_all_again(space);
}

static void peer_disable(struct hmmrt_space *space, u32 device_id, u32 peer_id)
{
	struct hmmrt_binding *binding;
	int idx;

	lockdep_assert_held(&space->peering);
	if (!(space->peers[device_id] & BIT(peer_id)))
		return;
	mutex_lock(&space->spans_lock);
	WRITE_ONCE(space->peers[device_id],
		   space->peers[device_id] & ~BIT(peer_id));
	mutex_unlock(&space->spans_lock);
	idx = srcu_read_lock(&hmmrt_srcu);
	/* Entries of none that is bound are meaningless: see hmmrt_unbind(). */
	binding = hmmrt_space_binding(space, device_id);
	if (binding)
		binding_revoke(binding, peer_id);
	srcu_read_unlock(&hmmrt_srcu, idx);
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

int hmmrt_peer(struct hmmrt_space *space, struct hmmrt_peer *arg)
{
	struct hmmrt_binding *binding, *peer;
	int rc = -EINVAL;

	if (arg->__reserved)
		return -EOPNOTSUPP;
	if (arg->operation > HMMRT_PEER_DISABLE ||
	    arg->device_id == arg->peer_id)
		return -EINVAL;
	binding = hmmrt_space_binding_get(space, arg->device_id);
	if (!binding)
		return -EINVAL;
	peer = hmmrt_space_binding_get(space, arg->peer_id);
	if (peer) {
		arg->out_possible = peer_possible(binding->dev, peer->dev);
		rc = peer_change(space, arg);
		hmmrt_binding_put(peer);
	}
	hmmrt_binding_put(binding);
	return rc;
}

/* The binding is found by nobody any more: the next one begins without peers. */
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
