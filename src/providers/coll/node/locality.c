/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/locality.h"

#include <unistd.h>

#include "providers/coll/node/card.h"

enum { PROCESSORS_MAX = 1024 };

static uint32_t locality_hash_of(const struct coll_card *card)
{
	uint32_t hash = card->cpu_hash;

	for (size_t i = 0; i < sizeof(card->boot_id); i++)
		/* Prime of FNV-1a. */
		hash = (hash ^ card->boot_id[i]) * UINT32_C(0x01000193);
	return hash ? hash : 1;
}

/* Fill @card, and return the number of processors; 0: not known. */
static uint32_t locality_own_processors(struct coll_card *card)
{
	return coll_card_fill(card) ? 0 : card->cpus;
}

struct coll_locality coll_locality_own(void)
{
	struct coll_card card;
	struct coll_locality locality = { .process = (uint32_t)getpid() };

	if (locality_own_processors(&card))
		locality.processors = locality_hash_of(&card);
	return locality;
}

static bool locality_is_new(const uint32_t *processes, uint32_t count, uint32_t process)
{
	for (uint32_t i = 0; i < count; i++)
		if (processes[i] == process)
			return false;
	return true;
}

bool coll_is_oversubscribed(const struct coll_locality *localities, uint32_t count)
{
	uint32_t processes[PROCESSORS_MAX], found = 0, processors, hash;
	struct coll_card card;

	processors = locality_own_processors(&card);
	if (!processors || processors >= PROCESSORS_MAX)
		return false;
	hash = locality_hash_of(&card);
	for (uint32_t i = 0; i < count && found <= processors; i++)
		if (localities[i].processors == hash &&
			locality_is_new(processes, found, localities[i].process))
			processes[found++] = localities[i].process;
	return found > processors;
}
