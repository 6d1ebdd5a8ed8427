/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/info.h"
#include "sys/compiler.h"

/*
 * An info owns its addresses, attribute structs, names, authorisation keys and NIC
 * record. It does not own handle, the open fabric and domain that it may point to,
 * nor an accelerator context.
 *
 * A copy is attached to the new info as soon as it exists and before its own
 * pointers are filled, so that wf_freeinfo undoes a copy that failed anywhere.
 */

static void info_free_ep_attr(struct fi_ep_attr *attr)
{
	if (!attr)
		return;
	free(attr->auth_key);
	free(attr);
}

static void info_free_domain_attr(struct fi_domain_attr *attr)
{
	if (!attr)
		return;
	free(attr->name);
	free(attr->auth_key);
	free(attr);
}

static void info_free_fabric_attr(struct fi_fabric_attr *attr)
{
	if (!attr)
		return;
	free(attr->name);
	free(attr->prov_name);
	free(attr);
}

static void info_free_nic(struct fid_nic *nic)
{
	if (nic && FI_CHECK_OP(nic->fid.ops, struct fi_ops, close))
		(void)fi_close(&nic->fid);
}

void wf_freeinfo(struct fi_info *list)
{
	while (list) {
		struct fi_info *info = list;

		list = info->next;
		free(info->src_addr);
		free(info->dest_addr);
		free(info->tx_attr);
		free(info->rx_attr);
		info_free_ep_attr(info->ep_attr);
		info_free_domain_attr(info->domain_attr);
		info_free_fabric_attr(info->fabric_attr);
		info_free_nic(info->nic);
		free(info);
	}
}

/* If @len is 0 or @src NULL, the copy is NULL. False: out of memory. */
static bool info_dup_bytes(void *ret_copy, const void *src, size_t len)
{
	void *copy = NULL;

	if (src && len) {
		copy = malloc(len);
		if (!copy)
			return false;
		memcpy(copy, src, len);
	}
	*(void **)ret_copy = copy;
	return true;
}

static bool info_dup_text(char **ret_copy, const char *src)
{
	return info_dup_bytes(ret_copy, src, src ? strlen(src) + 1 : 0);
}

/* FI_AV_AUTH_KEY as the size means that keys are in an AV, which is not supported. */
static bool info_dup_key(uint8_t **ret_copy, const uint8_t *key, size_t size)
{
	return info_dup_bytes(ret_copy, key, size == FI_AV_AUTH_KEY ? 0 : size);
}

static bool info_dup_ep_attr(struct fi_ep_attr **ret_copy, const struct fi_ep_attr *src)
{
	if (!info_dup_bytes(ret_copy, src, sizeof(*src)))
		return false;
	if (!src)
		return true;
	(*ret_copy)->auth_key = NULL;
	return info_dup_key(&(*ret_copy)->auth_key, src->auth_key, src->auth_key_size);
}

static bool info_dup_domain_attr(
	struct fi_domain_attr **ret_copy, const struct fi_domain_attr *src)
{
	if (!info_dup_bytes(ret_copy, src, sizeof(*src)))
		return false;
	if (!src)
		return true;
	(*ret_copy)->name = NULL;
	(*ret_copy)->auth_key = NULL;
	return info_dup_text(&(*ret_copy)->name, src->name) &&
	       info_dup_key(&(*ret_copy)->auth_key, src->auth_key, src->auth_key_size);
}

static bool info_dup_fabric_attr(
	struct fi_fabric_attr **ret_copy, const struct fi_fabric_attr *src)
{
	if (!info_dup_bytes(ret_copy, src, sizeof(*src)))
		return false;
	if (!src)
		return true;
	(*ret_copy)->name = NULL;
	(*ret_copy)->prov_name = NULL;
	return info_dup_text(&(*ret_copy)->name, src->name) &&
	       info_dup_text(&(*ret_copy)->prov_name, src->prov_name);
}

/* A NIC record that cannot be copied is left out of the copy. */
static bool info_dup_nic(struct fid_nic **ret_copy, struct fid_nic *src)
{
	struct fid_nic *copy = NULL;
	int err;

	*ret_copy = NULL;
	if (!src || !FI_CHECK_OP(src->fid.ops, struct fi_ops, control))
		return true;
	err = fi_control(&src->fid, FI_DUP, &copy);
	if (err == -FI_ENOSYS)
		return true;
	if (err)
		return false;
	*ret_copy = copy;
	return true;
}

static struct fi_info *info_new(void)
{
	struct fi_info *info = calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	info->tx_attr = calloc(1, sizeof(*info->tx_attr));
	info->rx_attr = calloc(1, sizeof(*info->rx_attr));
	info->ep_attr = calloc(1, sizeof(*info->ep_attr));
	info->domain_attr = calloc(1, sizeof(*info->domain_attr));
	info->fabric_attr = calloc(1, sizeof(*info->fabric_attr));
	if (info->tx_attr && info->rx_attr && info->ep_attr && info->domain_attr &&
		info->fabric_attr)
		return info;
	wf_freeinfo(info);
	return NULL;
}

struct fi_info *wf_dupinfo(const struct fi_info *info)
{
	struct fi_info *copy;

	if (!info)
		return info_new();
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return NULL;
	copy->caps = info->caps;
	copy->mode = info->mode;
	copy->addr_format = info->addr_format;
	copy->src_addrlen = info->src_addrlen;
	copy->dest_addrlen = info->dest_addrlen;
	copy->handle = info->handle;
	if (info_dup_bytes(&copy->src_addr, info->src_addr, info->src_addrlen) &&
		info_dup_bytes(&copy->dest_addr, info->dest_addr, info->dest_addrlen) &&
		info_dup_bytes(&copy->tx_attr, info->tx_attr, sizeof(*info->tx_attr)) &&
		info_dup_bytes(&copy->rx_attr, info->rx_attr, sizeof(*info->rx_attr)) &&
		info_dup_ep_attr(&copy->ep_attr, info->ep_attr) &&
		info_dup_domain_attr(&copy->domain_attr, info->domain_attr) &&
		info_dup_fabric_attr(&copy->fabric_attr, info->fabric_attr) &&
		info_dup_nic(&copy->nic, info->nic))
		return copy;
	wf_freeinfo(copy);
	return NULL;
}
