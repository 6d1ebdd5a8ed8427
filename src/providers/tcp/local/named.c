/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/local/named.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "sys/compiler.h"

struct tcp_name {
	fi_addr_t index;
	union wf_sockaddr addr;
};

static ssize_t write_err(struct fid_peer_cq *port, const struct fi_cq_err_entry *entry)
{
	struct tcp_named *named = wf_container_of(port, struct tcp_named, port);
	struct fi_cq_err_entry copy = *entry;
	struct tcp_name *name;

	copy.err_data = NULL;
	copy.err_data_size = 0;
	name = entry->src_addr < named->count ? &named->names[entry->src_addr] : NULL;
	copy.src_addr = name ? name->index : FI_ADDR_NOTAVAIL;
	if (copy.src_addr != FI_ADDR_NOTAVAIL) {
		copy.err_data = &name->addr;
		copy.err_data_size = wf_sockaddr_len(&name->addr);
	}
	return wf_cq_write_err(port->fid.context, &copy);
}

void tcp_named_init(struct tcp_named *named, struct wf_cq *cq)
{
	*named = (struct tcp_named){ 0 };
	wf_cq_export(cq, &named->port);
	named->ops = *named->port.owner_ops;
	named->ops.writeerr = write_err;
	named->port.owner_ops = &named->ops;
}

void tcp_named_done(struct tcp_named *named)
{
	if (named->port.owner_ops)
		wf_cq_unexport(&named->port);
	free(named->names);
}

static int grow(struct tcp_named *named, size_t count)
{
	struct tcp_name *names = realloc(named->names, count * sizeof(*names));

	if (!names)
		return -FI_ENOMEM;
	for (size_t i = named->count; i < count; i++)
		names[i] = (struct tcp_name){ .index = FI_ADDR_NOTAVAIL };
	named->names = names;
	named->count = count;
	return 0;
}

int tcp_named_set(struct tcp_named *named, fi_addr_t below, fi_addr_t index,
	const void *addr, size_t len)
{
	if (!named->port.owner_ops || !addr)
		return 0;
	if (below >= named->count && grow(named, WF_MAX(2 * named->count, below + 1)))
		return -FI_ENOMEM;
	named->names[below] = (struct tcp_name){ .index = index };
	memcpy(&named->names[below].addr, addr,
		WF_MIN(len, sizeof(named->names[below].addr)));
	return 0;
}
