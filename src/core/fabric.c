/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "core/fabric.h"
#include "core/init.h"
#include "core/log/log.h"
#include "core/missing.h"
#include "core/compat/old_peer.h"
#include "core/registry.h"
#include "core/params/settings.h"
#include "sys/compiler.h"

/* A provider built for an older version has no api_version in its struct fid_fabric. */
#define FIRST_WITH_API_VERSION FI_VERSION(1, 5)

static const struct wf_prov_entry *fabric_find_hook(const struct wf_layer *name)
{
	char full[FI_NAME_MAX];
	const struct wf_prov_entry *entry = wf_registry_find(name);
	int len;

	if (!entry) {
		len = snprintf(full, sizeof(full), "ofi_hook_%.*s", (int)name->len,
			name->text);
		if (len > 0 && len < (int)sizeof(full))
			entry = wf_registry_find(
				&(struct wf_layer){ full, (size_t)len });
	}
	if (!entry || entry->hidden || wf_prov_kind(entry->prov->name) != WF_PROV_HOOK)
		return NULL;
	return entry;
}

/* Wrap *@fabric in the hook @name: a provider whose fabric callback gets the fabric to
 * wrap as attr->fabric, and owns that fabric from then on. */
static void fabric_put_hook(const struct wf_layer *name,
	const struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	const struct wf_prov_entry *entry = fabric_find_hook(name);
	struct fi_fabric_attr hooked = *attr;
	struct fid_fabric *front = NULL;
	int err;

	if (!entry) {
		wf_missing_hook(name);
		return;
	}
	hooked.fabric = *fabric;
	err = entry->prov->fabric(&hooked, &front, context);
	if (err || !front)
		FI_WARN(entry->prov, FI_LOG_FABRIC,
			"FI_HOOK: this hook is left out: %s\n", fi_strerror(-err));
	else
		*fabric = front;
}

/* The next name in FI_HOOK. False at the end. */
static bool fabric_next_hook(const char **cursor, struct wf_layer *ret_name)
{
	const char *text = *cursor;

	while (text && *text == ';')
		text++;
	if (!text || !*text)
		return false;
	*ret_name = (struct wf_layer){ text, strcspn(text, ";") };
	*cursor = text + ret_name->len;
	return true;
}

static void fabric_put_hooks(
	const struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	const char *text = wf_settings.hooks;
	struct wf_layer name;

	while (fabric_next_hook(&text, &name))
		fabric_put_hook(&name, attr, fabric, context);
}

void wf_core_check_hooks(void)
{
	const char *text = wf_settings.hooks;
	struct wf_layer name;

	while (fabric_next_hook(&text, &name))
		if (!fabric_find_hook(&name))
			wf_missing_hook(&name);
}

/* The provider on top of the layers that @prov_name names. */
static const struct wf_prov_entry *fabric_find_provider(const char *prov_name)
{
	const struct wf_prov_entry *entry = NULL;
	struct wf_layers layers;

	if (wf_layers_parse(prov_name, strlen(prov_name), &layers))
		entry = wf_registry_find(wf_layers_top(&layers));
	if (!entry || !entry->prov->getinfo) {
		FI_WARN(&wf_core_prov, FI_LOG_FABRIC, "there is no provider %s\n",
			prov_name);
		return NULL;
	}
	if (!wf_prov_usable_by_name(entry)) {
		FI_WARN(&wf_core_prov, FI_LOG_FABRIC,
			"provider %s is ruled out by FI_PROVIDER, which is %s\n",
			prov_name, wf_settings.providers.text);
		return NULL;
	}
	return entry;
}

/* Adapt the fabric of a provider library that was built for an older fi_peer(3). */
static int fabric_adapt(const struct wf_prov_entry *entry, struct fid_fabric *fabric)
{
	const struct wf_old_peer *old = wf_old_peer_of(entry->prov->fi_version);
	int err = old && entry->dl ? wf_old_peer_adapt(old, fabric) : 0;

	if (err)
		(void)fi_close(&fabric->fid);
	return err;
}

int wf_core_fabric_below(const struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context)
{
	const struct wf_prov_entry *entry = fabric_find_provider(attr->prov_name);
	struct fi_fabric_attr copy = *attr;
	struct fid_fabric *fabric = NULL;
	int err;

	if (!entry)
		return -FI_ENODEV;
	err = entry->prov->fabric(&copy, &fabric, context);
	if (!err && !fabric)
		err = -FI_EOTHER;
	if (err) {
		FI_WARN(entry->prov, FI_LOG_FABRIC, "fabric %s was not opened: %s\n",
			attr->name, fi_strerror(-err));
		return err;
	}
	if (FI_VERSION_GE(entry->prov->fi_version, FIRST_WITH_API_VERSION))
		fabric->api_version = attr->api_version;
	err = fabric_adapt(entry, fabric);
	if (!err)
		*ret_fabric = fabric;
	return err;
}

int wf_core_fabric(const struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
	void *context)
{
	struct fid_fabric *fabric;
	int err;

	if (!attr || !attr->prov_name || !attr->name || !ret_fabric) {
		FI_WARN(&wf_core_prov, FI_LOG_FABRIC,
			"fi_fabric needs attributes with the name of a fabric and of "
			"its "
			"provider, and memory for the result\n");
		return -FI_EINVAL;
	}
	wf_core_init();
	err = wf_core_fabric_below(attr, &fabric, context);
	if (err)
		return err;
	fabric_put_hooks(attr, &fabric, context);
	*ret_fabric = fabric;
	return 0;
}

WF_EXPORT int fi_fabric2(
	struct fi_info *info, struct fid_fabric **fabric, uint64_t flags, void *context)
{
	if (!info || flags) {
		FI_WARN(&wf_core_prov, FI_LOG_FABRIC,
			"fi_fabric2 needs an info and takes no flags: asked 0x%llx\n",
			(unsigned long long)flags);
		return -FI_EINVAL;
	}
	return wf_core_fabric(info->fabric_attr, fabric, context);
}
