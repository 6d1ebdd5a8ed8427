/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "objects/av/internal.h"
#include "objects/av/set.h"
#include "objects/av/shared.h"

/* The flags that fi_av_open accepts. */
#define OPEN_FLAGS (FI_EVENT | FI_READ | FI_SYMMETRIC | FI_PEER | FI_AV_USER_ID)

/* The largest fi_av_attr.rx_ctx_bits. */
enum { MAX_RX_CTX_BITS = 32 };

/* Addresses that fi_av_remove removes before it releases the lock for other threads. */
enum { REMOVE_BATCH = 64 };

/* Changing, and looking up. */

int wf_av_begin(struct wf_av *av)
{
	int ret = 0;

	if (av->shared && av->shared->shm.readonly)
		return -FI_EACCES;
	wf_lock(&av->lock);
	if (av->shared)
		ret = wf_shm_lock(&av->shared->shm);
	if (ret) {
		wf_unlock(&av->lock);
		return ret;
	}
	wf_av_table_begin(&av->table);
	return 0;
}

void wf_av_end(struct wf_av *av)
{
	wf_av_table_end(&av->table);
	if (av->shared)
		wf_shm_unlock(&av->shared->shm);
	wf_unlock(&av->lock);
}

const void *wf_av_addr_slow(struct wf_av *av, uint64_t index)
{
	const struct wf_av_slot *slot;

	if (index >= wf_av_table_capacity(&av->table))
		return NULL;
	wf_av_table_refresh(&av->table);
	slot = wf_av_slot_at(&av->table, index);
	return slot && wf_av_slot_live(slot) ? wf_av_slot_addr(&av->table, slot) : NULL;
}

fi_addr_t wf_av_index(struct wf_av *av, const void *addr, size_t addrlen)
{
	const struct wf_av_format *format = av->table.format;
	uint32_t words[WF_AV_ADDR_WORDS], index;
	int ret;

	if (!format || !wf_av_format_len(format, addr, addrlen) ||
		!format->spell(words, addr))
		return FI_ADDR_NOTAVAIL;
	ret = wf_av_table_find(&av->table, words, &index);
	/* Other threads keep removing addresses, or a process died while it did. */
	if (ret == -FI_EAGAIN && !wf_av_begin(av)) {
		ret = wf_av_table_find(&av->table, words, &index);
		wf_av_end(av);
	}
	return ret ? FI_ADDR_NOTAVAIL : index;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct wf_av *av = wf_av_of(fid);
	const void *stored = wf_av_addr(av, fi_addr);
	size_t len =
		stored ? wf_av_format_len(av->table.format, stored, wf_av_addrlen(av))
		       : 0;

	if (!len || !addrlen || (!addr && *addrlen)) {
		WF_AV_REFUSED(av->domain, "lookup: nothing at address %llu\n",
			(unsigned long long)fi_addr);
		return -FI_EINVAL;
	}
	if (*addrlen)
		memcpy(addr, stored, WF_MIN(*addrlen, len));
	*addrlen = len;
	return 0;
}

