/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/inbox.h"

#include <stdlib.h>

static_assert(WF_INBOX_LIMIT + sizeof(struct wf_inbox_message) < WF_INBOX_BYTES / 2,
	"a message has space, also if it does not fit before the end of the memory");
static_assert(sizeof(struct wf_inbox_message) == 16, "alignment of payloads");

struct wf_inbox *wf_inbox_new(struct wf_gate *gate, size_t limit, struct wf_wait *wait)
{
	struct wf_inbox *inbox =
		aligned_alloc(WF_CACHELINE, sizeof(*inbox) + WF_INBOX_BYTES);

	if (!inbox)
		return NULL;
	wf_lock_init(&inbox->lock, WF_LOCK_SPIN);
	wf_lock_set_gate(&inbox->lock, gate);
	inbox->limit = (uint32_t)WF_MIN(limit, (size_t)WF_INBOX_LIMIT);
	inbox->wait = wait;
	atomic_init(&inbox->head, 0);
	atomic_init(&inbox->tail, 0);
	return inbox;
}

void wf_inbox_free(struct wf_inbox *inbox)
{
	if (!inbox)
		return;
	wf_lock_done(&inbox->lock);
	free(inbox);
}
