/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/coll/node/direct_work.h"
#include "sys/copy.h"

/* Memory of direct operations: access to that of other members, and memory of this
 * member. */

struct coll_addresses coll_direct_posted(const struct coll_node *node, uint32_t member)
{
	struct coll_addresses ret;

	memcpy(&ret, node->segment[member]->line[node->base % COLL_SLOTS].data,
		sizeof(ret));
	return ret;
}

int coll_direct_transfer(const struct coll_node *node, uint32_t member, bool write,
	void *mine, uint64_t theirs, size_t len)
{
	const struct coll_card *card = &node->card[member];
	struct iovec local = { mine, len };
	struct iovec remote = { (void *)(uintptr_t)theirs, len };
	ssize_t done;

	while (local.iov_len) {
		done = write ? process_vm_writev(
				       (pid_t)card->pid, &local, 1, &remote, 1, 0)
			     : process_vm_readv(
				       (pid_t)card->pid, &local, 1, &remote, 1, 0);
		if (done <= 0)
			return -FI_ECONNRESET;
		local.iov_base = (uint8_t *)local.iov_base + done;
		local.iov_len -= (size_t)done;
		remote.iov_base = (uint8_t *)remote.iov_base + done;
		remote.iov_len = local.iov_len;
	}
	return 0;
}

bool coll_direct_probe(const struct coll_node *node, uint32_t member)
{
	const struct coll_segment *segment = node->segment[member];
	uint64_t cookie = 0;

	return !coll_direct_transfer(node, member, false, &cookie, segment->address,
		       sizeof(cookie)) &&
	       cookie == node->card[member].cookie;
}

/* Allocate two pieces and, behind them, @more bytes that the operation needs: for a
 * share if this member has no result, or for a copy of an input that its result
 * overwrites. */
static int direct_memory_get_scratch(struct coll_node *node, size_t more)
{
	size_t size = 2 * (size_t)COLL_DIRECT_PIECE + more;
	uint8_t *mem;

	if (node->scratch_size >= size)
		return 0;
	mem = malloc(size);
	if (!mem)
		return -FI_ENOMEM;
	free(node->scratch);
	node->scratch = mem;
	node->scratch_size = size;
	return 0;
}

int coll_direct_post(struct coll_node *node)
{
	struct coll_plan *plan = &node->plan;
	struct coll_addresses own = { (uintptr_t)plan->in, (uintptr_t)plan->out };
	bool overwrites =
		plan->role.scatters && plan->role.all && plan->in == plan->out;
	bool shares = plan->stride == 3;
	size_t at = 0, more = 0;
	int ret = 0;

	if (overwrites)
		more = plan->part * node->members;
	else if (shares && !plan->role.takes)
		more = coll_share_of(node, node->rank, plan->part, &at);
	if (more || coll_direct_reduces(node))
		ret = direct_memory_get_scratch(node, more);
	if (ret)
		return ret;
	if (overwrites) {
		wf_copy(node->scratch + 2 * COLL_DIRECT_PIECE, plan->in, more);
		plan->in = node->scratch + 2 * COLL_DIRECT_PIECE;
		own.in = (uintptr_t)plan->in;
	} else if (more) {
		/* The address as if the share were in a result. */
		own.out = (uintptr_t)(node->scratch + 2 * COLL_DIRECT_PIECE) - at;
	}
	memcpy(node->own->line[node->base % COLL_SLOTS].data, &own, sizeof(own));
	coll_publish(node, node->base);
	return 0;
}
