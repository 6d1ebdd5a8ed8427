/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "providers/verbs/cm/cm.h"
#include "sys/fds.h"

int verbs_cm_errno(const char *call)
{
	return verbs_failed(FI_LOG_EP_CTRL, call, errno);
}

/* Each endpoint has a channel, so many endpoints need a higher limit of descriptors. */
static struct rdma_event_channel *channel_create(void)
{
	struct rdma_event_channel *channel = VERBS_RDMA(create_event_channel());

	if (!channel && errno == EMFILE && wf_fds_more())
		channel = VERBS_RDMA(create_event_channel());
	if (channel)
		wf_fds_note(channel->fd);
	return channel;
}

int verbs_channel_open(struct rdma_event_channel **ret)
{
	struct rdma_event_channel *channel;
	int flags;

	if (verbs_lib_load() || !verbs_lib.has_rdma) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"connections need librdmacm, which cannot be loaded\n");
		return -FI_ENODATA;
	}
	channel = channel_create();
	if (!channel)
		return verbs_cm_errno("rdma_create_event_channel");
	flags = fcntl(channel->fd, F_GETFL);
	if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) ||
		fcntl(channel->fd, F_SETFD, FD_CLOEXEC)) {
		int err = verbs_cm_errno("fcntl of an event channel");

		VERBS_RDMA(destroy_event_channel(channel));
		return err;
	}
	*ret = channel;
	return 0;
}

void verbs_channel_close(struct rdma_event_channel *channel)
{
	if (channel)
		VERBS_RDMA(destroy_event_channel(channel));
}

struct rdma_cm_event *verbs_channel_next(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	return VERBS_RDMA(get_cm_event(channel, &event)) ? NULL : event;
}

int verbs_channel_bind(struct rdma_event_channel *channel, const union wf_sockaddr *own,
	struct rdma_cm_id **ret)
{
	union wf_sockaddr copy = *own; /* librdmacm takes a pointer to non-const */
	struct rdma_cm_id *id;
	int err;

	if (VERBS_RDMA(create_id(channel, &id, NULL, RDMA_PS_TCP)))
		return verbs_cm_errno("rdma_create_id");
	if (VERBS_RDMA(bind_addr(id, &copy.sa))) {
		err = verbs_cm_errno("rdma_bind_addr");
		(void)VERBS_RDMA(destroy_id(id));
		return err;
	}
	*ret = id;
	return 0;
}

static void channel_take_addr(
	const struct sockaddr_storage *addr, union wf_sockaddr *ret)
{
	if (wf_sockaddr_read(addr, sizeof(*addr), ret))
		memset(ret, 0, sizeof(*ret));
}

void verbs_id_own(const struct rdma_cm_id *id, union wf_sockaddr *ret)
{
	channel_take_addr(&id->route.addr.src_storage, ret);
}

void verbs_id_peer(const struct rdma_cm_id *id, union wf_sockaddr *ret)
{
	channel_take_addr(&id->route.addr.dst_storage, ret);
}
