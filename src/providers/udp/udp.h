/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_UDP_UDP_H
#define WF_UDP_UDP_H

#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "sys/sockaddr.h"

/*
 * Datagram endpoints over UDP sockets. A message is one datagram without a header of
 * the provider's. A receive goes from the socket straight into the oldest posted
 * buffer; while none is posted, datagrams wait in the kernel's socket buffer, which
 * drops them when it is full.
 *
 * A send takes no lock: the kernel serialises sends, and a send changes no state of the
 * endpoint. The exceptions are messages that leave together (FI_MORE, burst.c). ep.lock
 * guards these messages, the posted receives and the sockets of joined multicast
 * groups.
 */
enum {
	UDP_IOV_LIMIT = 4,
	UDP_QUEUE_SIZE = 1024,
	/* The length field of IPv4 includes its header. */
	UDP_MAX_MSG_IN = 65535 - 20 - 8,
	UDP_MAX_MSG_IN6 = 65535 - 8,
};

/* One posted receive, guarded by ep.lock. */
struct udp_rx {
	void *context;
	uint64_t flags;
	/* Length of all of iov in bytes; for a multi-receive buffer, the bytes that are
	 * still free. */
	size_t len;
	/* Multi-receive buffer: it is released when fewer free bytes than this are left
	 * (FI_OPT_MIN_MULTI_RECV). */
	size_t min;
	size_t iov_count;
	struct iovec iov[UDP_IOV_LIMIT];
};

