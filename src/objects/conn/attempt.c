/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/attempt.h"

#include <stdlib.h>

#include "sys/compiler.h"

static struct wf_attempt *attempt_of(const struct wf_list *link)
{
	return wf_list_entry(link, struct wf_attempt, link);
}

void wf_attempts_init(struct wf_attempts *attempts)
{
	wf_list_init(&attempts->live);
	wf_list_init(&attempts->ended);
}

void wf_attempts_add(struct wf_attempts *attempts, struct wf_attempt *attempt)
{
	attempt->deadline_ns = UINT64_MAX;
	wf_list_push(&attempts->live, &attempt->link);
}

void wf_attempts_end(struct wf_attempts *attempts, struct wf_attempt *attempt)
{
	wf_list_remove(&attempt->link);
	wf_list_push(&attempts->ended, &attempt->link);
}

void wf_attempts_free_ended(struct wf_attempts *attempts)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&attempts->ended)))
		free(attempt_of(link));
}

void wf_attempts_expire(struct wf_attempts *attempts, uint64_t now_ns,
	void (*expired)(struct wf_attempt *attempt))
{
	struct wf_list due, *link;

	/* Due attempts are moved to a list first: @expired may end any attempt, also
	 * the next one of attempts->live. */
	wf_list_init(&due);
	wf_list_foreach_safe(live, &attempts->live)
	{
		if (attempt_of(live)->deadline_ns > now_ns)
			continue;
		wf_list_remove(live);
		wf_list_push(&due, live);
	}
	while ((link = wf_list_pop(&due))) {
		wf_list_push(&attempts->live, link);
		expired(attempt_of(link));
	}
}

uint64_t wf_attempts_deadline(const struct wf_attempts *attempts)
{
	uint64_t deadline = UINT64_MAX;

	wf_list_foreach(link, &attempts->live)
	{
		deadline = WF_MIN(deadline, attempt_of(link)->deadline_ns);
	}
	return deadline;
}
