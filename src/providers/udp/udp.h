/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_H
#define UDP_H

#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "sys/sockaddr.h"

/*
 * Datagram endpoints over UDP sockets. A message is a datagram without any header of
 * ours. Receives go from the socket straight into the posted buffer, oldest first;
 * while none is posted the kernel keeps what arrives, as far as its buffer goes.
 *
 * Sends take no lock: the kernel serialises them and nothing of ours is touched.
 * ep.lock guards the receives and the sockets of joined groups.
 */
enum {
	UDP_IOV_LIMIT = 4,
	UDP_QUEUE_SIZE = 1024,
	UDP_MAX_MSG_IN = 65535 - 20 - 8, /* IPv4: its header is in its length */
	UDP_MAX_MSG_IN6 = 65535 - 8,
};

/* One posted receive. */
struct udp_rx {
	void *context;
	uint64_t flags;
	size_t len; /* sum of iov: what is left of a multi-receive buffer */
	size_t min; /* of a multi-receive buffer: released below it */
	size_t iov_count;
	struct iovec iov[UDP_IOV_LIMIT];
};

/* A socket to receive from; datagrams in those of groups are FI_MULTICAST. */
struct udp_sock {
	int fd;
	uint64_t comp_flags;
};

struct udp_mc;

struct udp_ep {
	struct wf_ep ep;
	int fd; /* -1 until bound; fixed once enabled */
	socklen_t addr_len;
	bool want_source, want_source_err;
	bool burst;                /* the last look at the sockets found all it could */
	uint32_t rx_mask;          /* slots of rx - 1 */
	uint32_t rx_head, rx_tail; /* next free, oldest; counters run free */
	struct udp_rx *rx;
	unsigned int sock_count; /* one, and those of groups */
	unsigned int sock_turn;  /* whose turn to be asked first */
	struct udp_sock *socks;
	unsigned int pktinfo;        /* groups that share fd and so need it */
	int epfd;                    /* of those who sleep; -1 until somebody does */
	bool watched;                /* epfd holds the sockets */
	union wf_sockaddr name;      /* local address: wanted, and true once bound */
	unsigned int group_capacity; /* groups[fi_addr] is the group or NULL */
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
/* Give the endpoint its socket, unless it has one. */
int udp_bind(struct udp_ep *ep);
/* Index of the interface that has the endpoint's address; 0: the kernel chooses. */
unsigned int udp_ifindex(const struct udp_ep *ep);

/* msg.c */
ssize_t udp_start(struct wf_ep *ep, struct wf_op *op);
bool udp_cancel(struct wf_ep *ep, void *context);

/* progress.c */
void udp_progress(struct wf_ep *ep);

/* wait.c */
int udp_wait_fd(struct wf_ep *ep);
bool udp_arm(struct wf_ep *ep);
/* Let sleepers know of the sockets, now that a receive is posted or one was added. */
void udp_watch(struct udp_ep *ep);
void udp_unwatch(struct udp_ep *ep);

/* multicast.c */
int udp_join(struct wf_ep *ep, const void *addr, uint64_t flags, struct fid_mc **ret_mc,
	void *context);
/* Where @addr, which fi_mc_addr answered, sends to; false if it did not. */
bool udp_group_addr(struct udp_ep *ep, fi_addr_t addr, union wf_sockaddr *ret);

#endif
