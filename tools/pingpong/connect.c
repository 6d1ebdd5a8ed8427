/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How two endpoints find each other. The server opens something with an address first
 * (a listener for MSG, else its endpoint) and sends that address over the control
 * connection. The client, knowing it, asks the library for an interface that reaches
 * it.
 */
#include "connect.h"
#include "../clock.h"
#include "control.h"
#include "message.h"

#include <stdlib.h>

enum { EVENT_TIMEOUT_MS = 10000, CHECK_EVERY_MS = 100 };

static int connect_get_name(struct fid *fid, uint32_t format, struct pp_name *ret_name)
{
	struct pp_name name = { .format = format };
	int ret;

	/* The first call only asks for the length. */
	ret = fi_getname(fid, NULL, &name.len);
	if (ret != -FI_ETOOSMALL || !name.len)
		return pp_fail("fi_getname", ret ? ret : -FI_EINVAL);
	name.addr = calloc(1, name.len);
	if (!name.addr)
		return -FI_ENOMEM;
	ret = fi_getname(fid, name.addr, &name.len);
	if (ret) {
		free(name.addr);
		return pp_fail("fi_getname", ret);
	}
	*ret_name = name;
	return 0;
}

static int connect_tell_name(struct pp_link *link, struct fid *fid)
{
	struct pp_name name = { 0 };
	int ret;

	ret = connect_get_name(fid, link->info->addr_format, &name);
	if (ret)
		return ret;
	ret = pp_control_send_name(link->control, &name);
	free(name.addr);
	return ret;
}

/* Find an interface by the options. */
static int connect_find_local(struct pp_link *link)
{
	struct fi_info *hints = pp_hints_new(link->options);
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	ret = pp_link_getinfo(link, hints);
	fi_freeinfo(hints);
	return ret;
}

/* Find an interface that reaches the address which the server sent. */
static int connect_find_server(struct pp_link *link)
{
	struct pp_name name = { 0 };
	struct fi_info *hints;
	int ret;

	ret = pp_control_recv_name(link->control, &name);
	if (ret)
		return ret;
	hints = pp_hints_new(link->options);
	if (!hints) {
		free(name.addr);
		return -FI_ENOMEM;
	}
	/* fi_freeinfo frees the address too. */
	hints->dest_addr = name.addr;
	hints->dest_addrlen = name.len;
	hints->addr_format = name.format;
	ret = pp_link_getinfo(link, hints);
	fi_freeinfo(hints);
	return ret;
}

static int connect_insert_peer(struct pp_link *link, const void *addr)
{
	int ret;

	ret = fi_av_insert(link->av, addr, 1, &link->peer, 0, NULL);
	if (ret == 1)
		return 0;
	return pp_fail("fi_av_insert", ret < 0 ? ret : -FI_EINVAL);
}

static int connect_insert_client(struct pp_link *link)
{
	struct pp_name name = { 0 };
	int ret;

	ret = pp_control_recv_name(link->control, &name);
	if (ret)
		return ret;
	ret = connect_insert_peer(link, name.addr);
	free(name.addr);
	return ret;
}

static int connect_open_unconnected_server(struct pp_link *link)
{
	int ret;

	ret = connect_find_local(link);
	if (!ret)
		ret = pp_link_open_fabric(link);
	if (!ret)
		ret = pp_link_open_endpoint(link);
	if (!ret)
		ret = connect_tell_name(link, &link->ep->fid);
	return ret ? ret : connect_insert_client(link);
}

static int connect_open_unconnected_client(struct pp_link *link)
{
	int ret;

	ret = connect_find_server(link);
	if (!ret)
		ret = pp_link_open_fabric(link);
	if (!ret)
		ret = pp_link_open_endpoint(link);
	if (!ret)
		ret = connect_insert_peer(link, link->info->dest_addr);
	return ret ? ret : connect_tell_name(link, &link->ep->fid);
}

