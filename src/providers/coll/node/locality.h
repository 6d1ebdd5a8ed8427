/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_LOCALITY_H
#define WF_COLL_NODE_LOCALITY_H

#include <stdbool.h>
#include <stdint.h>

/* The processors of a member, as it reports them to the other members. */
struct coll_locality {
	/* Hash of the machine and of its processors that the process may use; 0: not
	 * known. */
	uint32_t processors;
	uint32_t process; /* process id */
};

/* The processors of this process; processors is 0 if they are not known. */
struct coll_locality coll_locality_own(void);

/* Are more of the @count processes of @localities on the processors of this process
 * than there are processors? Then a member that waits yields. */
bool coll_is_oversubscribed(const struct coll_locality *localities, uint32_t count);

#endif
