/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REACH (FI_LOCAL_COMM | FI_REMOTE_COMM)

static bool answer_is_wanted(
	const struct wf_lower_needs *needs, const char *name, size_t len)
{
	return *name != '^' && (len != strlen(needs->layer) ||
				       strncasecmp(name, needs->layer, len) != 0);
}

bool wf_lower_name(const struct wf_lower_needs *needs, const char *name, char **ret)
{
	char *rest, *to;
	size_t len;

	*ret = NULL;
	if (!name)
		return true;
	rest = to = calloc(1, strlen(name) + 1);
	if (!rest)
		return false;
	for (; *name; name += len + (name[len] == ';')) {
		len = strcspn(name, ";");
		if (!answer_is_wanted(needs, name, len))
			continue;
		if (to != rest)
			*to++ = ';';
		memcpy(to, name, len);
		to += len;
	}
	if (to != rest)
		*ret = rest;
	else
		free(rest);
	return true;
}

static bool lower_answer_copy_text(char **to, const char *from)
{
	free(*to);
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

static bool answer_copy_addr(void **to, size_t *to_len, const void *from, size_t len)
{
	free(*to);
	*to = from ? calloc(1, len + 1) : NULL;
	*to_len = 0;
	if (!*to)
		return !from;
	memcpy(*to, from, len);
	*to_len = len;
	return true;
}

static bool answer_copy_addrs(struct fi_info *to, const struct fi_info *from)
{
	to->addr_format = from->addr_format;
	return answer_copy_addr(&to->src_addr, &to->src_addrlen, from->src_addr,
		       from->src_addrlen) &&
	       answer_copy_addr(&to->dest_addr, &to->dest_addrlen, from->dest_addr,
		       from->dest_addrlen);
}

static bool answer_copy_names(const struct wf_lower_needs *needs,
	const struct fi_info *above, struct fi_info *hints)
{
	const struct fi_domain_attr *domain = above->domain_attr;
	const struct fi_fabric_attr *fabric = above->fabric_attr;

	if (domain && !lower_answer_copy_text(&hints->domain_attr->name, domain->name))
		return false;
	return !fabric ||
	       (wf_lower_name(
			needs, fabric->prov_name, &hints->fabric_attr->prov_name) &&
		       lower_answer_copy_text(&hints->fabric_attr->name, fabric->name));
}

struct fi_info *wf_lower_hints(
	const struct wf_lower_needs *needs, const struct fi_info *above)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = needs->caps;
	hints->mode = needs->mode;
	hints->ep_attr->type = needs->type;
	hints->domain_attr->mr_mode = needs->mr_mode;
	if (!above)
		return hints;
	hints->caps |= above->caps & REACH;
	if (above->domain_attr)
		hints->caps |= above->domain_attr->caps & REACH;
	if (answer_copy_addrs(hints, above) && answer_copy_names(needs, above, hints))
		return hints;
	fi_freeinfo(hints);
	return NULL;
}

int wf_lower_adopt(struct fi_info *info, const struct fi_info *below)
{
	info->caps &= ~REACH | below->caps;
	info->domain_attr->caps &= ~REACH | below->caps;
	if (!lower_answer_copy_text(
		    &info->fabric_attr->prov_name, below->fabric_attr->prov_name) ||
		!answer_copy_addrs(info, below))
		return -FI_ENOMEM;
	return below->nic ? fi_control(&below->nic->fid, FI_DUP, &info->nic) : 0;
}

void wf_lower_strip(struct fi_info *info)
{
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = info->dest_addr = NULL;
	info->src_addrlen = info->dest_addrlen = 0;
	info->handle = NULL;
	info->domain_attr->domain = NULL;
	info->fabric_attr->fabric = NULL;
}