static int connect_event_error(struct pp_link *link)
{
	struct fi_eq_err_entry entry = { 0 };
	ssize_t n;

	n = fi_eq_readerr(link->eq, &entry, 0);
	if (n < 0)
		return pp_fail("fi_eq_readerr", (int)n);
	return pp_fail("connecting", entry.err > 0 ? -entry.err : -FI_ECONNREFUSED);
}

/* Waits for the event @wanted, as long as the peer is there. */
static int connect_wait_event(
	struct pp_link *link, uint32_t wanted, struct fi_eq_cm_entry *ret_entry)
{
	uint64_t deadline_ns = tool_after_ms(EVENT_TIMEOUT_MS);
	uint32_t event = 0;
	ssize_t n;

	do {
		n = fi_eq_sread(link->eq, &event, ret_entry, sizeof(*ret_entry),
			CHECK_EVERY_MS, 0);
		if (n >= 0 && event == wanted)
			return 0;
		if (n == -FI_EAVAIL)
			return connect_event_error(link);
		if (n >= 0 || (n != -FI_EAGAIN && n != -FI_EINTR && n != -FI_ETIMEDOUT))
			return pp_fail(
				"unexpected event", n < 0 ? (int)n : -FI_ECONNABORTED);
		if (pp_control_state(link->control) == PP_CONTROL_GONE)
			return pp_fail("the peer left", -FI_ECONNRESET);
	} while (tool_now_ns() < deadline_ns);
	return pp_fail("connecting", -FI_ETIMEDOUT);
}

static int connect_open_listener(struct pp_link *link)
{
	int ret;

	ret = connect_find_local(link);
	if (!ret)
		ret = pp_link_open_fabric(link);
	if (ret)
		return ret;
	ret = fi_passive_ep(link->fabric, link->info, &link->pep, NULL);
	if (ret)
		return pp_fail("fi_passive_ep", ret);
	ret = fi_pep_bind(link->pep, &link->eq->fid, 0);
	if (!ret)
		ret = fi_listen(link->pep);
	if (ret)
		return pp_fail("fi_listen", ret);
	return connect_tell_name(link, &link->pep->fid);
}

static int connect_accept_client(struct pp_link *link)
{
	struct fi_eq_cm_entry entry;
	int ret;

	ret = connect_wait_event(link, FI_CONNREQ, &entry);
	if (ret)
		return ret;
	/* The request brings the interface to open its endpoint by. */
	link->listen_info = link->info;
	link->info = entry.info;
	ret = pp_link_open_endpoint(link);
	if (ret)
		return ret;
	ret = fi_accept(link->ep, NULL, 0);
	if (ret)
		return pp_fail("fi_accept", ret);
	return connect_wait_event(link, FI_CONNECTED, &entry);
}

static int connect_to_server(struct pp_link *link)
{
	struct fi_eq_cm_entry entry;
	int ret;

	ret = connect_find_server(link);
	if (!ret)
		ret = pp_link_open_fabric(link);
	if (!ret)
		ret = pp_link_open_endpoint(link);
	if (ret)
		return ret;
	ret = fi_connect(link->ep, link->info->dest_addr, NULL, 0);
	if (ret)
		return pp_fail("fi_connect", ret);
	return connect_wait_event(link, FI_CONNECTED, &entry);
}

static int connect_open_connected_server(struct pp_link *link)
{
	int ret = connect_open_listener(link);

	return ret ? ret : connect_accept_client(link);
}

int pp_link_open(struct pp_link *link)
{
	bool connected;
	int ret;

	ret = pp_link_choose_type(link);
	if (!ret)
		ret = pp_control_open(link->options, &link->control);
	if (ret)
		return ret;
	connected = link->ep_type == FI_EP_MSG;
	if (pp_link_server(link))
		return connected ? connect_open_connected_server(link)
				 : connect_open_unconnected_server(link);
	return connected ? connect_to_server(link)
			 : connect_open_unconnected_client(link);
}
