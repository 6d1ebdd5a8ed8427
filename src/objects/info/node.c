/* SPDX-License-Identifier: BSD-2-Clause */
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "objects/info/call.h"
#include "sys/addrstr.h"
#include "sys/calls.h"

/*
 * The node of fi_getinfo for providers whose endpoints have names. All endpoints are on
 * this machine. Valid nodes are the names of endpoints and the host names that the
 * system resolves; no endpoint can ever have the address of any other node.
 */

static bool node_is_number(const char *node)
{
	return *node && !node[strspn(node, "0123456789")];
}

static bool node_is_own_host(const char *node)
{
	char own[256];

	return !gethostname(own, sizeof(own)) && !strncmp(own, node, sizeof(own));
}

/* Does the system resolve the node? The addresses are not compared with this machine's,
 * whose list may be incomplete. */
static bool node_resolves(const char *node, uint64_t flags)
{
	struct addrinfo ask = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0,
	};
	struct addrinfo *list;

	if (wf_sys_getaddrinfo(node, NULL, &ask, &list))
		return false;
	freeaddrinfo(list);
	return true;
}

int wf_info_node_known(const struct wf_prov *prov, const char *node, uint64_t flags)
{
	if (!node || flags & FI_SOURCE || wf_addrstr_name(node) != node ||
		node_is_number(node) || node_is_own_host(node) ||
		(prov->node_known && prov->node_known(node)) ||
		node_resolves(node, flags))
		return 0;
	FI_LOG(prov->fi, FI_LOG_INFO, FI_LOG_CORE,
		"refused: node: asked %s, possible a number, a host that can be "
		"resolved, what an endpoint of this machine is called now, or any "
		"name as fi_ns://NAME\n",
		node);
	return -FI_ENODATA;
}
