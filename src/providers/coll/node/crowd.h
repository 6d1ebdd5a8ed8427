/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODE_CROWD_H
#define WF_PROVIDERS_COLL_NODE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/* Where a member runs, as it tells the others. */
struct coll_place {
	uint32_t processors; /* hash of the machine and of its processors that the
			      * process may use; 0: not known */
	uint32_t process;    /* its number */
};

struct coll_place coll_place_own(void);

/* Do more of the processes at @count @places than this process has processors share
 * these with it? Then a member that waits yields. */
bool coll_is_crowded(const struct coll_place *places, uint32_t count);

#endif
