/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "sys/copy_ops.h"
#include "core/fabric.h"
#include "core/log/log.h"
#include "core/registry.h"
#include "core/stand_in.h"
#include "core/stand_in_fabric.h"
#include "sys/compiler.h"

/*
 * Fabrics of stand-ins. A name with one base opens that base's fabric. If the endpoint
 * types of one name have several bases, fi_fabric cannot know which base is meant: the
 * first base's fabric is opened, and its operations are replaced by functions that open
 * a domain of another base's type on a fabric of that base, which is opened then.
 */

struct chooser {
	struct fi_ops_fabric ops; /* replace @own_ops, and call them */
	struct fi_ops fid_ops;    /* replace @own_fid_ops, and call them */
	struct fi_ops_fabric *own_ops;
	struct fi_ops *own_fid_ops;
	const struct wf_stand_in *rows; /* first row of the name */
	char *fabric_name;
	uint32_t api_version;
	/* The second base's fabric; NULL until a domain of its types is opened. Guarded
	 * by @lock. */
	struct fid_fabric *other;
	pthread_mutex_t lock;
	const struct fid_fabric *fabric;
	struct wf_list link; /* in the list of choosers */
};

/* The choosers of open fabrics, guarded by the lock. A chooser is found by its fabric,
 * because a hook may replace @ops and @fid_ops again. */
static pthread_mutex_t choosers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list choosers = { &choosers, &choosers };

static bool stand_in_fabric_is_present(const char *base)
{
	return wf_registry_find(&(struct wf_layer){ base, strlen(base) });
}

/* The next row after @row (NULL: from the start) of @name whose base exists. */
static const struct wf_stand_in *stand_in_fabric_next_row(
	const struct wf_stand_in *row, const struct wf_layer *name)
{
	for (row = row ? row + 1 : wf_stand_ins; row->name; row++)
		if (wf_layer_is(name, row->name) &&
			stand_in_fabric_is_present(row->base))
			return row;
	return NULL;
}

static int stand_in_fabric_open_base(const char *base, const char *fabric_name,
	uint32_t api_version, struct fid_fabric **ret_fabric, void *context)
{
	struct fi_fabric_attr attr = { .name = (char *)(uintptr_t)fabric_name,
		.prov_name = (char *)(uintptr_t)base,
		.api_version = api_version };

	return wf_core_fabric_below(&attr, ret_fabric, context);
}

static bool stand_in_fabric_is_of_fabric(const struct wf_list *item, const void *fabric)
{
	return wf_list_entry(item, struct chooser, link)->fabric == fabric;
}

/* The chooser of @fabric, which may be any address, or NULL. */
static struct chooser *stand_in_fabric_chooser_of(const struct fid_fabric *fabric)
{
	struct wf_list *item;

	(void)pthread_mutex_lock(&choosers_lock);
	item = wf_list_find(&choosers, stand_in_fabric_is_of_fabric, fabric);
	(void)pthread_mutex_unlock(&choosers_lock);
	return item ? wf_list_entry(item, struct chooser, link) : NULL;
}

static void stand_in_fabric_choosers_add(struct chooser *chooser)
{
	(void)pthread_mutex_lock(&choosers_lock);
	wf_list_insert_after(&choosers, &chooser->link);
	(void)pthread_mutex_unlock(&choosers_lock);
}

static void stand_in_fabric_choosers_remove(struct chooser *chooser)
{
	(void)pthread_mutex_lock(&choosers_lock);
	wf_list_remove(&chooser->link);
	(void)pthread_mutex_unlock(&choosers_lock);
}

static int stand_in_fabric_other_fabric(struct chooser *chooser,
	const struct wf_stand_in *row, struct fid_fabric **ret_fabric)
{
	int err = 0;

	(void)pthread_mutex_lock(&chooser->lock);
	if (!chooser->other)
		err = stand_in_fabric_open_base(row->base, chooser->fabric_name,
			chooser->api_version, &chooser->other, NULL);
	*ret_fabric = chooser->other;
	(void)pthread_mutex_unlock(&chooser->lock);
	return err;
}

/* The fabric whose provider has the endpoint type of @info: @fabric, or the second
 * base's, opened if needed. NULL with *ret_err on failure. */
static struct fid_fabric *stand_in_fabric_choose(
	struct fid_fabric *fabric, const struct fi_info *info, int *ret_err)
{
	struct chooser *chooser = stand_in_fabric_chooser_of(fabric);
	const char *first = chooser->rows->base;
	struct wf_layer name = { chooser->rows->name, strlen(chooser->rows->name) };
	struct fid_fabric *other;

	*ret_err = 0;
	for (const struct wf_stand_in *row = chooser->rows; row;
		row = stand_in_fabric_next_row(row, &name)) {
		if (!info || !info->ep_attr || row->type != info->ep_attr->type)
			continue;
		if (!strcmp(row->base, first))
			return fabric;
		*ret_err = stand_in_fabric_other_fabric(chooser, row, &other);
		return *ret_err ? NULL : other;
	}
	return fabric;
}

static int stand_in_fabric_chooser_domain(struct fid_fabric *fabric,
	struct fi_info *info, struct fid_domain **ret_domain, void *context)
{
	struct fid_fabric *chosen;
	int err;

