/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_H
#define WF_OBJECTS_AV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_peer.h>

#include "objects/domain.h"
#include "objects/eq.h"

/*
 * An address vector of fixed-size addresses (IP socket addresses today).
 *
 * A fi_addr_t is the index of a slot: the lowest free one, so a table AV counts up
 * from 0. Slots live in segments of doubling size that never move, so wf_av_addr
 * needs no lock while another thread inserts; @lock guards everything else. A hash
 * from address to index serves FI_SOURCE. User ids have an array of their own, made
 * when the first one is set.
 *
 * An AV with a name lives in a shared memory object that other processes map:
 * offsets instead of pointers, every index checked, one writer at a time.
 */
struct wf_av;

int wf_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context);

struct wf_av *wf_av_of(struct fid_av *fid);

/* The address at @addr, or NULL when nothing is inserted there. Stays in place until
 * it is removed; its true length is what the address itself says (sa_family). */
const void *wf_av_addr(const struct wf_av *av, fi_addr_t addr);

/* Where @addr (a raw address of the AV's format) is inserted: what completions
 * report (a user id where one is set), or FI_ADDR_NOTAVAIL. */
fi_addr_t wf_av_source(struct wf_av *av, const void *addr, size_t addrlen);

/* The same as an index, without user id. */
fi_addr_t wf_av_index(struct wf_av *av, const void *addr, size_t addrlen);

struct wf_domain *wf_av_domain(struct wf_av *av);

/* Endpoints bound; fi_close answers -FI_EBUSY while there are any. */
void wf_av_ref(struct wf_av *av);
void wf_av_unref(struct wf_av *av);

/* Print a raw address as fi_av_straddr(3) says. */
const char *wf_av_straddr(
	uint32_t addr_format, const void *addr, char *buf, size_t *len);

#endif