/* Result of one receive call on a socket. */
struct udp_datagram {
	/* True length in bytes, also if the datagram is longer than the buffer. */
	ssize_t len;
	/* If the kernel joined several datagrams into one train (UDP_GRO): length in
	 * bytes of each datagram but the last. 0: a single datagram. */
	size_t segment;
	uint64_t comp_flags;
	/* The bytes before the datagram in a multi-receive buffer, for its source, and
	 * the address of the source there; 0: none. */
	size_t space;
	uint64_t source;
	/* Length of from in bytes; 0: the source was not asked for. */
	socklen_t from_len;
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
	int fd; /* Socket; -1 until it is bound. Does not change after fi_enable. */
	socklen_t addr_len;
	bool want_source, want_source_err;
	/* Bytes before each datagram for its source: wf_xfer_ops.tell_sources. 0: the
	 * sources are not told. */
	size_t source_space;
	/* The last progress call received as many datagrams as it was allowed to, so
	 * the next one may receive more than one from each socket. */
	bool burst;
	bool gro_refused; /* the kernel has no UDP_GRO */
	/* UDP_GRO is on; the state holds the datagrams of a train that no receive has
	 * taken yet (train.c). NULL: UDP_GRO is off. */
	struct udp_train *train;
	/* Number of successive trains that the kernel refused to send (batch.c). */
	atomic_uint refused_trains;
	/* Gathered messages (burst.c); NULL until the first one. Guarded by ep.lock. */
	struct udp_burst *out;
	atomic_bool gathered;
	/* Number of entries of rx, which is a power of two, minus 1. */
	uint32_t rx_mask;
	/* Numbers of the next free entry and of the oldest posted one; they run free
	 * and are masked with rx_mask. */
	uint32_t rx_head, rx_tail;
	struct udp_rx *rx;
	/* Number of sockets in socks: fd, and one for each group that has its own
	 * socket. */
	unsigned int sock_count;
	/* Index in socks, modulo sock_count, of the socket to poll first in the next
	 * progress call. */
	unsigned int next_sock;
	struct udp_sock *socks;
	/* Number of joined groups that receive through fd. While it is not 0, fd
	 * reports each datagram's destination (IP_PKTINFO). */
	unsigned int pktinfo;
	/* Epoll descriptor on which threads sleep; -1 until a thread asks for it. */
	int epfd;
	bool watched; /* the sockets are in epfd */
	/* Local address: until the socket is bound the one that was asked for, then the
	 * one that bind() chose. */
	union wf_sockaddr name;
	/* Number of entries of groups. groups[i] is the group whose fi_addr_t is i, or
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
/* Open and bind the endpoint's socket if that has not been done. Returns 0 or a
 * negative fi_errno. ep.lock is not needed: fi_enable, fi_getname and fi_setname are
 * control calls. */
int udp_bind(struct udp_ep *ep);
/* Index of the network interface that has the endpoint's address; 0 if the address is
 * the wildcard or not found: the kernel then chooses the interface. */
unsigned int udp_ifindex(const struct udp_ep *ep);

/* msg.c */
ssize_t udp_start(struct wf_ep *ep, struct wf_op *op);
bool udp_cancel(struct wf_ep *ep, void *context);

/* msg.c: send one datagram to the socket address @to without gathering. Returns 0 or
 * -FI_EAGAIN; any other error is reported as the end of the operation. */
ssize_t udp_send_now(struct udp_ep *ep, const struct wf_op *op, const void *to);

/* batch.c. udp_send_pieces(): sendmsg() of all iov, with its result and errno.
 * @segment: length in bytes of all datagrams of a train but the last; 0: a single
 * datagram. udp_is_full(): does this errno of a send mean that the socket is full for
 * now? */
ssize_t udp_send_pieces(struct udp_ep *ep, const void *to, const struct iovec *iov,
	size_t iov_count, uint16_t segment);
bool udp_is_full(int err);
/* Send the first datagrams, as many as one train may have, as one train. Returns the
 * number of datagrams sent; 0: the socket is full; -1: the first datagram has to be
 * sent alone. */
ssize_t udp_send_train(struct udp_ep *ep, const void *to,
	const struct wf_datagram *datagrams, size_t count);
/* wf_xfer_ops.send_many */
size_t udp_send_many(struct wf_ep *ep, fi_addr_t addr,
	const struct wf_datagram *datagrams, size_t count);

/* progress.c; ep.lock is held. */
void udp_progress(struct wf_ep *ep);
/* recvmsg() of the socket into @iov, with its result and errno. If UDP_GRO is on, @iov
 * may get several datagrams. */
ssize_t udp_receive_msg(struct udp_ep *ep, const struct udp_sock *sock,
	struct iovec *iov, size_t iov_count, struct udp_datagram *ret);
/* Log the error of a receive call, unless it is of the usual kind. */
void udp_receive_failed(int err);
/* Datagram @dg is in the buffer of the oldest posted receive: write its completion and
 * consume the receive. Of a multi-receive buffer only the datagram's slice is consumed;
 * the whole buffer is released when too little of it is free, unless @more datagrams of
 * the same train follow in it. If space is set, the source is put before the
 * datagram. */
void udp_deliver(struct udp_ep *ep, struct udp_datagram *dg, bool more);

/* train.c; ep.lock is held. udp_train_open(): many datagrams arrive, so ask the kernel
 * for trains if the oldest receive is a multi-receive buffer. udp_train_receive(): one
 * receive from the endpoint's socket; false: there was no datagram. udp_train_flush():
 * a receive was posted; give it the next datagram of the saved train. */
void udp_train_open(struct udp_ep *ep);
bool udp_train_receive(struct udp_ep *ep, const struct udp_sock *sock);
void udp_train_flush(struct udp_ep *ep);

/* wait.c */
int udp_wait_fd(struct wf_ep *ep);
bool udp_arm(struct wf_ep *ep);
/* Put the sockets into epfd after a receive was posted or a socket was added; epoll
 * reports a datagram that is in a socket already. ep.lock held. */
void udp_watch(struct udp_ep *ep);
void udp_unwatch(struct udp_ep *ep);

/* multicast.c */
int udp_join(struct wf_ep *ep, const void *addr, uint64_t flags, struct fid_mc **ret_mc,
	void *context);
/* Get the address of the multicast group whose fi_addr_t, from fi_mc_addr(), is @addr;
 * false if there is no such group. Takes ep.lock. fi_join(3). */
bool udp_group_addr(struct udp_ep *ep, fi_addr_t addr, union wf_sockaddr *ret);

#endif