static int av_lookup2(struct fid_av *fid, fi_addr_t fi_addr, void *buf, size_t *len,
	uint64_t flags, struct fid_xpu_ctx *ctx)
{
	struct wf_av *av = wf_av_of(fid);

	if (flags & ~FI_XPU) {
		WF_AV_REFUSED(av->domain, "lookup2: flags %#llx, possible FI_XPU\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	if (!flags != !ctx) {
		WF_AV_REFUSED(av->domain, "lookup2: FI_XPU and a context together\n");
		return -FI_EINVAL;
	}
	if (flags) {
		WF_AV_REFUSED(av->domain, "lookup2: FI_XPU is not offered\n");
		return -FI_ENOSYS;
	}
	return av_lookup(fid, fi_addr, buf, len);
}

static const char *straddr(
	const struct wf_av_format *format, const void *addr, char *buf, size_t *len)
{
	char text[WF_AV_TEXT_LEN];
	size_t need;

	if (!format || !addr || !len || (!buf && *len))
		return NULL;
	format->print(addr, text, sizeof(text));
	need = strlen(text) + 1;
	if (*len) {
		memcpy(buf, text, WF_MIN(*len, need));
		buf[WF_MIN(*len, need) - 1] = '\0';
	}
	*len = need;
	return buf;
}

const char *wf_av_straddr(
	uint32_t addr_format, const void *addr, char *buf, size_t *len)
{
	const struct fi_info info = { .addr_format = addr_format };

	return straddr(wf_av_format_of(&info), addr, buf, len);
}

static const char *av_straddr(
	struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	const struct wf_av *av = wf_av_of(fid);

	return straddr(av->table.format, addr, buf, len);
}

/* Removing and naming. */

static void tell_removed(struct wf_av *av, const fi_addr_t *gone, size_t count)
{
	const struct wf_prov *prov = av->domain->prov;

	for (size_t i = 0; prov->av_removed && i < count; i++)
		prov->av_removed(av, gone[i]);
}

static int remove_batch(struct wf_av *av, const fi_addr_t *fi_addr, size_t count)
{
	uint64_t removed[REMOVE_BATCH];
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
	wf_av_tell_removed(av, removed, removed_count);
	tell_removed(av, removed, removed_count);
	return last;
}

static int av_remove(
	struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
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

static int av_set_user_id(
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
	ret = wf_av_begin(av);
	if (ret)
		return ret;
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

static int av_insert_auth_key(struct fid_av *fid, const void *auth_key,
	size_t auth_key_size, fi_addr_t *fi_addr, uint64_t flags)
{
	WF_AV_REFUSED(wf_av_of(fid)->domain,
		"insert_auth_key: authorization keys are not offered\n");
	return -FI_ENOSYS;
}

static int av_lookup_auth_key(
	struct fid_av *fid, fi_addr_t addr, void *auth_key, size_t *auth_key_size)
{
	WF_AV_REFUSED(wf_av_of(fid)->domain,
		"lookup_auth_key: authorization keys are not offered\n");
	return -FI_ENOSYS;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = wf_av_insert,
	.insertsvc = wf_av_insertsvc,
	.insertsym = wf_av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = wf_av_set_open,
	.insert_auth_key = av_insert_auth_key,
	.lookup_auth_key = av_lookup_auth_key,
	.set_user_id = av_set_user_id,
	.lookup2 = av_lookup2,
};

/* Binding, closing. */

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_av *av = wf_container_of(fid, struct wf_av, fid.fid);
	struct wf_eq *eq;
	int ret = -FI_EINVAL;

	if (!bfid || bfid->fclass != FI_CLASS_EQ || flags) {
		WF_AV_REFUSED(av->domain,
			"bind: class %zu, flags %#llx; possible an EQ, no flags\n",
			bfid ? bfid->fclass : (size_t)FI_CLASS_UNSPEC,
			(unsigned long long)flags);
		return ret;
	}
	eq = wf_container_of(bfid, struct wf_eq, fid.fid);
	wf_lock(&av->lock);
	if (av->eq || eq->fabric != av->domain->fabric)
		goto out;
	wf_eq_ref(eq);
	av->eq = eq;
	ret = 0;
out:
	wf_unlock(&av->lock);
	if (ret)
		WF_AV_REFUSED(av->domain,
			"bind: possible one EQ, of the fabric that the AV is of\n");
	return ret;
}

static void av_free(struct wf_av *av)
{
	wf_av_table_done(&av->table);
	wf_av_shared_close(av->shared);
	wf_av_free_ids(av);
	(void)pthread_mutex_destroy(&av->watch_lock);
	wf_lock_done(&av->lock);
	free((char *)av->attr.name);
	free(av);
}

static int av_close(struct fid *fid)
{
	struct wf_av *av = wf_container_of(fid, struct wf_av, fid.fid);

	/* acquire: pairs with the release in wf_av_unref. */
	if (atomic_load_explicit(&av->refs, memory_order_acquire)) {
		WF_AV_REFUSED(
			av->domain, "close: endpoints are bound or AV sets are open\n");
		return -FI_EBUSY;
	}
	if (av->eq)
		wf_eq_unref(av->eq);
	if (av->domain->prov->av_closing)
		av->domain->prov->av_closing(av);
	wf_domain_unref(av->domain);
	av_free(av);
	return 0;
}

static struct fi_ops av_fid_ops = WF_FID_OPS(av_close, av_bind, wf_absent_control);

/* Opening. */

static uint64_t domain_caps(const struct wf_domain *domain)
{
	return domain->info->caps | domain->info->domain_attr->caps;
}

static int check_flags(const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	if (attr->flags & ~OPEN_FLAGS) {
		WF_AV_REFUSED(domain, "open: flags %#llx, possible %#llx\n",
			(unsigned long long)attr->flags,
			(unsigned long long)OPEN_FLAGS);
		return -FI_EINVAL;
	}
	if (attr->flags & FI_AV_USER_ID && !(domain_caps(domain) & FI_AV_USER_ID)) {
		WF_AV_REFUSED(domain,
			"open: FI_AV_USER_ID needs a domain opened with that "
			"capability\n");
		return -FI_EINVAL;
	}
	if (attr->flags & FI_READ && !attr->name) {
		WF_AV_REFUSED(domain, "open: FI_READ needs the name of an AV\n");
		return -FI_EINVAL;
	}
	return 0;
}

static int check_name(const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	if (!attr->name)
		return 0;
	if (!(domain_caps(domain) & FI_SHARED_AV)) {
		WF_AV_REFUSED(domain,
			"open: name \"%s\" needs a domain with FI_SHARED_AV\n",
			attr->name);
		return -FI_ENOSYS;
	}
	if (attr->flags & (FI_AV_USER_ID | FI_PEER)) {
		WF_AV_REFUSED(domain,
			"open: a named AV has no user ids and is not imported\n");
		return -FI_EINVAL;
	}
	return 0;
}

static int check_attr(const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	enum fi_av_type type = domain->info->domain_attr->av_type;
	int ret;

	if (attr->type > FI_AV_TABLE || (attr->type && type && attr->type != type)) {
		WF_AV_REFUSED(domain, "open: type %d, possible %d (0 is any)\n",
			(int)attr->type, (int)type);
		return -FI_EINVAL;
	}
	if (attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > MAX_RX_CTX_BITS) {
		WF_AV_REFUSED(domain, "open: rx_ctx_bits %d, possible 0 to %d\n",
			attr->rx_ctx_bits, MAX_RX_CTX_BITS);
		return -FI_EINVAL;
	}
	ret = check_flags(domain, attr);
	return ret ? ret : check_name(domain, attr);
}

static uint64_t index_mask(
	const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	uint64_t mask = UINT64_MAX >> attr->rx_ctx_bits;

	/* fi_group_addr stores the group id in the upper 32 bits. */
	return domain->info->domain_attr->max_group_id ? mask & UINT32_MAX : mask;
}

/* The scope of the name: addresses are valid for one provider and domain only. */
static int open_shared(struct wf_av *av, const struct fi_av_attr *attr)
{
	const struct wf_domain *domain = av->domain;
	char scope[FI_NAME_MAX * 2];
	int ret;

	av->attr.name = strdup(attr->name);
	if (!av->attr.name)
		return -FI_ENOMEM;
	(void)snprintf(scope, sizeof(scope), "%s:%s", domain->prov->fi->name,
		domain->name ? domain->name : "");
	ret = wf_av_shared_open(&av->table, av->table.format, scope, attr->name,
		attr->count, attr->flags & FI_READ, attr->map_addr, &av->shared);
	if (ret) {
		WF_AV_REFUSED(domain, "open: shared AV \"%s\": %s\n", attr->name,
			fi_strerror(-ret));
		return ret;
	}
	av->attr.map_addr = av->shared->shm.mem;
	return 0;
}

static int open_content(struct wf_av *av, const struct fi_av_attr *attr, void *context)
{
	const struct wf_prov *prov = av->domain->prov;
	const struct wf_av_format *format = prov->av_format
						    ? prov->av_format(av->domain->info)
						    : wf_av_format_of(av->domain->info);

	av->table.format = format;
	if (!format) {
		WF_AV_REFUSED(av->domain, "open: no AV for address format %u\n",
			av->domain->info->addr_format);
		return -FI_ENOSYS;
	}
	if (attr->flags & FI_PEER)
		return wf_av_import(av, context);
	if (attr->name)
		return open_shared(av, attr);
	return wf_av_table_init(&av->table, format, attr->count);
}

static struct wf_av *av_alloc(struct wf_domain *domain, const struct fi_av_attr *attr)
{
	struct wf_av *av = calloc(1, sizeof(*av));
	enum fi_av_type type = domain->info->domain_attr->av_type;

	if (!av)
		return NULL;
	if (wf_lock_init(&av->lock,
		    domain->lock_kind == WF_LOCK_NONE ? WF_LOCK_NONE : WF_LOCK_MUTEX)) {
		free(av);
		return NULL;
	}
	av->domain = domain;
	av->attr = *attr;
	av->attr.name = NULL;
	av->attr.map_addr = NULL;
	if (!attr->type)
		av->attr.type = type ? type : FI_AV_TABLE;
	av->index_mask = index_mask(domain, attr);
	av->id_only = attr->flags & FI_AV_USER_ID;
	(void)pthread_mutex_init(&av->watch_lock, NULL);
	wf_list_init(&av->watches);
	return av;
}

int wf_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **ret_av,
	void *context)
{
	struct wf_domain *domain = wf_domain_of(fid);
	struct wf_av *av;
	int ret;

	if (!attr || !ret_av) {
		WF_AV_REFUSED(domain, "open: no attributes, or no place for the AV\n");
		return -FI_EINVAL;
	}
	ret = check_attr(domain, attr);
	if (ret)
		return ret;
	av = av_alloc(domain, attr);
	if (!av)
		return -FI_ENOMEM;
	ret = open_content(av, attr, context);
	if (!ret && domain->prov->av_opened)
		ret = domain->prov->av_opened(av);
	if (ret) {
		av_free(av);
		return ret;
	}
	av->fid.fid.fclass = FI_CLASS_AV;
	/* The context of an import is gone after this call. */
	av->fid.fid.context = av->peer ? (void *)av->peer : context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = av->peer ? &wf_av_imported_ops : &av_ops;
	wf_domain_ref(domain);
	attr->type = av->attr.type;
	if (attr->name && !attr->map_addr)
		attr->map_addr = av->attr.map_addr;
	*ret_av = &av->fid;
	return 0;
}
