/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loadable provider with datagrams over UDP, as another project would write it, using
 * only the public headers. It does what a layer above must not take amiss: fi_sendmsg
 * writes a completion also where none was asked for, with the context that it got;
 * completions have no flags; a datagram that was cut has its true length; and there are
 * neither multi-receive buffers nor descriptors to wait on. It refuses the posts that
 * the test names (refused_posts.h), and injects nothing with TESTDGRAM_NO_INJECT in the
 * environment.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "../refused_posts.h"

__attribute__((visibility("default"))) struct posts testdgram_posts;

enum { RX_SIZE = 64, QUEUE = 4096, PEERS = 64, MTU = 1472 };

/* One process, one thread at a time: everything is static in size. */
struct end;

struct queue {
	struct fid_cq fid;
	struct end *end;
	struct fi_cq_data_entry entries[QUEUE];
	fi_addr_t sources[QUEUE];
	unsigned int head, tail;
};

struct book {
	struct fid_av fid;
	struct sockaddr_in names[PEERS];
	size_t count;
};

struct end {
	struct fid_ep fid;
	int fd;
	struct queue *queue;
	struct book *book;
	struct iovec posted[RX_SIZE];
	void *contexts[RX_SIZE];
	unsigned int head, tail;
};

static int no_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int free_fid(struct fid *fid)
{
	free(fid);
	return 0;
}

/* ---- address vector */

static int book_insert(struct fid_av *fid, const void *addr, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct book *book = (struct book *)fid;

	if (book->count + count > PEERS)
		return -FI_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		fi_addr[i] = book->count;
		book->names[book->count++] = ((const struct sockaddr_in *)addr)[i];
	}
	return (int)count;
}

static int book_remove(
	struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	return 0;
}

static fi_addr_t book_find(const struct book *book, const struct sockaddr_in *name)
{
	for (size_t i = 0; i < book->count; i++)
		if (book->names[i].sin_port == name->sin_port &&
			book->names[i].sin_addr.s_addr == name->sin_addr.s_addr)
			return i;
	return FI_ADDR_NOTAVAIL;
}

static struct fi_ops book_fid_ops = { .size = sizeof(struct fi_ops),
	.close = free_fid };
static struct fi_ops_av book_ops = {
	.size = sizeof(struct fi_ops_av), .insert = book_insert, .remove = book_remove
};

static int open_book(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	struct book *book = calloc(1, sizeof(*book));

	if (!book)
		return -FI_ENOMEM;
	book->fid.fid = (struct fid){ FI_CLASS_AV, context, &book_fid_ops };
	book->fid.ops = &book_ops;
	*ret_av = &book->fid;
	return 0;
}

/* ---- completion queue */

static void complete(struct queue *queue, void *context, size_t len, fi_addr_t source)
{
	unsigned int at = queue->head++ % QUEUE;

	queue->entries[at] =
		(struct fi_cq_data_entry){ .op_context = context, .len = len };
	queue->sources[at] = source;
}

/* Receive one datagram; false: there is none. */
static int receive(struct end *end)
{
	unsigned int at = end->tail % RX_SIZE;
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n;

	if (end->head == end->tail || end->queue->head - end->queue->tail == QUEUE)
		return 0;
	n = recvfrom(end->fd, end->posted[at].iov_base, end->posted[at].iov_len,
		MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &from_len);
	if (n < 0)
		return 0;
	end->tail++;
	complete(end->queue, end->contexts[at], (size_t)n, book_find(end->book, &from));
	return 1;
}

static ssize_t queue_readfrom(
	struct fid_cq *fid, void *buf, size_t count, fi_addr_t *sources)
{
	struct queue *queue = (struct queue *)fid;
	struct fi_cq_data_entry *to = buf;
	size_t n = 0;

	while (receive(queue->end))
		;
	for (; n < count && queue->tail != queue->head; n++) {
		unsigned int at = queue->tail++ % QUEUE;

		to[n] = queue->entries[at];
		if (sources)
			sources[n] = queue->sources[at];
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t queue_read(struct fid_cq *fid, void *buf, size_t count)
{
	return queue_readfrom(fid, buf, count, NULL);
}

static ssize_t queue_readerr(
	struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	return -FI_EAGAIN;
}

static struct fi_ops queue_fid_ops = { .size = sizeof(struct fi_ops),
	.close = free_fid };
static struct fi_ops_cq queue_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = queue_read,
	.readfrom = queue_readfrom,
	.readerr = queue_readerr,
};

static int open_queue(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	struct queue *queue;

	if (attr->wait_obj != FI_WAIT_NONE || attr->format > FI_CQ_FORMAT_DATA)
		return -FI_ENOSYS;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -FI_ENOMEM;
	queue->fid.fid = (struct fid){ FI_CLASS_CQ, context, &queue_fid_ops };
	queue->fid.ops = &queue_ops;
	*ret_cq = &queue->fid;
	return 0;
}

/* ---- endpoint */

static ssize_t post(
	struct end *end, const struct iovec *iov, size_t count, void *context)
{
	int err = posts_refused(&testdgram_posts, POST_RECV);

	if (err)
		return err;
	if (count != 1 || end->head - end->tail == RX_SIZE)
		return count == 1 ? -FI_EAGAIN : -FI_EINVAL;
	end->posted[end->head % RX_SIZE] = *iov;
	end->contexts[end->head++ % RX_SIZE] = context;
	return 0;
}

static ssize_t end_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t from, void *context)
{
	const struct iovec iov = { buf, len };

	return post((struct end *)fid, &iov, 1, context);
}

