/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/endpoint/life/opt.h"
#include "objects/endpoint/log.h"

/*
 * Options of endpoints (fi_endpoint(3)). The transport's getopt and setopt are called
 * first, for options that only it knows; the table has the others. After the endpoint
 * is enabled only FI_OPT_MIN_MULTI_RECV can be set.
 */

struct option {
	int name;    /* FI_OPT_* */
	size_t size; /* bytes of the value */
	bool late;   /* May be set after the endpoint is enabled. */
	/* Read or set the value. set returns 0 or a negative fi_errno; NULL: the option
	 * cannot be set. */
	void (*get)(const struct wf_ep *ep, void *val);
	int (*set)(struct wf_ep *ep, const void *val);
};

static void opt_get_min_multi_recv(const struct wf_ep *ep, void *val)
{
	*(size_t *)val =
		atomic_load_explicit(&ep->min_multi_recv, memory_order_relaxed);
}

static int opt_set_min_multi_recv(struct wf_ep *ep, const void *val)
{
	atomic_store_explicit(
		&ep->min_multi_recv, *(const size_t *)val, memory_order_relaxed);
	return 0;
}

static int opt_set_size(
	const struct wf_ep *ep, size_t *field, size_t size, size_t limit)
{
	if (size > limit) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_setopt: size %zu asked, at most %zu is possible\n", size,
			limit);
		return -FI_EINVAL;
	}
	*field = size;
	return 0;
}

static void opt_get_max_msg_size(const struct wf_ep *ep, void *val)
{
	*(size_t *)val = ep->max_msg_size;
}

static int opt_set_max_msg_size(struct wf_ep *ep, const void *val)
{
	return opt_set_size(ep, &ep->max_msg_size, *(const size_t *)val,
		ep->info->ep_attr->max_msg_size);
}

static void opt_get_inject_size(const struct wf_ep *ep, void *val)
{
	*(size_t *)val = ep->inject_size;
}

static int opt_set_inject_size(struct wf_ep *ep, const void *val)
{
	return opt_set_size(ep, &ep->inject_size, *(const size_t *)val,
		ep->info->tx_attr->inject_size);
}

/* The library does not transfer device memory, so it never uses peer-to-peer
 * transfers. */
static void opt_get_p2p(const struct wf_ep *ep, void *val)
{
	(void)ep;
	*(int *)val = FI_HMEM_P2P_DISABLED;
}

static int opt_set_p2p(struct wf_ep *ep, const void *val)
{
	if (*(const int *)val == FI_HMEM_P2P_DISABLED)
		return 0;
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"fi_setopt: FI_OPT_FI_HMEM_P2P can only be FI_HMEM_P2P_DISABLED\n");
	return -FI_EOPNOTSUPP;
}

static int opt_set_cuda_permitted(struct wf_ep *ep, const void *val)
{
	(void)val;
	wf_ep_log(ep, FI_LOG_INFO, FI_LOG_EP_CTRL,
		"fi_setopt: no CUDA library is in use\n");
	return -FI_EINVAL;
}

static int opt_set_shared_memory(struct wf_ep *ep, const void *val)
{
	int ret;

	if (*(const bool *)val || !ep->xfer->forbid_shared_memory)
		return 0;
	ret = ep->xfer->forbid_shared_memory(ep);
	if (ret)
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_setopt: this endpoint cannot do without shared memory\n");
	return ret;
}

static const struct option options[] = {
	{ FI_OPT_MIN_MULTI_RECV, sizeof(size_t), true, opt_get_min_multi_recv,
		opt_set_min_multi_recv },
	{ FI_OPT_MAX_MSG_SIZE, sizeof(size_t), false, opt_get_max_msg_size,
		opt_set_max_msg_size },
	{ FI_OPT_INJECT_MSG_SIZE, sizeof(size_t), false, opt_get_inject_size,
		opt_set_inject_size },
	{ FI_OPT_FI_HMEM_P2P, sizeof(int), false, opt_get_p2p, opt_set_p2p },
	{ FI_OPT_CUDA_API_PERMITTED, sizeof(bool), false, NULL,
		opt_set_cuda_permitted },
	{ FI_OPT_SHARED_MEMORY_PERMITTED, sizeof(bool), false, NULL,
		opt_set_shared_memory },
};

static const struct option *opt_find_option(int level, int name)
{
	if (level != FI_OPT_ENDPOINT)
		return NULL;
	for (size_t i = 0; i < WF_ARRAY_SIZE(options); i++)
		if (options[i].name == name)
			return &options[i];
	return NULL;
}

static int opt_unknown(const struct wf_ep *ep, const char *call, int level, int name)
{
	wf_ep_log(ep, FI_LOG_INFO, FI_LOG_EP_CTRL, "%s: no option %d at level %d\n",
		call, name, level);
	return -FI_ENOPROTOOPT;
}

static int opt_get_own(struct wf_ep *ep, int level, int name, void *val, size_t *len)
{
	const struct option *option = opt_find_option(level, name);

	if (!option || !option->get)
		return opt_unknown(ep, "fi_getopt", level, name);
	if (*len < option->size) {
		*len = option->size;
		return -FI_ETOOSMALL;
	}
	option->get(ep, val);
	*len = option->size;
	return 0;
}

static int opt_set_own(
	struct wf_ep *ep, int level, int name, const void *val, size_t len)
{
	const struct option *option = opt_find_option(level, name);

	if (!option)
		return opt_unknown(ep, "fi_setopt", level, name);
	if (len != option->size) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_setopt: option %d has %zu bytes, not %zu\n", name,
			option->size, len);
		return -FI_EINVAL;
	}
	if (ep->enabled && !option->late) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_setopt: option %d cannot change once enabled\n", name);
		return -FI_EOPBADSTATE;
	}
	return option->set(ep, val);
}

int wf_ep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	struct wf_ep *ep = wf_ep_resolve(fid);
	int ret = -FI_ENOPROTOOPT;

	if (!val || !len)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->control);
	if (ep->xfer->getopt && level == FI_OPT_ENDPOINT)
		ret = ep->xfer->getopt(ep, name, val, len);
	if (ret == -FI_ENOPROTOOPT)
		ret = opt_get_own(ep, level, name, val, len);
	pthread_mutex_unlock(&ep->control);
	return ret;
}

int wf_ep_setopt(fid_t fid, int level, int name, const void *val, size_t len)
{
	struct wf_ep *ep = wf_ep_resolve(fid);
	int ret = -FI_ENOPROTOOPT;

	if (!val)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->control);
	if (ep->xfer->setopt && level == FI_OPT_ENDPOINT)
		ret = ep->xfer->setopt(ep, name, val, len);
	if (ret == -FI_ENOPROTOOPT)
		ret = opt_set_own(ep, level, name, val, len);
	pthread_mutex_unlock(&ep->control);
	return ret;
}
