/* SPDX-License-Identifier: BSD-2-Clause */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ns.h"
#include "sys/calls.h"

/* Convert a number, or the name of a service of this host; 0: it is neither. */
static uint16_t resolve_read_service(const char *service)
{
	struct addrinfo ask = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *list = NULL;
	union wf_sockaddr addr;
	uint16_t port = 0;

	if (!wf_sockaddr_parse_port(service, &port))
		return port;
	if (wf_sys_getaddrinfo(NULL, service, &ask, &list))
		return 0;
	if (!wf_sockaddr_read(list->ai_addr, list->ai_addrlen, &addr))
		port = wf_sockaddr_port(&addr);
	freeaddrinfo(list);
	return port;
}

int verbs_ud_resolve(const char *node, const char *service, uint64_t flags,
	void **ret_addr, size_t *ret_len)
{
	struct verbs_ud_name name = { .service = service ? resolve_read_service(service)
							 : 0 };
	bool source = !node || flags & FI_SOURCE;
	int err = 0;

	if (service && !name.service)
		return -FI_ENODATA;
	if (!source)
		err = verbs_params.use_name_server
			      ? verbs_ns_query(node, name.service, &name)
			      : -FI_ENODATA;
	if (err)
		return err;
	*ret_addr = malloc(sizeof(name));
	if (!*ret_addr)
		return -FI_ENOMEM;
	*ret_len = sizeof(name);
	memcpy(*ret_addr, &name, sizeof(name));
	return 0;
}
