/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_H
#define UDP_H

#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "sys/sockaddr.h"

/*
 * Datagram endpoints over UDP sockets. A message is one datagram without a header of
 * the provider's. A receive goes from the socket straight into the oldest posted
 * buffer; while none is posted, datagrams wait in the kernel's socket buffer, which
 * drops them when it is full.
 *
 * Sends take no lock: the kernel serialises them, and they change no state of the
 * endpoint; but for those that leave together (FI_MORE, burst.c). ep.lock guards these,
 * the posted receives and the sockets of joined multicast groups.
 */
enum {
	UDP_IOV_LIMIT = 4,
	UDP_QUEUE_SIZE = 1024,
	UDP_MAX_MSG_IN = 65535 - 20 - 8, /* IPv4: its header is in its length */
	UDP_MAX_MSG_IN6 = 65535 - 8,
};

/* One posted receive; ep.lock. */
struct udp_rx {
	void *context;
	uint64_t flags;
	/* Bytes of all of iov; of a multi-receive buffer, those that are still free. */
	size_t len;
	/* Multi-receive buffer: it is released when fewer free bytes than this are
	 * left. */
	size_t min;
	size_t iov_count;
	struct iovec iov[UDP_IOV_LIMIT];
};

/* What a receive from a socket brought. */
struct udp_datagram {
	ssize_t len; /* true length, also of a datagram longer than the buffer */
	/* Bytes of each datagram, but the last, of which there may be several in one
	 * train; 0: it is one datagram. */
	size_t segment;
	uint64_t comp_flags;
	socklen_t from_len; /* 0: not asked for */
	union wf_sockaddr from;
};

/* A socket that progress receives from. comp_flags are added to the flags of its
 * completions: FI_MULTICAST for the socket of a joined group, else 0. */
struct udp_sock {
	int fd;
	uint64_t comp_flags;
};

struct udp_burst;
struct udp_mc;
struct udp_train;

struct udp_ep {
	struct wf_ep ep;
	int fd; /* -1 until bound; does not change after fi_enable */
	socklen_t addr_len;
	bool want_source, want_source_err;
	/* The last progress call received as many datagrams as it was allowed to: the
	 * next one may receive more than one for each socket. */
	bool burst;
	bool gro_refused; /* the kernel has no UDP_GRO */
	/* UDP_GRO is on, and the rest of a train may be here (train.c); or NULL. */
	struct udp_train *train;
	/* Trains in a row that the kernel refused to send (batch.c). */
	atomic_uint refused_trains;
	/* Messages that wait for others (burst.c); NULL: there never were any. Guarded
	 * by ep.lock. gathered: there are some now; written with ep.lock held. */
	struct udp_burst *out;
	atomic_bool gathered;
	/* Number of entries of rx, minus 1; a power of two minus 1. */
	uint32_t rx_mask;
	/* Numbers of the next free entry and of the oldest posted one; they run free
	 * and are masked with rx_mask. */
	uint32_t rx_head, rx_tail;
	struct udp_rx *rx;
	/* Entries of socks: fd, then one for each group that has its own socket. */
	unsigned int sock_count;
	/* Index in socks, modulo sock_count, of the next one to be polled first. */
	unsigned int next_sock;
	struct udp_sock *socks;
	/* Joined groups that receive through fd: while not 0, fd reports each
	 * datagram's destination (IP_PKTINFO). */
	unsigned int pktinfo;
	/* Epoll descriptor for sleepers; -1: no thread has asked for it. */
	int epfd;
	bool watched; /* the sockets are in epfd */
	/* Local address: the one that was asked for until the socket is bound, then the
	 * true one. */
	union wf_sockaddr name;
	/* Entries of groups. groups[i] is the group that was joined as fi_addr_t i, or
	 * NULL. */
	unsigned int group_capacity;
	struct udp_mc **groups;
};

static inline struct udp_ep *udp_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct udp_ep, ep);
}

extern struct fi_provider udp_fi;
extern const struct wf_prov udp_prov;

#define udp_log(level, subsys, ...) FI_LOG(&udp_fi, level, subsys, __VA_ARGS__)

/* endpoint.c */
int udp_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* socket.c */
int udp_socket(int family, int *ret_fd);
/* Open and bind the endpoint's socket, unless that was done. 0 or a negative fi_errno.
 */
int udp_bind(struct udp_ep *ep);
/* Index of the interface that has the endpoint's address; 0: the kernel chooses. */
unsigned int udp_ifindex(const struct udp_ep *ep);

/* msg.c */
ssize_t udp_start(struct wf_ep *ep, struct wf_op *op);
bool udp_cancel(struct wf_ep *ep, void *context);

/* msg.c: one datagram to the socket address @to, now. 0 or -FI_EAGAIN; any other error
 * is reported as the end of the operation. */
ssize_t udp_send_now(struct udp_ep *ep, const struct wf_op *op, const void *to);

/* batch.c. udp_send_pieces: what sendmsg() returns; @segment: length of all datagrams
 * but the last of a train, 0: it is one. udp_is_full: is the error of it temporary? */
ssize_t udp_send_pieces(struct udp_ep *ep, const void *to, const struct iovec *iov,
	size_t iov_count, uint16_t segment);
bool udp_is_full(int err);
/* Send the first ones as one train, as many as it may have. How many were taken; 0: the
 * socket is full; -1: the first one has to be sent alone. */
ssize_t udp_send_train(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count);
/* wf_xfer_ops.send_many */
size_t udp_send_many(struct wf_ep *ep, fi_addr_t addr,
	const struct wf_datagram *datagrams, size_t count);

/* progress.c; ep.lock is held */
void udp_progress(struct wf_ep *ep);
/* recvmsg() of the sock into @iov, which may get several datagrams if UDP_GRO is on. */
ssize_t udp_receive_msg(struct udp_ep *ep, const struct udp_sock *sock,
	struct iovec *iov, size_t iov_count, struct udp_datagram *ret);
/* A receive from a socket failed: log what is worth it. */
void udp_receive_failed(int err);
/* Datagram @dg is in the buffer of the oldest receive: report it, and use the receive
 * up; of a multi-receive buffer the slice, and the whole if too little is left and not
 * @more of the train follows in it. */
void udp_deliver(struct udp_ep *ep, const struct udp_datagram *dg, bool more);

/* train.c; ep.lock is held. udp_train_open: datagrams arrive in numbers for a
 * multi-receive buffer: ask the kernel for trains. udp_train_receive: as one poll of
 * the endpoint's socket; false: nothing was there. udp_train_flush: a receive was
 * posted, for which the rest of a train may be waiting. */
void udp_train_open(struct udp_ep *ep);
bool udp_train_receive(struct udp_ep *ep, const struct udp_sock *sock);
void udp_train_flush(struct udp_ep *ep);

/* wait.c */
int udp_wait_fd(struct wf_ep *ep);
bool udp_arm(struct wf_ep *ep);
/* Put the sockets into epfd, after a receive was posted or a socket was added: epoll
 * then reports datagrams that are there already. ep.lock held. */
void udp_watch(struct udp_ep *ep);
void udp_unwatch(struct udp_ep *ep);

/* multicast.c */
int udp_join(struct wf_ep *ep, const void *addr, uint64_t flags, struct fid_mc **ret_mc,
	void *context);
/* The address of the multicast group that fi_mc_addr returned as @addr; false if it
 * returned no such value. fi_join(3). */
bool udp_group_addr(struct udp_ep *ep, fi_addr_t addr, union wf_sockaddr *ret);

#endif
