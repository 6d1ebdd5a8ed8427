/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "providers/coll/node/card.h"
#include "sys/machine.h"

static void card_fill_cpus(struct coll_card *card)
{
	const uint64_t prime = 0x100000001b3; /* prime of FNV-1a */
	uint64_t hash = 0xcbf29ce484222325;
	cpu_set_t set;

	/* Fails if the machine has more processors than the set has bits. Then nothing
	 * is known, which has the effect of more processors than members. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (size_t i = 0; i < sizeof(set); i++)
		hash = (hash ^ ((const uint8_t *)&set)[i]) * prime;
	card->cpu_hash = (uint32_t)(hash ^ hash >> 32);
	card->cpus = (uint16_t)CPU_COUNT(&set);
}

int coll_card_fill(struct coll_card *card)
{
	char state;
	int ret;

	*card = (struct coll_card){
		.layout = COLL_CARD_LAYOUT,
		.uid = (uint32_t)geteuid(),
		.pid = (uint32_t)getpid(),
	};
	ret = wf_machine_boot_id(card->boot_id);
	if (!ret)
		ret = wf_process_stat(card->pid, &state, &card->started);
	if (!ret)
		ret = wf_machine_pid_ns(&card->pid_ns);
	if (ret)
		return ret;
	card_fill_cpus(card);
	return 0;
}

bool coll_node_is_local(
	const struct coll_node_card *card_a, const struct coll_node_card *card_b)
{
	struct coll_card a = coll_card_get(card_a), b = coll_card_get(card_b);

	return a.layout == COLL_CARD_LAYOUT && b.layout == a.layout && a.uid == b.uid &&
	       a.pid_ns == b.pid_ns && !memcmp(a.boot_id, b.boot_id, sizeof(a.boot_id));
}

enum coll_alive coll_card_alive(const struct coll_card *card)
{
	uint64_t started;
	char state;
	int ret = wf_process_stat(card->pid, &state, &started);

	if (ret == -ENOENT || ret == -ESRCH)
		return COLL_DEAD;
	if (ret)
		return COLL_ALIVE;
	return started != card->started || state == 'Z' || state == 'X' ? COLL_DEAD
									: COLL_ALIVE;
}
