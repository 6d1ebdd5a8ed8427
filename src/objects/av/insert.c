/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>

#include "objects/av/internal.h"
#include "objects/av/shared.h"

/*
 * Insertion, and how its results reach the caller. An AV opened with FI_EVENT also
 * inserts within the call; only the results go to the event queue: first the failures,
 * then one FI_AV_COMPLETE event (AV-044, AV-045).
 */

#define INSERT_FLAGS                                                                   \
	(FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID | FI_AUTH_KEY | FI_FIREWALL_ADDR)

/* The EQ for this AV's events: its own, else the domain's default. */
static struct wf_eq *insert_event_queue(struct wf_av *av)
{
	struct wf_domain *domain = av->domain;
	struct wf_eq *eq;

	wf_lock(&av->lock);
	eq = av->eq;
	wf_unlock(&av->lock);
	if (eq)
		return eq;
	(void)pthread_mutex_lock(&domain->control);
	eq = domain->eq;
	(void)pthread_mutex_unlock(&domain->control);
	return eq;
}

static int insert_check_flags(
	const struct wf_av *av, uint64_t flags, const void *context)
{
	if (flags & ~INSERT_FLAGS) {
		WF_AV_REFUSED(av->domain, "insert: flags %#llx, possible %#llx\n",
			(unsigned long long)flags, (unsigned long long)INSERT_FLAGS);
		return -FI_EBADFLAGS;
	}
	if (flags & FI_AUTH_KEY) {
		WF_AV_REFUSED(av->domain, "insert: FI_AUTH_KEY, but authorization keys "
					  "are not offered\n");
		return -FI_EINVAL;
	}
	if (flags & FI_SYNC_ERR && (!context || av->attr.flags & FI_EVENT)) {
		WF_AV_REFUSED(av->domain,
			"insert: FI_SYNC_ERR needs an array as context and a "
			"synchronous AV\n");
		return -FI_EINVAL;
	}
	return 0;
}

static int insert_check_ids(
	const struct wf_av *av, uint64_t flags, const fi_addr_t *fi_addr)
{
	if (!(flags & FI_AV_USER_ID))
		return 0;
	if (av->id_only || av->shared || !fi_addr) {
		WF_AV_REFUSED(av->domain,
			"insert: FI_AV_USER_ID needs the ids in fi_addr and an AV that "
			"has no name and was opened without that flag\n");
		return -FI_EINVAL;
	}
	return 0;
}

int wf_av_insertion_begin(struct wf_av_insertion *ins, struct wf_av *av, size_t count,
	fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct wf_eq *eq = NULL;
	int ret;

	ret = insert_check_flags(av, flags, context);
	if (!ret)
		ret = insert_check_ids(av, flags, fi_addr);
	if (ret)
		return ret;
	if (count > INT_MAX) {
		WF_AV_REFUSED(av->domain, "insert: %zu addresses, possible %d\n", count,
			INT_MAX);
		return -FI_EINVAL;
	}
	if (av->shared && av->shared->shm.readonly) {
		WF_AV_REFUSED(av->domain, "insert: the AV was opened with FI_READ\n");
		return -FI_EACCES;
	}
	if (av->attr.flags & FI_EVENT) {
		eq = insert_event_queue(av);
		if (!eq) {
			WF_AV_REFUSED(av->domain, "insert: no EQ bound to the AV\n");
			return -FI_ENOEQ;
		}
	}
	*ins = (struct wf_av_insertion){
		.av = av,
		.fi_addr = fi_addr,
		.flags = flags,
		.context = context,
		.eq = eq,
	};
	return 0;
}

/* Set the user id before the address is inserted, so that no reader finds the address
 * without its id. The index is known in advance: the lock is held, and an AV with user
 * ids is not shared with other processes. */
static int insert_give_id(
	struct wf_av_insertion *ins, const uint32_t *words, fi_addr_t id)
{
	uint32_t index;
	int ret;

	if (!(ins->flags & FI_AV_USER_ID))
		return 0;
	ret = wf_av_table_slot(&ins->av->table, words, &index);
	return ret ? ret : wf_av_set_id(ins->av, index, id);
}

static int insert_one(struct wf_av_insertion *ins, const void *addr, fi_addr_t id,
	fi_addr_t *ret_addr)
{
	struct wf_av_table *table = &ins->av->table;
	uint32_t words[WF_AV_ADDR_WORDS], index;
	uint32_t flags = ins->flags & FI_FIREWALL_ADDR ? WF_AV_FIREWALLED : 0;
	int ret;

	if (!addr || !table->format->spell(words, addr))
		return -FI_EADDRNOTAVAIL;
	ret = insert_give_id(ins, words, id);
	if (!ret)
		ret = wf_av_table_insert(table, words, flags, &index);
	if (!ret)
		*ret_addr = index;
	return ret;
}

