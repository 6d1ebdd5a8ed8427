/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "objects/info/info.h"
#include "providers/tcp/listen.h"
#include "providers/tcp/msg_cm.h"
#include "sys/clock.h"

/*
 * Passive endpoints. They belong to no domain: whoever reads their event queue accepts
 * connections and reads requests. A request that is complete becomes an event, and
 * nothing more is read from its socket until the application answers.
 *
 * @lock guards everything; a leaf but for the event queue's own.
 */
struct tcp_pep {
	struct fid_pep fid;
	struct wf_fabric *fabric;
	struct fi_info *info;
	struct wf_eq *eq;
	struct wf_progress progress;
	struct wf_lock lock;
	struct tcp_netconf conf;
	union wf_sockaddr name;
	struct tcp_listener listener;
	int epfd;
	bool listening, taken; /* its address is an active endpoint's now */
	int backlog;           /* requests that may be open; 0: no limit of ours */
	struct wf_list asks; /* who connected and is being listened to, oldest first */
	unsigned int ask_count;
};

struct ask {
	struct wf_list link;
	int fd;
	union wf_sockaddr from;
	struct tcp_cm cm;
	bool rejecting;
};

enum { ACCEPTS = 64, EVENTS_MAX = 64 };

static struct tcp_pep *pep_of(struct fid *fid)
{
	return wf_container_of(fid, struct tcp_pep, fid.fid);
}

static int refuse(const char *call, int err, const char *why)
{
	tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "%s refused: %s\n", call, why);
	return err;
}

static void ask_drop(struct tcp_pep *pep, struct ask *ask)
{
	pep->ask_count--;
	wf_list_remove(&ask->link);
	if (ask->fd >= 0)
		(void)close(ask->fd);
	free(ask);
}

/* What an active endpoint for this request is opened with. */
static struct fi_info *info_for(struct tcp_pep *pep, struct tcp_connreq *req)
{
	struct fi_info *info = fi_dupinfo(pep->info);
	size_t len = wf_sockaddr_len(&req->peer);
	union wf_sockaddr own;
	socklen_t own_len = sizeof(own);

	if (!info)
		return NULL;
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = malloc(len);
	info->dest_addr = malloc(len);
	if (!info->src_addr || !info->dest_addr ||
		getsockname(req->fd, &own.sa, &own_len)) {
		fi_freeinfo(info);
		return NULL;
	}
	memcpy(info->src_addr, &own, len);
	memcpy(info->dest_addr, &req->peer, len);
	info->src_addrlen = len;
	info->dest_addrlen = len;
	info->handle = &req->handle;
	return info;
}

static int tell(struct tcp_pep *pep, struct tcp_connreq *req)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + TCP_CM_DATA_MAX];
	} event = { .entry.fid = &pep->fid.fid };
	size_t len = req->cm.msg.data_len;
	ssize_t ret;

	event.entry.info = info_for(pep, req);
	if (!event.entry.info)
		return -FI_ENOMEM;
	memcpy(event.entry.data, tcp_cm_data(&req->cm), len);
	ret = wf_eq_write(pep->eq, FI_CONNREQ, &event, sizeof(event.entry) + len);
	if (ret < 0)
		fi_freeinfo(event.entry.info);
	return ret < 0 ? (int)ret : 0;
}

/* The request is complete: from now on it is the application's. */
static void hand_over(struct tcp_pep *pep, struct ask *ask)
{
	struct tcp_connreq *req;

	(void)epoll_ctl(pep->epfd, EPOLL_CTL_DEL, ask->fd, NULL);
	req = tcp_connreq_new(&pep->fid, ask->fd, &ask->from, &ask->cm);
	if (req) {
		ask->fd = -1;
		if (tell(pep, req) && tcp_connreq_take(&req->handle))
			tcp_connreq_free(req);
	} else {
		(void)tcp_cm_reject(&ask->cm, TCP_REASON_BUSY, NULL, 0);
		(void)shutdown(ask->fd, SHUT_RDWR);
	}
	ask_drop(pep, ask);
}

static void ask_go_on(struct tcp_pep *pep, struct ask *ask, int ret)
{
	struct epoll_event event = { .data.ptr = ask };

	if (ret > 0 && ask->cm.state == TCP_CM_ASKED) {
		hand_over(pep, ask);
	} else if (ret) {
		(void)shutdown(ask->fd, SHUT_RDWR);
		ask_drop(pep, ask);
	} else {
		event.events = tcp_cm_events(&ask->cm);
		(void)epoll_ctl(pep->epfd, EPOLL_CTL_MOD, ask->fd, &event);
	}
}

