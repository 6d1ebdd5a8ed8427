/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODE_CROWD_H
#define WF_PROVIDERS_COLL_NODE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/* The processors of a member, as it reports them to the other members. */
struct coll_place {
	/* Hash of the machine and of its processors that the process may use; 0: not
	 * known. */
	uint32_t processors;
	uint32_t process; /* process id */
};

struct coll_place coll_place_own(void);

/* Do so many of the processes of the @count @places share the processors of this
 * process that they are more than the processors? Then a member that waits yields. */
bool coll_is_crowded(const struct coll_place *places, uint32_t count);

#endif