static ssize_t end_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return post((struct end *)fid, msg->msg_iov, msg->iov_count, msg->context);
}

static ssize_t end_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct end *end = (struct end *)fid;
	const struct msghdr hdr = { .msg_name = &end->book->names[msg->addr],
		.msg_namelen = sizeof(end->book->names[0]),
		.msg_iov = (struct iovec *)(uintptr_t)msg->msg_iov,
		.msg_iovlen = msg->iov_count };
	int err = posts_refused(&testdgram_posts, POST_SEND);
	ssize_t n;

	if (err)
		return err;
	n = sendmsg(end->fd, &hdr, 0);
	if (n < 0)
		return -errno;
	complete(end->queue, msg->context, (size_t)n, FI_ADDR_NOTAVAIL);
	return 0;
}

static ssize_t end_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to)
{
	struct end *end = (struct end *)fid;
	int err = posts_refused(&testdgram_posts, POST_INJECT);
	ssize_t n;

	if (err)
		return err;
	n = sendto(end->fd, buf, len, 0, (struct sockaddr *)&end->book->names[to],
		sizeof(end->book->names[to]));
	return n < 0 ? -errno : 0;
}

static int end_getname(fid_t fid, void *addr, size_t *len)
{
	socklen_t full = sizeof(struct sockaddr_in);
	int ret = getsockname(((struct end *)fid)->fd, addr, &full);

	*len = full;
	return ret ? -errno : 0;
}

static int end_bind(struct fid *fid, struct fid *with, uint64_t flags)
{
	struct end *end = (struct end *)fid;

	if (with->fclass == FI_CLASS_AV) {
		end->book = (struct book *)with;
	} else {
		end->queue = (struct queue *)with;
		end->queue->end = end;
	}
	return 0;
}

static int end_close(struct fid *fid)
{
	close(((struct end *)fid)->fd);
	return free_fid(fid);
}

static struct fi_ops end_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = end_close,
	.bind = end_bind,
	.control = no_control,
};
static struct fi_ops_cm end_cm = { .size = sizeof(struct fi_ops_cm),
	.getname = end_getname };
static struct fi_ops_msg end_msg = {
	.size = sizeof(struct fi_ops_msg),
	.recv = end_recv,
	.recvmsg = end_recvmsg,
	.sendmsg = end_sendmsg,
	.inject = end_inject,
};

static int open_end(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	struct end *end = calloc(1, sizeof(*end));

	if (!end)
		return -FI_ENOMEM;
	end->fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (end->fd < 0 || bind(end->fd, info->src_addr, sizeof(struct sockaddr_in))) {
		free(end);
		return -FI_EADDRNOTAVAIL;
	}
	end->fid.fid = (struct fid){ FI_CLASS_EP, context, &end_fid_ops };
	end->fid.cm = &end_cm;
	end->fid.msg = &end_msg;
	*ret_ep = &end->fid;
	return 0;
}

/* ---- domain, fabric, provider */

static struct fi_ops plain_fid_ops = { .size = sizeof(struct fi_ops),
	.close = free_fid };
static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = open_book,
	.cq_open = open_queue,
	.endpoint = open_end,
};

static int open_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	struct fid_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return -FI_ENOMEM;
	domain->fid = (struct fid){ FI_CLASS_DOMAIN, context, &plain_fid_ops };
	domain->ops = &domain_ops;
	*ret_domain = domain;
	return 0;
}

static struct fi_ops_fabric fabric_ops = { .size = sizeof(struct fi_ops_fabric),
	.domain = open_domain };

static int open_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid = (struct fid){ FI_CLASS_FABRIC, context, &plain_fid_ops };
	fabric->ops = &fabric_ops;
	*ret_fabric = fabric;
	return 0;
}

static int module_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct sockaddr_in *addr = calloc(1, sizeof(*addr));
	struct fi_info *info = fi_allocinfo();

	if (!info || !addr)
		return -FI_ENOMEM;
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	info->caps =
		FI_MSG | FI_SEND | FI_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = addr;
	info->src_addrlen = sizeof(*addr);
	info->ep_attr->type = FI_EP_DGRAM;
	info->ep_attr->protocol = FI_PROTO_UDP;
	info->ep_attr->max_msg_size = MTU;
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	info->tx_attr->caps = FI_MSG | FI_SEND;
	info->tx_attr->inject_size = getenv("TESTDGRAM_NO_INJECT") ? 0 : MTU;
	info->tx_attr->iov_limit = 8;
	info->tx_attr->size = info->rx_attr->size = RX_SIZE;
	info->rx_attr->caps = FI_MSG | FI_RECV | FI_SOURCE;
	info->rx_attr->iov_limit = 1;
	info->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->control_progress = FI_PROGRESS_AUTO;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->domain_attr->av_type = FI_AV_UNSPEC;
	info->domain_attr->name = strdup("lo");
	info->domain_attr->cq_cnt = info->domain_attr->ep_cnt = 64;
	info->domain_attr->tx_ctx_cnt = info->domain_attr->rx_ctx_cnt = 64;
	info->domain_attr->max_ep_tx_ctx = info->domain_attr->max_ep_rx_ctx = 1;
	info->fabric_attr->name = strdup("test");
	*ret_info = info;
	return 0;
}

static struct fi_provider module = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(2, 0),
	.name = "testdgram",
	.getinfo = module_getinfo,
	.fabric = open_fabric,
};

struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	return &module;
}
