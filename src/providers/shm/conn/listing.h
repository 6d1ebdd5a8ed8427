/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_LISTING_H
#define WF_SHM_CONN_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an endpoint knows of the names in the directory of sockets (dir.h), for peers
 * that it waits for. To look up a name that is missing takes the kernel's lock of the
 * directory, and a process that creates its name waits for that lock: many that look
 * for each missing name all the time would keep others from starting. All zero: nothing
 * is known. Guarded by the endpoint's lock.
 */
struct shm_listing {
	uint64_t read_ns; /* CLOCK_REALTIME; 0: never read */
	uint64_t *names;  /* hashes of the files' names */
	size_t count, space;
	bool known; /* there is the one directory, which was read, or none */
};

void shm_listing_done(struct shm_listing *listing);

/* Was the directory read just now? */
bool shm_listing_is_young(const struct shm_listing *listing);
/* May an endpoint have the name by now? Reads the directory again if it has changed, at
 * most every few milliseconds, the more rarely the more names there are. */
bool shm_listing_may_have(struct shm_listing *listing, const char *name);

#endif
