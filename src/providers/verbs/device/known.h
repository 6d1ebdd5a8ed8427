/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_KNOWN_H
#define VERBS_KNOWN_H

#include "providers/verbs/device/device.h"
#include "providers/verbs/device/template.h"
#include "providers/verbs/ud/ud.h"

/*
 * All ports and addresses that were ever found. Answers and open objects refer to them,
 * so that they stay until the library is unloaded; a port or an address that is found
 * again as it was before is the same one. The caller serialises.
 */

/* An Internet address of a port for connections, or the address of its datagram
 * endpoints, of which the device chooses the most; and what endpoints there offer. */
struct verbs_addr {
	struct verbs_addr *next;
	union {
		union wf_sockaddr sa; /* family AF_UNSPEC: of datagram endpoints */
		struct verbs_ud_name name;
	};
	bool dgram;
	struct verbs_template template;
};

/* The port that is as @found, which is taken over: the caller does not use it any more.
 * NULL: no memory. */
struct verbs_device *verbs_known_device(struct verbs_device *found);

/* The address @sa of the port, or with NULL that of its datagram endpoints. NULL: no
 * memory. */
const struct verbs_addr *verbs_known_addr(
	struct verbs_device *device, const union wf_sockaddr *sa);

/* Forget all of them. */
void verbs_known_done(void);

#endif
