/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_DEVICE_KNOWN_H
#define WF_VERBS_DEVICE_KNOWN_H

#include "providers/verbs/device/device.h"
#include "providers/verbs/device/template.h"
#include "providers/verbs/ud/ud.h"

/*
 * All ports and addresses that were ever found. Answers of fi_getinfo and open objects
 * point to them, so they are kept until the library is unloaded. A port or an address
 * that is found unchanged in a later scan is the same object. The caller serialises the
 * calls.
 */

/* An Internet address of a port for connections, or the address of its datagram
 * endpoints, most of which the device chooses; with the template of these endpoints. */
struct verbs_addr {
	struct verbs_addr *next;
	union {
		/* Family AF_UNSPEC: address of datagram endpoints. */
		union wf_sockaddr sa;
		struct verbs_ud_name name;
	};
	bool dgram;
	struct verbs_template template;
};

/* The known port that equals @found, which is added if it is new. The function consumes
 * @found. NULL: no memory. */
struct verbs_device *verbs_known_device(struct verbs_device *found);

/* The address @sa of the port or, with NULL, that of its datagram endpoints. NULL: no
 * memory. */
const struct verbs_addr *verbs_known_addr(
	struct verbs_device *device, const union wf_sockaddr *sa);

/* Free all ports and addresses. */
void verbs_known_done(void);

#endif
