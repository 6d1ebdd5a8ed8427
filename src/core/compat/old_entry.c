/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/compat/old_entry.h"

#include <string.h>

#include "sys/compiler.h"

enum {
	HEAD = offsetof(struct fi_peer_rx_entry, cq_data),
	DATA = sizeof(((struct fi_peer_rx_entry *)0)->cq_data),
	TAIL = sizeof(struct fi_peer_rx_entry) - HEAD - DATA,
};
_Static_assert(offsetof(struct fi_peer_rx_entry, flags) == HEAD + DATA,
	"cq_data is between the parts");

static void old_entry_read_members(
	const struct wf_old_entry *copy, struct fi_peer_rx_entry *ret)
{
	const uint8_t *from = copy->seen.members;

	ret->cq_data = 0;
	memcpy(ret, from, HEAD);
	from += HEAD;
	if (copy->srx->old->has_cq_data) {
		memcpy(&ret->cq_data, from, DATA);
		from += DATA;
	}
	memcpy(&ret->flags, from, TAIL);
}

static void old_entry_write_members(
	struct wf_old_entry *copy, const struct fi_peer_rx_entry *entry)
{
	uint8_t *to = copy->seen.members;

	memcpy(to, entry, HEAD);
	to += HEAD;
	if (copy->srx->old->has_cq_data) {
		memcpy(to, &entry->cq_data, DATA);
		to += DATA;
	}
	memcpy(to, &entry->flags, TAIL);
}

void wf_old_entry_show(struct wf_old_entry *copy, void *peer_context)
{
	struct fi_peer_rx_entry entry = *copy->entry;

	entry.srx = &copy->srx->fid;
	entry.peer_context = peer_context;
	old_entry_write_members(copy, &entry);
}

struct fi_peer_rx_entry *wf_old_entry_seen(struct wf_old_entry *copy)
{
	return (void *)&copy->seen;
}

struct wf_old_entry *wf_old_entry_of(struct fi_peer_rx_entry *seen)
{
	return wf_container_of(
		(struct wf_old_entry_layout *)(void *)seen, struct wf_old_entry, seen);
}

struct fi_peer_rx_entry *wf_old_entry_complete(struct fi_peer_rx_entry *seen)
{
	struct wf_old_entry *copy = wf_old_entry_of(seen);
	struct fi_peer_rx_entry members;

	old_entry_read_members(copy, &members);
	if (members.msg_size)
		copy->entry->msg_size = members.msg_size;
	copy->entry->cq_data = members.cq_data;
	copy->entry->flags = members.flags;
	return copy->entry;
}

struct wf_old_entry *wf_old_entry_refresh(struct fi_peer_rx_entry *entry)
{
	struct wf_old_entry *copy = entry->peer_context;
	struct fi_peer_rx_entry members;

	old_entry_read_members(copy, &members);
	wf_old_entry_show(copy, members.peer_context);
	return copy;
}