	chosen = stand_in_fabric_choose(fabric, info, &err);
	if (!chosen)
		return err;
	return chosen == fabric ? stand_in_fabric_chooser_of(fabric)->own_ops->domain(
					  fabric, info, ret_domain, context)
				: fi_domain(chosen, info, ret_domain, context);
}

static int stand_in_fabric_chooser_domain2(struct fid_fabric *fabric,
	struct fi_info *info, struct fid_domain **ret_domain, uint64_t flags,
	void *context)
{
	struct fid_fabric *chosen;
	int err;

	chosen = stand_in_fabric_choose(fabric, info, &err);
	if (!chosen)
		return err;
	return chosen == fabric ? stand_in_fabric_chooser_of(fabric)->own_ops->domain2(
					  fabric, info, ret_domain, flags, context)
				: fi_domain2(chosen, info, ret_domain, flags, context);
}

static int stand_in_fabric_chooser_close(struct fid *fid)
{
	struct fid_fabric *fabric = wf_container_of(fid, struct fid_fabric, fid);
	struct chooser *chooser = stand_in_fabric_chooser_of(fabric);
	struct fi_ops_fabric *front = fabric->ops;
	struct fi_ops *fid_front = fid->ops;
	int err = chooser->other ? fi_close(&chooser->other->fid) : 0;

	if (err)
		return err;
	chooser->other = NULL;
	/* Another fabric may have the address as soon as this one is closed. */
	stand_in_fabric_choosers_remove(chooser);
	fabric->ops = chooser->own_ops;
	fid->ops = chooser->own_fid_ops;
	err = fid->ops->close(fid);
	if (err) {
		fabric->ops = front;
		fid->ops = fid_front;
		stand_in_fabric_choosers_add(chooser);
		return err;
	}
	(void)pthread_mutex_destroy(&chooser->lock);
	free(chooser->fabric_name);
	free(chooser);
	return 0;
}

static int stand_in_fabric_put_chooser(const struct wf_stand_in *rows,
	const struct fi_fabric_attr *attr, struct fid_fabric *fabric)
{
	struct chooser *chooser = calloc(1, sizeof(*chooser));

	if (!chooser)
		return -FI_ENOMEM;
	chooser->fabric_name = strdup(attr->name);
	if (!chooser->fabric_name) {
		free(chooser);
		return -FI_ENOMEM;
	}
	(void)pthread_mutex_init(&chooser->lock, NULL);
	chooser->rows = rows;
	chooser->api_version = attr->api_version;
	chooser->own_ops = fabric->ops;
	chooser->own_fid_ops = fabric->fid.ops;
	wf_copy_ops(&chooser->ops, fabric->ops, sizeof(chooser->ops));
	wf_copy_ops(&chooser->fid_ops, fabric->fid.ops, sizeof(chooser->fid_ops));
	chooser->ops.domain = stand_in_fabric_chooser_domain;
	if (chooser->ops.domain2)
		chooser->ops.domain2 = stand_in_fabric_chooser_domain2;
	chooser->fid_ops.close = stand_in_fabric_chooser_close;
	chooser->fabric = fabric;
	fabric->ops = &chooser->ops;
	fabric->fid.ops = &chooser->fid_ops;
	stand_in_fabric_choosers_add(chooser);
	return 0;
}

/* The first row that @prov_name, perhaps "base;name", means. */
static const struct wf_stand_in *stand_in_fabric_row_of(
	const char *prov_name, struct wf_layers *layers)
{
	const struct wf_stand_in *row = NULL;

	if (!wf_layers_parse(prov_name, strlen(prov_name), layers) || layers->count > 2)
		return NULL;
	while ((row = stand_in_fabric_next_row(row, wf_layers_top(layers))))
		if (layers->count == 1 || wf_layer_is(&layers->layer[0], row->base))
			break;
	return row;
}

/* Does the name have rows with different bases? @name is without the base's name. */
static bool stand_in_fabric_has_other_base(
	const struct wf_stand_in *first, const struct wf_layers *name)
{
	const struct wf_stand_in *row = first;

	while (name->count == 1 &&
		(row = stand_in_fabric_next_row(row, &name->layer[0])))
		if (strcmp(row->base, first->base) && row->type != first->type)
			return true;
	return false;
}

int wf_stand_in_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fabric;
	struct wf_layers name;
	const struct wf_stand_in *row = stand_in_fabric_row_of(attr->prov_name, &name);
	int err;

	if (!row)
		return -FI_ENODEV;
	err = stand_in_fabric_open_base(
		row->base, attr->name, attr->api_version, &fabric, context);
	if (err)
		return err;
	if (stand_in_fabric_has_other_base(row, &name)) {
		err = stand_in_fabric_put_chooser(row, attr, fabric);
		if (err) {
			(void)fi_close(&fabric->fid);
			return err;
		}
	}
	FI_INFO(&wf_core_prov, FI_LOG_FABRIC, "%s stands for %s here\n",
		attr->prov_name, row->base);
	*ret_fabric = fabric;
	return 0;
}

struct fid_fabric *wf_stand_in_fabric_under(struct fid_fabric *fabric, const char *base)
{
	struct chooser *chooser = fabric ? stand_in_fabric_chooser_of(fabric) : NULL;
	struct fid_fabric *other;

	if (!chooser)
		return fabric;
	if (!strcmp(base, chooser->rows->base))
		return fabric;
	(void)pthread_mutex_lock(&chooser->lock);
	other = chooser->other;
	(void)pthread_mutex_unlock(&chooser->lock);
	return other;
}
