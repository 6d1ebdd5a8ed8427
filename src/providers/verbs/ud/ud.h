/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_UD_H
#define VERBS_UD_H

#include <assert.h>

#include "providers/verbs/verbs.h"

/*
 * FI_EP_DGRAM over unreliable datagrams: addresses (FI_ADDR_IB_UD), address handles,
 * and the state of the queue pair. The device writes the global routing header of a
 * datagram in front of the data, into a buffer of the domain that nothing reads.
 */

/* An address; other implementations exchange the same bytes. Numbers are in the order
 * of the host. */
struct verbs_ud_name {
	uint8_t gid[16];
	uint32_t qpn;
	uint16_t lid;     /* 0 where there is none: over Ethernet */
	uint16_t pkey;    /* as the port's table has it */
	uint16_t service; /* of the name server; 0: none */
	uint8_t sl;
	uint8_t zero[5];
};
static_assert(sizeof(struct verbs_ud_name) == 32, "an address has 32 bytes");

/* The key that all endpoints share, those of other implementations too. */
enum { VERBS_UD_QKEY = 0x11111111 };

struct verbs_ud {
	/* Without a number of the queue pair until the endpoint is enabled; constant
	 * after that. */
	struct verbs_ud_name name;
	/* With the name server of this host: the endpoint is registered; this process
	 * serves as long as the endpoint is open. */
	bool registered, serves;
};

/* Open and close that part of an FI_EP_DGRAM endpoint. 0 or a negative FI_E code,
 * logged. No lock is held. */
int verbs_ud_new(struct verbs_ep *ep, const struct fi_info *info);
void verbs_ud_free(struct verbs_ep *ep);
/* From the endpoint's enable(), after verbs_qp_create: take the queue pair from INIT to
 * RTS. */
int verbs_ud_enable(struct verbs_ep *ep);

/* As in struct wf_xfer_ops. */
int verbs_ud_setname(struct verbs_ep *ep, const void *addr, size_t len);
int verbs_ud_getname(struct verbs_ep *ep, void *addr, size_t *len);

/*
 * Complete the request @wr of the send @op: fill wr.ud. -FI_EINVAL, logged: there is no
 * address at op->addr; another negative errno, logged: the address cannot be reached.
 * ep.lock may be held.
 */
int verbs_ud_fill(struct verbs_ep *ep, const struct wf_op *op, struct ibv_send_wr *wr);

/* Hooks of struct wf_prov: the address handles of an AV. */
int verbs_av_opened(struct wf_av *av);
void verbs_av_closing(struct wf_av *av);
int verbs_av_inserted(
	struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
void verbs_av_removed(struct wf_av *av, fi_addr_t index);
const struct wf_av_format *verbs_av_format(const struct fi_info *info);

/* Is this an address of the format? */
bool verbs_ud_name_read(const void *addr, size_t len, struct verbs_ud_name *ret);

#endif
