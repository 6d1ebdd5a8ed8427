/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/device/device.h"
#include "providers/verbs/param.h"
#include "providers/verbs/ud/ud.h"

/*
 * Address handles. The handle of an address is made by the first send to it, because
 * making it asks the kernel and may fail while the peer is not up. It is kept with the
 * AV's entry.
 */

struct verbs_av {
	struct verbs_domain *domain;
	pthread_mutex_t lock; /* guards the allocation of segments and handles */
	/* Handles by index, in segments like the slots of objects/av/table.h. Stored
	 * with @lock held, loaded without; a segment is freed with the AV. */
	_Atomic(struct ibv_ah *) *_Atomic segment[WF_AV_SEGMENTS];
};

static struct verbs_av *verbs_av_of(const struct wf_av *av)
{
	return av->prov_data;
}

int verbs_av_opened(struct wf_av *wf)
{
	struct verbs_av *av = calloc(1, sizeof(*av));
	int err;

	if (!av)
		return -FI_ENOMEM;
	err = -pthread_mutex_init(&av->lock, NULL);
	if (err) {
		free(av);
		return err;
	}
	av->domain = verbs_domain_of(wf->domain);
	wf->prov_data = av;
	return 0;
}

static void handle_drop(_Atomic(struct ibv_ah *) *at)
{
	struct ibv_ah *ah = atomic_exchange_explicit(at, NULL, memory_order_acq_rel);

	if (ah && VERBS_IBV(destroy_ah(ah)))
		(void)verbs_failed(FI_LOG_AV, "ibv_destroy_ah", errno);
}

void verbs_av_closing(struct wf_av *wf)
{
	struct verbs_av *av = verbs_av_of(wf);

	for (unsigned int k = 0; k < WF_AV_SEGMENTS; k++) {
		_Atomic(struct ibv_ah *) *handles =
			atomic_load_explicit(&av->segment[k], memory_order_relaxed);

		for (uint64_t i = 0; handles && i < wf_av_segment_size(k); i++)
			handle_drop(&handles[i]);
		free((void *)handles);
	}
	(void)pthread_mutex_destroy(&av->lock);
	free(av);
	wf->prov_data = NULL;
}

/* The entry for the handle at @index, or NULL if its segment does not exist. No
 * lock. */
static _Atomic(struct ibv_ah *) *handle_entry_of(struct verbs_av *av, uint64_t index)
{
	unsigned int k = wf_av_segment(index);
	/* acquire: pairs with the release in handle_make_segment. */
	_Atomic(struct ibv_ah *) *handles =
		atomic_load_explicit(&av->segment[k], memory_order_acquire);

	return handles ? &handles[index - wf_av_segment_start(k)] : NULL;
}

static int handle_make_segment(struct verbs_av *av, uint64_t index)
{
	unsigned int k = wf_av_segment(index);
	_Atomic(struct ibv_ah *) *handles;

	if (atomic_load_explicit(&av->segment[k], memory_order_relaxed))
		return 0;
	handles = calloc(wf_av_segment_size(k), sizeof(*handles));
	if (!handles)
		return -FI_ENOMEM;
	/* release: pairs with the acquire in handle_entry_of. */
	atomic_store_explicit(&av->segment[k], handles, memory_order_release);
	return 0;
}

int verbs_av_inserted(
	struct wf_av *wf, fi_addr_t index, const void *addr, uint64_t flags)
{
	struct verbs_av *av = verbs_av_of(wf);
	int err;

	(void)addr;
	(void)flags;
	(void)pthread_mutex_lock(&av->lock);
	err = handle_make_segment(av, index);
	(void)pthread_mutex_unlock(&av->lock);
	return err;
}

void verbs_av_removed(struct wf_av *wf, fi_addr_t index)
{
	_Atomic(struct ibv_ah *) *at = handle_entry_of(verbs_av_of(wf), index);

	if (at)
		handle_drop(at);
}

/* Over Ethernet the kernel finds the peer by its GID, on InfiniBand by its LID if it is
 * in the same subnet. */
static struct ibv_ah_attr handle_attr_for(
	const struct verbs_device *device, const struct verbs_ud_name *name)
{
	bool ethernet = device->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	bool same_subnet = !memcmp(name->gid, device->gid.raw, sizeof(name->gid) / 2);
	struct ibv_ah_attr attr = {
		.dlid = name->lid,
		.sl = name->sl,
		.port_num = device->port,
	};

	if (ethernet || !same_subnet || !name->lid) {
		attr.is_global = 1;
		memcpy(attr.grh.dgid.raw, name->gid, sizeof(name->gid));
		attr.grh.sgid_index = (uint8_t)verbs_params.gid_index;
		attr.grh.hop_limit = 64;
	}
	return attr;
}

static int handle_make(struct verbs_av *av, const struct verbs_ud_name *name,
	_Atomic(struct ibv_ah *) *at, struct ibv_ah **ret)
{
	struct ibv_ah_attr attr = handle_attr_for(av->domain->device, name);
	int err = 0;

	(void)pthread_mutex_lock(&av->lock);
	*ret = atomic_load_explicit(at, memory_order_relaxed);
	if (!*ret) {
		*ret = VERBS_IBV(create_ah(av->domain->pd, &attr));
		if (!*ret)
			err = verbs_failed(FI_LOG_AV, "ibv_create_ah", errno);
		/* release: pairs with the acquire in find. */
		atomic_store_explicit(at, *ret, memory_order_release);
	}
	(void)pthread_mutex_unlock(&av->lock);
	return err;
}

static int handle_find(struct verbs_ep *ep, fi_addr_t addr, struct ibv_send_wr *wr)
{
	struct wf_av *av = ep->ep.av;
	const struct verbs_ud_name *name = wf_av_addr(av, addr);
	_Atomic(struct ibv_ah *) *at;
	struct ibv_ah *ah;
	int err = 0;

	at = name ? handle_entry_of(verbs_av_of(av), wf_av_slot_index(av, addr)) : NULL;
	if (wf_unlikely(!at))
		return wf_no_address(&verbs_fi, addr);
	ah = atomic_load_explicit(at, memory_order_acquire);
	if (wf_unlikely(!ah))
		err = handle_make(verbs_av_of(av), name, at, &ah);
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = name->qpn;
	wr->wr.ud.remote_qkey = VERBS_UD_QKEY;
	return err;
}

int verbs_ud_fill(struct verbs_ep *ep, const struct wf_op *op, struct ibv_send_wr *wr)
{
	if (wf_unlikely(verbs_ud_stopped(ep->ud)))
		return -FI_EAGAIN;
	return handle_find(ep, op->addr, wr);
}