static void insert_report(struct wf_av_insertion *ins, int err)
{
	struct fi_eq_err_entry entry = {
		.fid = &ins->av->fid.fid,
		.context = ins->context,
		.data = ins->next,
		.err = err,
	};

	if (ins->flags & FI_SYNC_ERR)
		((int *)ins->context)[ins->next] = err;
	if (err && ins->eq && wf_eq_write_err(ins->eq, &entry))
		WF_AV_REFUSED(ins->av->domain,
			"insert: the EQ did not take the error of address %zu\n",
			ins->next);
	if (err)
		FI_INFO(ins->av->domain->prov->fi, FI_LOG_AV,
			"insert: address %zu: %s\n", ins->next, fi_strerror(err));
	else
		ins->inserted++;
	ins->next++;
}

/* Let the provider set up its own state for the address at @index; if it fails, remove
 * the address. */
static int insert_tell_inserted(struct wf_av_insertion *ins, fi_addr_t index)
{
	struct wf_av *av = ins->av;
	const void *addr = wf_av_addr(av, index);
	bool gone;
	int ret;

	if (!addr) /* it was removed meanwhile */
		return 0;
	ret = av->domain->prov->av_inserted(
		av, index, addr, ins->flags & FI_FIREWALL_ADDR);
	if (ret && !wf_av_begin(av)) {
		(void)wf_av_table_remove(&av->table, index, &gone);
		wf_av_end(av);
	}
	return ret;
}

void wf_av_insertion_add(struct wf_av_insertion *ins, const void *const *addr, size_t n)
{
	fi_addr_t *fi_addr = ins->fi_addr ? ins->fi_addr + ins->next : NULL;
	bool tell = ins->av->domain->prov->av_inserted != NULL;
	fi_addr_t index[WF_AV_BATCH];
	int err[WF_AV_BATCH];
	int locked = wf_av_begin(ins->av);

	for (size_t i = 0; i < n; i++) {
		fi_addr_t result = FI_ADDR_NOTAVAIL;

		/* After -FI_ENOMEM or -FI_EIO the other addresses are not tried. */
		if (ins->aborted || locked)
			err[i] = locked ? locked : -FI_ECANCELED;
		else
			err[i] = insert_one(
				ins, addr[i], fi_addr ? fi_addr[i] : 0, &result);
		if (err[i] == -FI_ENOMEM || err[i] == -FI_EIO)
			ins->aborted = true;
		index[i] = result;
	}
	if (!locked)
		wf_av_end(ins->av);
	for (size_t i = 0; i < n; i++) {
		if (!err[i] && tell)
			err[i] = insert_tell_inserted(ins, index[i]);
		if (fi_addr)
			fi_addr[i] = err[i] ? FI_ADDR_NOTAVAIL : index[i];
	}
	for (size_t i = 0; i < n; i++)
		insert_report(ins, -err[i]);
}

int wf_av_insertion_end(struct wf_av_insertion *ins)
{
	struct fi_eq_entry entry = {
		.fid = &ins->av->fid.fid,
		.context = ins->context,
		.data = ins->inserted,
	};

	if (ins->inserted)
		wf_av_tell_watches(ins->av);
	if (!ins->eq)
		return (int)ins->inserted;
	if (wf_eq_write(ins->eq, FI_AV_COMPLETE, &entry, sizeof(entry)) < 0)
		WF_AV_REFUSED(ins->av->domain,
			"insert: the EQ did not take the completion\n");
	return 0;
}

/* The next address of the application's array; NULL after an address that is invalid,
 * because its length is not known. */
static const char *insert_next(const struct wf_av_format *format, const char *pos)
{
	size_t len =
		pos ? wf_av_format_len(format, pos, WF_AV_ADDR_WORDS * sizeof(uint32_t))
		    : 0;

	return len ? pos + len : NULL;
}

int wf_av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
	uint64_t flags, void *context)
{
	struct wf_av *av = wf_av_of(fid);
	const struct wf_av_format *format = av->table.format;
	const void *batch[WF_AV_BATCH];
	struct wf_av_insertion ins;
	const char *pos = addr;
	size_t n = 0;
	int ret;

	ret = wf_av_insertion_begin(&ins, av, count, fi_addr, flags, context);
	if (ret)
		return ret;
	if (count && !addr) {
		WF_AV_REFUSED(av->domain, "insert: no addresses given\n");
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		batch[n++] = pos;
		pos = insert_next(format, pos);
		if (n < WF_AV_BATCH && i + 1 < count)
			continue;
		wf_av_insertion_add(&ins, batch, n);
		n = 0;
	}
	return wf_av_insertion_end(&ins);
}

int wf_av_insert_untold(
	struct wf_av *av, const void *addr, fi_addr_t id, fi_addr_t *ret_addr)
{
	struct wf_av_insertion ins;
	int ret = wf_av_insertion_begin(&ins, av, 1, &id, FI_AV_USER_ID, NULL);

	if (ret)
		return ret;
	wf_av_insertion_add(&ins, &addr, 1);
	if (!ins.inserted)
		return ins.aborted ? -FI_ENOMEM : -FI_EADDRNOTAVAIL;
	*ret_addr = id;
	return 0;
}
