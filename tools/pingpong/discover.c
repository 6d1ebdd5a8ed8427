/* SPDX-License-Identifier: BSD-2-Clause */
#include "link.h"
#include "message.h"
#include "reasons.h"

#include <string.h>

/* The demands of a provider that this program can meet. */
#define MODES (FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX)
#define MR_MODES                                                                       \
	(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |            \
		FI_MR_ENDPOINT)

static int discover_copy_name(const char *name, char **field)
{
	if (!name)
		return 0;
	*field = strdup(name);
	return *field ? 0 : -FI_ENOMEM;
}

static int discover_copy_names(const struct pp_options *o, struct fi_info *hints)
{
	int ret;

	ret = discover_copy_name(o->provider, &hints->fabric_attr->prov_name);
	if (!ret)
		ret = discover_copy_name(o->fabric, &hints->fabric_attr->name);
	if (!ret)
		ret = discover_copy_name(o->domain, &hints->domain_attr->name);
	return ret;
}

struct fi_info *pp_hints_new(const struct pp_options *o)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = o->tagged ? FI_TAGGED : FI_MSG;
	hints->mode = MODES;
	hints->domain_attr->mode = MODES;
	hints->domain_attr->mr_mode = MR_MODES;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	if (discover_copy_names(o, hints)) {
		fi_freeinfo(hints);
		return NULL;
	}
	return hints;
}

static int discover_ask(
	struct pp_link *link, struct fi_info *hints, enum fi_ep_type type)
{
	const struct pp_options *o = link->options;
	int ret;

	hints->ep_attr->type = type;
	/* A size given by -S must fit into a datagram. For other endpoint types the
	 * list of sizes is cut, with a message. */
	hints->ep_attr->max_msg_size =
		type == FI_EP_DGRAM && o->size.choice == PP_SIZES_ONE ? o->size.one : 0;
	ret = fi_getinfo(fi_version(), o->src_addr, NULL, o->src_addr ? FI_SOURCE : 0,
		hints, &link->info);
	if (ret)
		link->info = NULL;
	return ret;
}

/* Without -e: datagrams, as every fi_pingpong takes, else the first type that the
 * provider has. */
static int discover_ask_for_any(struct pp_link *link, struct fi_info *hints)
{
	int ret = discover_ask(link, hints, FI_EP_DGRAM);

	return ret == -FI_ENODATA ? discover_ask(link, hints, FI_EP_UNSPEC) : ret;
}

struct question {
	struct pp_link *link;
	struct fi_info *hints;
	int (*ask)(struct pp_link *link, struct fi_info *hints);
};

static int discover_ask_again(void *arg)
{
	const struct question *question = arg;
	int ret = question->ask(question->link, question->hints);

	if (!ret)
		fi_freeinfo(question->link->info);
	question->link->info = NULL;
	return ret;
}

/* Print what has failed, and why. */
static int discover_fail(const struct question *question, int error)
{
	struct question again = *question;
	int ret = pp_fail("fi_getinfo", error);

	reasons_tell(
		stderr, question->link->options->provider, discover_ask_again, &again);
	return ret;
}

static int discover_ask_for_type(struct pp_link *link, struct fi_info *hints)
{
	return discover_ask(link, hints, link->ep_type);
}

int pp_link_choose_type(struct pp_link *link)
{
	struct question question = { link, pp_hints_new(link->options),
		discover_ask_for_any };
	int ret;

	link->ep_type = link->options->ep_type;
	if (link->ep_type) {
		fi_freeinfo(question.hints);
		return 0;
	}
	if (!question.hints)
		return pp_fail("hints", -FI_ENOMEM);
	ret = discover_ask_for_any(link, question.hints);
	if (ret)
		ret = discover_fail(&question, ret);
	fi_freeinfo(question.hints);
	if (ret)
		return ret;
	link->ep_type = link->info->ep_attr->type;
	fi_freeinfo(link->info);
	link->info = NULL;
	return 0;
}

int pp_link_getinfo(struct pp_link *link, struct fi_info *hints)
{
	const struct question question = { link, hints, discover_ask_for_type };
	int ret = discover_ask_for_type(link, hints);

	if (ret)
		return discover_fail(&question, ret);
	pp_debug("using this interface:\n%s", fi_tostr(link->info, FI_TYPE_INFO));
	return 0;
}
