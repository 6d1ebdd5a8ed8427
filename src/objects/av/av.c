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
	.remove = wf_av_remove,
	.lookup = wf_av_lookup,
	.straddr = wf_av_straddr_op,
	.av_set = wf_av_set_open,
	.insert_auth_key = av_insert_auth_key,
	.lookup_auth_key = av_lookup_auth_key,
	.set_user_id = wf_av_set_user_id,
	.lookup2 = wf_av_lookup2,
};

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

static uint64_t av_domain_caps(const struct wf_domain *domain)
{
	return domain->info->caps | domain->info->domain_attr->caps;
}

static int av_check_flags(const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	if (attr->flags & ~OPEN_FLAGS) {
		WF_AV_REFUSED(domain, "open: flags %#llx, possible %#llx\n",
			(unsigned long long)attr->flags,
			(unsigned long long)OPEN_FLAGS);
		return -FI_EINVAL;
	}
	if (attr->flags & FI_AV_USER_ID && !(av_domain_caps(domain) & FI_AV_USER_ID)) {
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

static int av_check_name(const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	if (!attr->name)
		return 0;
	if (!(av_domain_caps(domain) & FI_SHARED_AV)) {
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

static int av_check_attr(const struct wf_domain *domain, const struct fi_av_attr *attr)
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
	ret = av_check_flags(domain, attr);
	return ret ? ret : av_check_name(domain, attr);
}

static uint64_t av_index_mask(
	const struct wf_domain *domain, const struct fi_av_attr *attr)
{
	uint64_t mask = UINT64_MAX >> attr->rx_ctx_bits;

	/* fi_group_addr stores the group id in the upper 32 bits. */
	return domain->info->domain_attr->max_group_id ? mask & UINT32_MAX : mask;
}

/* The scope of the name: addresses are valid for one provider and domain only. */
static int av_open_shared(struct wf_av *av, const struct fi_av_attr *attr)
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

static int av_open_content(
	struct wf_av *av, const struct fi_av_attr *attr, void *context)
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
		return av_open_shared(av, attr);
	return wf_av_table_init(&av->table, format, attr->count);
}

static struct wf_av *av_alloc(struct wf_domain *domain, const struct fi_av_attr *attr)
{
	struct wf_av *av = calloc(1, sizeof(*av));
	enum fi_av_type type = domain->info->domain_attr->av_type;

	if (!av)
		return NULL;
	wf_lock_init(&av->lock, WF_LOCK_MUTEX);
	wf_lock_set_gate(&av->lock, domain->gate);
	av->domain = domain;
	av->attr = *attr;
	av->attr.name = NULL;
	av->attr.map_addr = NULL;
	if (!attr->type)
		av->attr.type = type ? type : FI_AV_TABLE;
	av->index_mask = av_index_mask(domain, attr);
	av->id_only = attr->flags & FI_AV_USER_ID;
	(void)pthread_mutex_init(&av->watch_lock, NULL);
	wf_list_init(&av->watches);
	wf_list_init(&av->sets);
	return av;
}

int wf_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **ret_av,
	void *context)
{
	struct wf_domain *domain = wf_domain_of(fid);
	struct wf_av *av;
	int ret;

	if (!attr || !ret_av) {
		WF_AV_REFUSED(domain, "open: no attributes, or NULL for the result\n");
		return -FI_EINVAL;
	}
	ret = av_check_attr(domain, attr);
	if (ret)
		return ret;
	av = av_alloc(domain, attr);
	if (!av)
		return -FI_ENOMEM;
	ret = av_open_content(av, attr, context);
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
