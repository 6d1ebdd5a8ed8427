/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* File names of endpoints. Characters that could have a meaning to the system are
 * written as %XX. So no such name begins with "%%", as the hashes do. */

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-_:,+=@~.";

/* False: no space. */
static bool name_spell_file(const char *text, char *file, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; text[i]; i++) {
		bool as_is = strchr(plain, text[i]) && (i || text[i] != '.');
		int n = snprintf(file + used, len - used, as_is ? "%c" : "%%%02X",
			(unsigned char)text[i]);

		if (n < 0 || (size_t)n >= len - used)
			return false;
		used += (size_t)n;
	}
	return true;
}

/* FNV-1a of 128 bits: collisions between the names of one user are negligible. */
static void name_spell_hash(const char *text, char *file, size_t len)
{
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
	unsigned __int128 hash = (unsigned __int128)UINT64_C(0x6c62272e07bb0142) << 64 |
				 UINT64_C(0x62b821756295c58d);

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * prime;
	(void)snprintf(file, len, "%%%%%016" PRIx64 "%016" PRIx64,
		(uint64_t)(hash >> 64), (uint64_t)hash);
}

/* False: no space. */
static bool name_join(const char *dir, const char *file, char *path, size_t len)
{
	int n = snprintf(path, len, "%s/%s", dir, file);

	return n >= 0 && (size_t)n < len;
}

uint64_t shm_name_hash(const char *name)
{
	uint64_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 1099511628211u;
	return hash ^ hash >> 32;
}

int shm_name_path(const char *dir, const char *name, char *path, size_t len)
{
	char file[SHM_NAME_MAX * 3];

	name = wf_addrstr_name(name);
	if (name_spell_file(name, file, sizeof(file)) &&
		name_join(dir, file, path, len))
		return 0;
	name_spell_hash(name, file, sizeof(file));
	return name_join(dir, file, path, len) ? 0 : -ENAMETOOLONG;
}
