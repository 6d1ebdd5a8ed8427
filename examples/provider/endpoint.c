/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "loop.h"
#include "objects/endpoint/life/name.h"
#include "sys/calls.h"

/* Endpoints: opened, enabled, moved and closed. */

pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list endpoints = { &endpoints, &endpoints }; /* enabled ones */

struct loop_ep *loop_find(const char *name, size_t len)
{
	wf_list_foreach(it, &endpoints)
	{
		struct loop_ep *ep = wf_list_entry(it, struct loop_ep, link);

		if (!strncmp(ep->name, name, len))
			return ep;
	}
	return NULL;
}

bool loop_node_known(const char *node)
{
	char name[WF_ADDRSTR_MAX];
	bool known;

	(void)snprintf(name, sizeof(name), WF_ADDRSTR_LOCAL "%s:", node);
	pthread_mutex_lock(&loop_lock);
	known = loop_find(name, strlen(name));
	pthread_mutex_unlock(&loop_lock);
	return known;
}

void loop_put(struct loop_ep *ep, struct loop_op *op)
{
	const uint64_t one = 1;

	if (wf_list_empty(&ep->inbox))
		(void)!wf_sys_write(ep->event_fd, &one, sizeof(one));
	wf_list_push(&ep->inbox, &op->link);
}

static struct loop_op *take(struct loop_ep *ep)
{
	struct wf_list *it;
	uint64_t value;

	pthread_mutex_lock(&loop_lock);
	it = wf_list_pop(&ep->inbox);
	if (it && wf_list_empty(&ep->inbox))
		(void)!wf_sys_read(ep->event_fd, &value, sizeof(value));
	pthread_mutex_unlock(&loop_lock);
	return it ? wf_list_entry(it, struct loop_op, link) : NULL;
}

static void loop_progress(struct wf_ep *wf)
{
	struct loop_ep *ep = loop_ep_of(wf);
	struct loop_op *op;

	for (int i = 0; i < 64 && (op = take(ep)); i++) {
		if (op->err >= 0)
			loop_complete(ep, op);
		else
			loop_serve(op);
		wf_progress_found_some(&wf->progress);
	}
}

static int loop_wait_fd(struct wf_ep *wf)
{
	return loop_ep_of(wf)->event_fd;
}

static int loop_enable(struct wf_ep *wf)
{
	struct loop_ep *ep = loop_ep_of(wf);
	static uint64_t last_id;
	bool taken;

	if (ep->event_fd < 0)
		ep->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ep->event_fd < 0)
		return -errno;
	pthread_mutex_lock(&loop_lock);
	taken = loop_find(ep->name, sizeof(ep->name));
	if (!taken) {
		ep->id = ++last_id;
		wf_list_push(&endpoints, &ep->link);
	}
	pthread_mutex_unlock(&loop_lock);
	if (!taken)
		return 0;
	FI_LOG(&loop_fi, FI_LOG_WARN, FI_LOG_EP_CTRL, "%s is in use\n", ep->name);
	return -FI_EADDRINUSE;
}

static int loop_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	return wf_name_text_read(&loop_fi, addr, len, loop_ep_of(wf)->name);
}

static int loop_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	return wf_name_text_give(loop_ep_of(wf)->name, addr, len);
}

static void loop_destroy(struct wf_ep *wf)
{
	struct loop_ep *ep = loop_ep_of(wf);
	struct loop_op *op;

	pthread_mutex_lock(&loop_lock);
	wf_list_remove(&ep->link);
	pthread_mutex_unlock(&loop_lock);
	/* No endpoint finds us any more, so nothing is added to the inbox. */
	while ((op = take(ep)))
		if (op->err >= 0)
			free(op);
		else
			loop_end(op, FI_ECONNRESET);
	if (ep->event_fd >= 0)
		(void)wf_sys_close(ep->event_fd);
	wf_ep_free(wf);
}

static const struct wf_xfer_ops loop_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = loop_start,
	.progress = loop_progress,
	.wait_fd = loop_wait_fd,
	.srx_ops = &loop_message_ops,
	.srx_addr = loop_message_addr,
	.enable = loop_enable,
	.setname = loop_setname,
	.getname = loop_getname,
	.destroy = loop_destroy,
};

int loop_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context)
{
	struct loop_ep *ep;
	struct wf_ep *wf;
	int ret = wf_ep_new(sizeof(*ep), domain, info, &loop_xfer_ops, context, &wf);

	if (ret)
		return ret;
	ep = loop_ep_of(wf);
	ret = wf_name_text_first(&loop_fi, info, ep->name);
	if (ret) {
		wf_ep_free(wf);
		return ret;
	}
	wf_list_init(&ep->link);
	wf_list_init(&ep->inbox);
	ep->event_fd = -1;
	*ret_ep = &ep->ep.fid;
	return 0;
}
