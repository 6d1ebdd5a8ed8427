/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/cm/msg_cm.h"

/* Guards @open_reqs. A leaf: nothing is called under it. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list open_reqs = { &open_reqs, &open_reqs };

struct tcp_connreq *tcp_connreq_new(struct fid_pep *pep, int fd,
	const union wf_sockaddr *peer, const struct tcp_cm *cm)
{
	struct tcp_connreq *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (req->epfd < 0) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"a connection request is rejected: %s\n", strerror(errno));
		free(req);
		return NULL;
	}
	req->handle.fclass = FI_CLASS_CONNREQ;
	req->pep = pep;
	req->fd = fd;
	req->peer = *peer;
	req->cm = *cm;
	pthread_mutex_lock(&open_lock);
	wf_list_push(&open_reqs, &req->link);
	pthread_mutex_unlock(&open_lock);
	return req;
}

static struct tcp_connreq *take(struct fid *handle, struct fid_pep *pep)
{
	struct tcp_connreq *found = NULL;

	pthread_mutex_lock(&open_lock);
	wf_list_foreach(link, &open_reqs)
	{
		struct tcp_connreq *req = wf_list_entry(link, struct tcp_connreq, link);

		if (handle ? &req->handle == handle : req->pep == pep) {
			wf_list_remove(&req->link);
			found = req;
			break;
		}
	}
	pthread_mutex_unlock(&open_lock);
	return found;
}

struct tcp_connreq *tcp_connreq_take(struct fid *handle)
{
	return handle ? take(handle, NULL) : NULL;
}

struct tcp_connreq *tcp_connreq_take_any(struct fid_pep *pep)
{
	return take(NULL, pep);
}

void tcp_connreq_free(struct tcp_connreq *req)
{
	if (req->fd >= 0)
		(void)close(req->fd);
	if (req->epfd >= 0)
		(void)close(req->epfd);
	free(req);
}
