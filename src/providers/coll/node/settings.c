/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/state.h"

enum {
	/* A part that is not larger than a line may have been posted before the
	 * operation is planned (post_early), so it is neither reduced in shares nor
	 * copied directly. */
	PART_MIN = COLL_LINE_BYTES + 1,
	CHUNK_MIN = 64,
};

/* The defaults are measured; see bench/results/2026-11-2[56]-zen3.md. */
struct coll_setting coll_node_settings[COLL_NODE_SETTINGS] = {
	[COLL_NODE_DEGREE] = { COLL_DEGREE_AUTO, COLL_DEGREE_AUTO, COLL_DEGREE_MAX },
	[COLL_NODE_TREE_MEMBERS] = { 32, 2, SIZE_MAX },
	[COLL_NODE_TREE_MEMBERS_OVERSUBSCRIBED] = { 12, 2, SIZE_MAX },
	/* One chunk. */
	[COLL_NODE_TREE_BYTES] = { 4 << 10, 0, COLL_CELL_BYTES },
	/* Two members reduce a vector faster if each one reduces all of it. */
	[COLL_NODE_SHARE_MEMBERS] = { 3, 2, SIZE_MAX },
	[COLL_NODE_SHARE_BYTES] = { 8 << 10, PART_MIN, SIZE_MAX },
	[COLL_NODE_CHUNK_BYTES] = { 4 << 10, CHUNK_MIN, COLL_CELL_BYTES },
	[COLL_NODE_DIRECT_BYTES] = { 128 << 10, PART_MIN, SIZE_MAX },
	[COLL_NODE_DIRECT_BYTES_OVERSUBSCRIBED] = { 32 << 10, PART_MIN, SIZE_MAX },
	/* Results that are this large leave no room in a cache for the copies on the
	 * way to them. */
	[COLL_NODE_STREAM_BYTES] = { 8 << 20, 0, SIZE_MAX },
};

void coll_settings_publish(struct coll_node *node)
{
	for (int i = 0; i < COLL_NODE_SETTINGS; i++)
		/* Pairs with coll_settings_read. */
		atomic_store_explicit(&node->own->setting[i],
			coll_node_settings[i].value, memory_order_release);
}

void coll_settings_read(struct coll_node *node)
{
	size_t members = node->members;

	for (int i = 0; i < COLL_NODE_SETTINGS; i++) {
		const struct coll_setting *setting = &coll_node_settings[i];
		/* Pairs with coll_settings_publish. The number of another member is
		 * checked. */
		uint64_t value = atomic_load_explicit(
			&node->segment[0]->setting[i], memory_order_acquire);

		node->setting[i] = value < setting->min || value > setting->max
					   ? setting->value
					   : (size_t)value;
	}
	node->stream_part = node->setting[COLL_NODE_STREAM_BYTES] / (members * members);
}
