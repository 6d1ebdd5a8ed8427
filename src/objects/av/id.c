/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/av/internal.h"

/*
 * User ids: what completions report instead of an index (fi_av_set_user_id(3)). Ids are
 * stored in segments like those of the table; a segment is made when an id in it is
 * first set. An index without an id reports itself, or FI_ADDR_NOTAVAIL when the AV was
 * opened with FI_AV_USER_ID: its unset id. What is stored is the difference, by
 * exclusive or, of the id and the unset id, so that a new segment is all zero and need
 * not be written. Readers take no lock.
 */

static _Atomic uint64_t *id_segment(const struct wf_av *av, unsigned int k)
{
	uintptr_t ids = atomic_load_explicit(&av->ids[k], memory_order_relaxed);

	if (!ids)
		return NULL;
	return (_Atomic uint64_t *)(ids + wf_av_segment_start(k) * sizeof(uint64_t));
}

static int id_make_segment(struct wf_av *av, unsigned int k)
{
	uint64_t start = wf_av_segment_start(k), size = wf_av_segment_size(k);
	_Atomic uint64_t *ids = calloc(size, sizeof(*ids));

	if (!ids)
		return -FI_ENOMEM;
	/* release: pairs with the acquire in wf_av_report. */
	atomic_store_explicit(&av->ids[k], (uintptr_t)ids - start * sizeof(*ids),
		memory_order_release);
	return 0;
}

int wf_av_set_id(struct wf_av *av, uint64_t index, fi_addr_t id)
{
	unsigned int k = wf_av_segment(index);
	_Atomic uint64_t *ids;

	if (!id_segment(av, k) && id_make_segment(av, k))
		return -FI_ENOMEM;
	ids = id_segment(av, k);
	atomic_store_explicit(&ids[index - wf_av_segment_start(k)],
		id ^ wf_av_unset_id(av, index), memory_order_relaxed);
	return 0;
}

void wf_av_reset_id(struct wf_av *av, uint64_t index)
{
	/* Without a segment no id was set; with one wf_av_set_id cannot fail. */
	if (id_segment(av, wf_av_segment(index)))
		(void)wf_av_set_id(av, index, wf_av_unset_id(av, index));
}

void wf_av_free_ids(struct wf_av *av)
{
	for (unsigned int k = 0; k < WF_AV_SEGMENTS; k++)
		free(id_segment(av, k));
}

int wf_av_set_id_untold(struct wf_av *av, fi_addr_t addr, fi_addr_t id)
{
	int ret = wf_av_begin(av);

	if (ret)
		return ret;
	ret = wf_av_set_id(av, addr & av->index_mask, id);
	wf_av_end(av);
	return ret;
}

int wf_av_set_user_id(
	struct fid_av *fid, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags)
{
	struct wf_av *av = wf_av_of(fid);
	int ret;

	if (av->shared) {
		WF_AV_REFUSED(av->domain, "set_user_id: a named AV has no user ids\n");
		return -FI_ENOSYS;
	}
	if (flags) {
		WF_AV_REFUSED(av->domain, "set_user_id: flags %#llx, possible none\n",
			(unsigned long long)flags);
		return flags == FI_AUTH_KEY ? -FI_EINVAL : -FI_EBADFLAGS;
	}
	(void)wf_av_begin(av); /* cannot fail: the AV has no name */
	ret = wf_av_addr(av, fi_addr)
		      ? wf_av_set_id(av, fi_addr & av->index_mask, user_id)
		      : -FI_EINVAL;
	wf_av_end(av);
	if (ret) {
		WF_AV_REFUSED(av->domain, "set_user_id: address %llu: %s\n",
			(unsigned long long)fi_addr, fi_strerror(-ret));
		return ret;
	}
	/* The owner of an imported receive context knows the address by this id: search
	 * for the senders of unexpected messages again. */
	wf_av_tell_watches(av);
	return 0;
}
