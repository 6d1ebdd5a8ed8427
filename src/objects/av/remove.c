/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/internal.h"

/* Removing addresses (fi_av_remove in fi_av(3)). */

/* Addresses that fi_av_remove removes before it releases the lock for other threads. */
enum { REMOVE_BATCH = 64 };

static void remove_tell_removed(struct wf_av *av, const fi_addr_t *gone, size_t count)
{
	const struct wf_prov *prov = av->domain->prov;

	for (size_t i = 0; prov->av_removed && i < count; i++)
		prov->av_removed(av, gone[i]);
}

/* Remove what is at @fi_addr, and list the indexes in @removed, which has space for
 * @count; *ret_removed is their number, and stays as it is where the AV cannot be
 * changed. */
static int remove_addrs(struct wf_av *av, const fi_addr_t *fi_addr, size_t count,
	uint64_t *removed, size_t *ret_removed)
{
	size_t removed_count = 0;
	int last = 0, ret = wf_av_begin(av);

	if (ret) {
		WF_AV_REFUSED(av->domain, "remove: %s\n", fi_strerror(-ret));
		return ret;
	}
	for (size_t i = 0; i < count; i++) {
		bool gone = false;

		ret = wf_av_table_remove(&av->table, fi_addr[i], &gone);
		if (gone) {
			wf_av_reset_id(av, fi_addr[i]);
			removed[removed_count++] = fi_addr[i] & av->index_mask;
		}
		if (!ret)
			continue;
		last = ret;
		WF_AV_REFUSED(av->domain, "remove: nothing at address %llu\n",
			(unsigned long long)fi_addr[i]);
	}
	wf_av_end(av);
	*ret_removed = removed_count;
	return last;
}

static int remove_batch(struct wf_av *av, const fi_addr_t *fi_addr, size_t count)
{
	uint64_t removed[REMOVE_BATCH];
	size_t removed_count = 0;
	int ret = remove_addrs(av, fi_addr, count, removed, &removed_count);

	if (!removed_count)
		return ret;
	wf_av_tell_removed(av, removed, removed_count);
	remove_tell_removed(av, removed, removed_count);
	return ret;
}

int wf_av_remove_untold(struct wf_av *av, fi_addr_t addr)
{
	uint64_t removed;
	size_t count = 0;

	return remove_addrs(av, &addr, 1, &removed, &count);
}

int wf_av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct wf_av *av = wf_av_of(fid);
	int ret, last = 0;

	if (flags || (count && !fi_addr)) {
		WF_AV_REFUSED(av->domain,
			"remove: flags %#llx, possible none (no authorization keys)\n",
			(unsigned long long)flags);
		return -FI_EINVAL;
	}
	while (count) {
		size_t n = WF_MIN(count, (size_t)REMOVE_BATCH);

		ret = remove_batch(av, fi_addr, n);
		last = ret ? ret : last;
		fi_addr += n;
		count -= n;
	}
	return last;
}