static void accept_one(struct tcp_pep *pep, int fd, const union wf_sockaddr *from)
{
	struct tcp_cm_own own = {
		.features = tcp_msg_features(pep->info),
		.instance = tcp_msg_instance(),
		.timeout_ms = pep->conf.connect_ms,
	};
	struct epoll_event event = { .events = EPOLLIN };
	struct ask *ask = calloc(1, sizeof(*ask));

	if (!ask) {
		(void)close(fd);
		return;
	}
	ask->fd = fd;
	ask->from = *from;
	wf_list_push(&pep->asks, &ask->link);
	pep->ask_count++;
	event.data.ptr = ask;
	if (epoll_ctl(pep->epfd, EPOLL_CTL_ADD, fd, &event)) {
		ask_drop(pep, ask);
		return;
	}
	tcp_cm_start_passive(&ask->cm, fd, &own);
	ask_go_on(pep, ask, tcp_cm_progress(&ask->cm));
}

static void accept_all(struct tcp_pep *pep)
{
	union wf_sockaddr from;
	int fd;

	for (int i = 0; i < ACCEPTS; i++) {
		if (tcp_listener_accept(&pep->listener, &pep->conf,
			    pep->info->tx_attr->tclass, &fd, &from))
			return;
		accept_one(pep, fd, &from);
	}
}

static void drop_silent(struct tcp_pep *pep, struct ask *ask)
{
	tcp_cm_log_silent(&ask->cm);
	ask_drop(pep, ask);
}

static bool make_room(struct tcp_listener *listener)
{
	struct tcp_pep *pep = wf_container_of(listener, struct tcp_pep, listener);
	struct ask *ask;

	if (wf_list_empty(&pep->asks))
		return false;
	ask = wf_list_entry(pep->asks.next, struct ask, link);
	if (!tcp_cm_silent(&ask->cm, wf_now_ns()))
		return false;
	drop_silent(pep, ask);
	return true;
}

static void check_deadlines(struct tcp_pep *pep)
{
	uint64_t now;

	if (wf_list_empty(&pep->asks))
		return;
	now = wf_now_ns();
	wf_list_foreach_safe(link, &pep->asks)
	{
		struct ask *ask = wf_list_entry(link, struct ask, link);

		if (now >= ask->cm.deadline_ns)
			ask_go_on(pep, ask, tcp_cm_progress(&ask->cm));
		else if (pep->ask_count > TCP_SILENT_MAX &&
			 tcp_cm_silent(&ask->cm, now))
			drop_silent(pep, ask);
	}
}

static struct tcp_pep *pep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct tcp_pep, progress);
}

static void pep_run(struct wf_progress *item)
{
	struct tcp_pep *pep = pep_of_item(item);
	struct epoll_event events[EVENTS_MAX];
	bool ready = false;
	int n;

	if (!wf_trylock(&pep->lock))
		return;
	n = epoll_wait(pep->epfd, events, EVENTS_MAX, 0);
	/* Requests first: accepting may end some of them. */
	for (int i = 0; i < n; i++) {
		struct ask *ask = events[i].data.ptr;

		if (ask)
			ask_go_on(pep, ask, tcp_cm_progress(&ask->cm));
		else
			ready = true;
	}
	if (ready)
		accept_all(pep);
	check_deadlines(pep);
	wf_unlock(&pep->lock);
}

static int pep_wait_fd(struct wf_progress *item)
{
	return pep_of_item(item)->epfd;
}

/* ---- calls ---- */

static int start_listening(struct tcp_pep *pep)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	int ret;

	if (pep->listener.fd >= 0)
		return 0;
	ret = tcp_listen(&pep->listener, &pep->name, &pep->conf);
	if (ret)
		return ret;
	if (epoll_ctl(pep->epfd, EPOLL_CTL_ADD, pep->listener.fd, &event)) {
		ret = -errno;
		tcp_listener_close(&pep->listener);
		return ret;
	}
	pep->listener.make_room = make_room;
	if (pep->backlog)
		(void)listen(pep->listener.fd, pep->backlog);
	pep->name = pep->listener.name;
	return 0;
}

