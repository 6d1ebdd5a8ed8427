/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_UD_NS_H
#define WF_VERBS_UD_NS_H

#include "providers/verbs/ud/ud.h"

/*
 * The name server of datagram endpoints: it returns the address of the endpoint that
 * has a service on a host. One process of each host serves at the TCP port
 * FI_VERBS_DGRAM_NAME_SERVER_PORT; processes of that host register with it, processes
 * of all hosts send queries. Messages have the format of other implementations; numbers
 * are in host byte order.
 */
enum verbs_ns_type {
	VERBS_NS_ADD = 0,
	VERBS_NS_REMOVE = 1,
	VERBS_NS_QUERY = 2,
	VERBS_NS_ANSWER = 3,
};

struct verbs_ns_msg {
	uint8_t version; /* 0 */
	uint8_t type;    /* enum verbs_ns_type */
	uint16_t zero;
	int32_t status; /* in an answer: 0 or a negative errno, in network byte order */
	int32_t service; /* in a query: 0 means any service */
	struct verbs_ud_name name;
};
enum {
	VERBS_NS_HEADER = 8,
	VERBS_NS_QUERY_SIZE = 12,
	VERBS_NS_SIZE = 44,
};
static_assert(sizeof(struct verbs_ns_msg) == VERBS_NS_SIZE, "as on the wire");

/* Length in bytes of the message that begins as @msg does, as far as its header
 * shows. */
size_t verbs_ns_size(const struct verbs_ns_msg *msg);

/* Ask the server of the host @node for the address of @service. 0, or -FI_ENODATA:
 * there is no such host, server or service. Blocks for a few seconds at most. */
int verbs_ns_query(const char *node, uint16_t service, struct verbs_ud_name *ret);

/* Tell the server of this host that an endpoint has a service, or has it no longer.
 * Failures are logged: the endpoint works without the name server. */
void verbs_ns_register(struct verbs_ud *ud);
void verbs_ns_unregister(struct verbs_ud *ud);

/* server.c: serve in a thread of this process, until there was a verbs_ns_stop for each
 * verbs_ns_serve. -FI_EBUSY: another process has the port. */
int verbs_ns_serve(void);
void verbs_ns_stop(void);

/* wf_devices.resolve for datagram endpoints. */
int verbs_ud_resolve(const char *node, const char *service, uint64_t flags,
	void **ret_addr, size_t *ret_len);

#endif
