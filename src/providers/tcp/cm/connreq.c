/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/cm/pep.h"
#include "sys/calls.h"
#include "sys/fds.h"

struct tcp_connreq *tcp_connreq_new(
	int fd, const union wf_sockaddr *peer, const struct tcp_cm *cm)
{
	struct tcp_connreq *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->epfd = wf_epoll();
	if (req->epfd < 0) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"a connection request is rejected: %s\n", strerror(errno));
		free(req);
		return NULL;
	}
	req->fd = fd;
	req->peer = *peer;
	req->cm = *cm;
	return req;
}

void tcp_connreq_free(struct tcp_connreq *req)
{
	if (req->fd >= 0)
		(void)wf_sys_close(req->fd);
	if (req->epfd >= 0)
		wf_fds_close(req->epfd);
	free(req);
}

void tcp_connreq_reject(struct wf_cm_request *base, enum wf_cm_reason reason,
	const void *data, size_t len)
{
	struct tcp_connreq *req = tcp_connreq_of(base);

	(void)tcp_cm_reject(&req->cm,
		reason == WF_CM_BUSY ? TCP_REASON_BUSY : TCP_REASON_REFUSED, data, len);
	(void)shutdown(req->fd, SHUT_RDWR);
	tcp_connreq_free(req);
}