static int pep_listen(struct fid_pep *fid)
{
	struct tcp_pep *pep = pep_of(&fid->fid);
	int ret;

	if (!pep->eq)
		return refuse("fi_listen", -FI_ENOEQ, "no event queue is bound");
	wf_lock(&pep->lock);
	if (pep->taken || pep->listening)
		ret = refuse("fi_listen", -FI_EOPBADSTATE,
			"it listens already, or its address was taken over");
	else
		ret = start_listening(pep);
	if (!ret)
		pep->listening = true;
	wf_unlock(&pep->lock);
	if (ret)
		return ret;
	ret = wf_progress_list_add(&pep->eq->progress, &pep->progress);
	if (ret)
		pep->listening = false;
	return ret;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	struct tcp_connreq *req;

	(void)fid;
	if (len && !param)
		return -FI_EINVAL;
	req = tcp_connreq_take(handle);
	if (!req)
		return refuse("fi_reject", -FI_EINVAL,
			"handle is not a connection request that is open");
	(void)tcp_cm_reject(&req->cm, TCP_REASON_REFUSED, param,
		WF_MIN(len, (size_t)TCP_CM_DATA_MAX));
	(void)shutdown(req->fd, SHUT_RDWR);
	tcp_connreq_free(req);
	return 0;
}

static int pep_setname(fid_t fid, void *addr, size_t len)
{
	struct tcp_pep *pep = pep_of(fid);
	union wf_sockaddr name;
	int ret = 0;

	if (wf_sockaddr_read(addr, len, &name) ||
		name.sa.sa_family != pep->name.sa.sa_family)
		return refuse("fi_setname", -FI_EINVAL,
			"not an address in the endpoint's format");
	wf_lock(&pep->lock);
	if (pep->listening || pep->taken) {
		ret = refuse("fi_setname", -FI_EOPBADSTATE, "it listens already");
	} else {
		if (pep->listener.fd >= 0)
			tcp_listener_close(&pep->listener);
		pep->name = name;
		ret = start_listening(pep);
	}
	wf_unlock(&pep->lock);
	return ret;
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	struct tcp_pep *pep = pep_of(fid);
	size_t room, size;

	if (!len || (*len && !addr))
		return -FI_EINVAL;
	wf_lock(&pep->lock);
	size = wf_sockaddr_len(&pep->name);
	room = *len;
	*len = size;
	if (addr)
		memcpy(addr, &pep->name, WF_MIN(room, size));
	wf_unlock(&pep->lock);
	return room < size ? -FI_ETOOSMALL : 0;
}

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(pep_cm_ops),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = wf_absent_cm_getpeer,
	.connect = wf_absent_cm_connect,
	.listen = pep_listen,
	.accept = wf_absent_cm_accept,
	.reject = pep_reject,
	.shutdown = wf_absent_cm_shutdown,
	.join = wf_absent_cm_join,
};

static int pep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	(void)fid;
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (!val || !len)
		return -FI_EINVAL;
	if (*len < sizeof(size_t)) {
		*len = sizeof(size_t);
		return -FI_ETOOSMALL;
	}
	*len = sizeof(size_t);
	*(size_t *)val = TCP_CM_DATA_MAX;
	return 0;
}

static struct fi_ops_ep pep_ep_ops = {
	.size = sizeof(pep_ep_ops),
	.cancel = wf_absent_ep_cancel,
	.getopt = pep_getopt,
	.setopt = wf_absent_ep_setopt,
	.tx_ctx = wf_absent_ep_tx_ctx,
	.rx_ctx = wf_absent_ep_rx_ctx,
	.rx_size_left = wf_absent_ep_rx_size_left,
	.tx_size_left = wf_absent_ep_tx_size_left,
	.export_xpu = wf_absent_ep_export_xpu,
};

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct tcp_pep *pep = pep_of(fid);
	struct wf_eq *eq;

	if (!bfid || bfid->fclass != FI_CLASS_EQ)
		return refuse("fi_pep_bind", -FI_EINVAL, "only an EQ can be bound");
	if (flags)
		return refuse("fi_pep_bind", -FI_EBADFLAGS, "an EQ takes no flags");
	eq = wf_container_of(bfid, struct wf_eq, fid.fid);
	if (eq->fabric != pep->fabric || pep->eq)
		return refuse("fi_pep_bind", -FI_EINVAL,
			"one EQ of the same fabric can be bound");
	pep->eq = eq;
	atomic_fetch_add_explicit(&eq->refs, 1, memory_order_relaxed);
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct tcp_pep *pep = pep_of(fid);

	if (command != FI_BACKLOG)
		return -FI_ENOSYS;
	if (!arg || *(int *)arg < 0)
		return refuse("FI_BACKLOG", -FI_EINVAL, "not a number of requests");
	wf_lock(&pep->lock);
	pep->backlog = *(int *)arg;
	if (pep->listener.fd >= 0)
		(void)listen(pep->listener.fd,
			pep->backlog ? pep->backlog : TCP_LISTEN_BACKLOG);
	wf_unlock(&pep->lock);
	return 0;
}

