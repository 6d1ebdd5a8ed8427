/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/listing.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "providers/shm/conn/dir.h"
#include "providers/shm/name.h"
#include "sys/compiler.h"

enum {
	/* Between two readings, and more for each name. */
	SPACING_NS = 5000000,
	SPACING_EACH_NS = 2000000,
	/* Time for a change to be seen, and how long it is relied on that it is. */
	MARGIN_NS = 20000000,
	TRUST_NS = 1000000000,
	FIRST_SPACE = 64,
};

static uint64_t listing_realtime_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void shm_listing_done(struct shm_listing *listing)
{
	free(listing->names);
	*listing = (struct shm_listing){ 0 };
}

static bool listing_add(struct shm_listing *listing, uint64_t name)
{
	size_t space = WF_MAX(listing->space * 2, (size_t)FIRST_SPACE);
	uint64_t *names;

	if (listing->count == listing->space) {
		names = realloc(listing->names, space * sizeof(*names));
		if (!names)
			return false;
		listing->names = names;
		listing->space = space;
	}
	listing->names[listing->count++] = name;
	return true;
}

static void listing_read(struct shm_listing *listing, uint64_t now)
{
	struct shm_dirs plain, all;
	struct dirent *entry;
	DIR *list = NULL;

	shm_dirs_plain(SHM_DIR_ROOT, &plain);
	shm_dirs_find(SHM_DIR_ROOT, &all);
	listing->read_ns = now;
	listing->count = 0;
	if (plain.count && all.count == 1)
		list = opendir(plain.path[0]);
	listing->known = list || !all.count;
	while (list && listing->known && (entry = readdir(list)))
		listing->known = listing_add(listing, shm_name_hash(entry->d_name));
	if (list)
		(void)closedir(list);
}

static bool listing_is_young(const struct shm_listing *listing, uint64_t now)
{
	return now - listing->read_ns < SPACING_NS + listing->count * SPACING_EACH_NS;
}

static bool listing_is_current(const struct shm_listing *listing, uint64_t now)
{
	uint64_t changed;

	if (listing_is_young(listing, now))
		return true;
	if (now - listing->read_ns >= TRUST_NS)
		return false;
	changed = shm_dirs_changed_ns(SHM_DIR_ROOT);
	return changed < listing->read_ns && listing->read_ns - changed > MARGIN_NS;
}

bool shm_listing_is_young(const struct shm_listing *listing)
{
	return listing_is_young(listing, listing_realtime_ns());
}

bool shm_listing_may_have(struct shm_listing *listing, const char *name)
{
	char path[SHM_DIR_LEN + SHM_NAME_MAX];
	uint64_t now = listing_realtime_ns(), hash;
	struct shm_dirs plain;

	if (!listing_is_current(listing, now))
		listing_read(listing, now);
	shm_dirs_plain(SHM_DIR_ROOT, &plain);
	if (!listing->known || shm_name_path(plain.path[0], name, path, sizeof(path)))
		return true;
	hash = shm_name_hash(strrchr(path, '/') + 1);
	for (size_t i = 0; i < listing->count; i++)
		if (listing->names[i] == hash)
			return true;
	return false;
}