/* Requests that nobody answered are rejected: there is nobody left to do it. */
static int pep_close(struct fid *fid)
{
	struct tcp_pep *pep = pep_of(fid);
	struct tcp_connreq *req;

	if (pep->listening && pep->eq)
		wf_progress_list_del(&pep->eq->progress, &pep->progress);
	while ((req = tcp_connreq_take_any(&pep->fid))) {
		(void)tcp_cm_reject(&req->cm, TCP_REASON_REFUSED, NULL, 0);
		(void)shutdown(req->fd, SHUT_RDWR);
		tcp_connreq_free(req);
	}
	while (!wf_list_empty(&pep->asks))
		ask_drop(pep, wf_list_entry(pep->asks.next, struct ask, link));
	if (pep->listener.fd >= 0)
		tcp_listener_close(&pep->listener);
	(void)close(pep->epfd);
	/* release: pairs with the acquire in the queue's close. */
	if (pep->eq)
		atomic_fetch_sub_explicit(&pep->eq->refs, 1, memory_order_release);
	atomic_fetch_sub_explicit(&pep->fabric->refs, 1, memory_order_release);
	wf_lock_done(&pep->lock);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(pep_fid_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
	.ops_open = wf_absent_ops_open,
	.tostr = wf_absent_tostr,
	.ops_set = wf_absent_ops_set,
};

int tcp_pep_take_name(struct fid *handle, int family, union wf_sockaddr *ret)
{
	struct tcp_pep *pep = pep_of(handle);
	int ret_code = 0;

	if (handle->ops != &pep_fid_ops)
		return refuse("fi_endpoint", -FI_EINVAL,
			"info->handle is another provider's passive endpoint");
	wf_lock(&pep->lock);
	if (pep->name.sa.sa_family != family) {
		ret_code = refuse("fi_endpoint", -FI_EINVAL,
			"the passive endpoint's address is of another family");
	} else if (pep->listening || pep->taken) {
		ret_code = refuse("fi_endpoint", -FI_EINVAL,
			"the passive endpoint listens, or was taken over before");
	} else {
		if (pep->listener.fd >= 0)
			tcp_listener_close(&pep->listener);
		pep->taken = true;
		*ret = pep->name;
	}
	wf_unlock(&pep->lock);
	return ret_code;
}

static int init_name(struct tcp_pep *pep, const struct fi_info *info)
{
	int family = info->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;

	pep->name = wf_sockaddr_any(family);
	if (info->src_addr &&
		(wf_sockaddr_read(info->src_addr, info->src_addrlen, &pep->name) ||
			pep->name.sa.sa_family != family))
		return refuse("fi_passive_ep", -FI_EINVAL,
			"src_addr is not an address in addr_format");
	return 0;
}

int tcp_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context)
{
	struct tcp_pep *pep;
	int ret;

	ret = wf_info_check(&tcp_prov, fabric->api_version, info);
	if (ret)
		return ret;
	if (info->ep_attr && info->ep_attr->type != FI_EP_MSG)
		return refuse("fi_passive_ep", -FI_EINVAL,
			"only FI_EP_MSG endpoints are connected");
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	ret = init_name(pep, info);
	if (ret)
		goto err_free;
	pep->info = fi_dupinfo(info);
	if (!pep->info) {
		ret = -FI_ENOMEM;
		goto err_free;
	}
	ret = wf_lock_init(&pep->lock, WF_LOCK_MUTEX);
	if (ret)
		goto err_info;
	pep->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (pep->epfd < 0) {
		ret = -errno;
		goto err_lock;
	}
	pep->fid = (struct fid_pep){
		.fid = { FI_CLASS_PEP, context, &pep_fid_ops },
		.ops = &pep_ep_ops,
		.cm = &pep_cm_ops,
	};
	pep->fabric = wf_fabric_of(fabric);
	pep->conf = tcp_netconf_read();
	pep->listener.fd = -1;
	pep->progress = (struct wf_progress){ .run = pep_run, .wait_fd = pep_wait_fd };
	wf_list_init(&pep->asks);
	atomic_fetch_add_explicit(&pep->fabric->refs, 1, memory_order_relaxed);
	*ret_pep = &pep->fid;
	return 0;

err_lock:
	wf_lock_done(&pep->lock);
err_info:
	fi_freeinfo(pep->info);
err_free:
	free(pep);
	return ret;
}
