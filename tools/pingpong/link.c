/* SPDX-License-Identifier: BSD-2-Clause */
#include "link.h"
#include "message.h"
#include "transfer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 4096 };

int pp_link_open_fabric(struct pp_link *link)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	int ret;

	ret = fi_fabric(link->info->fabric_attr, &link->fabric, NULL);
	if (ret)
		return pp_fail("fi_fabric", ret);
	if (link->ep_type != FI_EP_MSG)
		return 0;
	ret = fi_eq_open(link->fabric, &eq_attr, &link->eq, NULL);
	return ret ? pp_fail("fi_eq_open", ret) : 0;
}

/* The sizes that this endpoint can send; an error if that leaves nothing to do. */
static int link_choose_sizes(struct pp_link *link)
{
	size_t limit = link->info->ep_attr->max_msg_size;

	pp_sizes_fill(&link->sizes, &link->options->size, limit);
	if (link->sizes.count)
		return 0;
	pp_say("the endpoint sends at most %zu bytes", limit);
	return -FI_EMSGSIZE;
}

static int link_alloc_buffer(size_t len, char **ret_buf)
{
	void *buf;

	if (posix_memalign(&buf, ALIGNMENT, len))
		return -FI_ENOMEM;
	memset(buf, 0, len);
	*ret_buf = buf;
	return 0;
}

static int link_alloc_buffers(struct pp_link *link)
{
	size_t largest = pp_sizes_largest(&link->sizes);
	int ret;

	/* The closing message must fit, also if all sizes are smaller. */
	if (largest < PP_FIN_LEN)
		largest = PP_FIN_LEN;
	link->prefix = link->info->mode & FI_MSG_PREFIX
			       ? link->info->ep_attr->msg_prefix_size
			       : 0;
	link->buf_len = link->prefix + largest;
	ret = link_alloc_buffer(link->buf_len, &link->tx_buf);
	if (!ret)
		ret = link_alloc_buffer(link->buf_len, &link->rx_buf);
	return ret ? pp_fail("buffers", ret) : 0;
}

static int link_open_queues(struct pp_link *link)
{
	struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = FI_WAIT_NONE,
	};
	int ret;

	ret = fi_cq_open(link->domain, &attr, &link->tx_cq, NULL);
	if (!ret)
		ret = fi_cq_open(link->domain, &attr, &link->rx_cq, NULL);
	return ret ? pp_fail("fi_cq_open", ret) : 0;
}

static int link_open_av(struct pp_link *link)
{
	struct fi_av_attr attr = {
		.type = link->info->domain_attr->av_type,
		.count = 1,
	};
	int ret;

	if (link->ep_type == FI_EP_MSG)
		return 0;
	ret = fi_av_open(link->domain, &attr, &link->av, NULL);
	return ret ? pp_fail("fi_av_open", ret) : 0;
}

static int link_bind_endpoint(struct pp_link *link)
{
	int ret = 0;

	if (link->eq)
		ret = fi_ep_bind(link->ep, &link->eq->fid, 0);
	if (!ret && link->av)
		ret = fi_ep_bind(link->ep, &link->av->fid, 0);
	if (!ret)
		ret = fi_ep_bind(link->ep, &link->tx_cq->fid, FI_TRANSMIT);
	if (!ret)
		ret = fi_ep_bind(link->ep, &link->rx_cq->fid, FI_RECV);
	return ret ? pp_fail("fi_ep_bind", ret) : 0;
}

static int link_register_buffer(struct pp_link *link, char *buf, uint64_t access,
	uint64_t key, struct fid_mr **ret_mr, void **ret_desc)
{
	int ret;

	ret = fi_mr_reg(
		link->domain, buf, link->buf_len, access, 0, key, 0, ret_mr, NULL);
	if (ret)
		return pp_fail("fi_mr_reg", ret);
	if (link->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ret = fi_mr_bind(*ret_mr, &link->ep->fid, 0);
		if (!ret)
			ret = fi_mr_enable(*ret_mr);
		if (ret)
			return pp_fail("fi_mr_bind", ret);
	}
	*ret_desc = fi_mr_desc(*ret_mr);
	return 0;
}

static int link_register_buffers(struct pp_link *link)
{
	int ret;

	if (!(link->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	ret = link_register_buffer(
		link, link->tx_buf, FI_SEND, 1, &link->tx_mr, &link->tx_desc);
	if (!ret)
		ret = link_register_buffer(
			link, link->rx_buf, FI_RECV, 2, &link->rx_mr, &link->rx_desc);
	return ret;
}

int pp_link_open_endpoint(struct pp_link *link)
{
	int ret;

	ret = link_choose_sizes(link);
	if (!ret)
		ret = link_alloc_buffers(link);
	if (ret)
		return ret;
	ret = fi_domain(link->fabric, link->info, &link->domain, NULL);
	if (ret)
		return pp_fail("fi_domain", ret);
	ret = link_open_queues(link);
	if (!ret)
		ret = link_open_av(link);
	if (ret)
		return ret;
	ret = fi_endpoint(link->domain, link->info, &link->ep, NULL);
	if (ret)
		return pp_fail("fi_endpoint", ret);
	ret = link_bind_endpoint(link);
	if (ret)
		return ret;
	ret = fi_enable(link->ep);
	if (ret)
		return pp_fail("fi_enable", ret);
	ret = link_register_buffers(link);
	return ret ? ret : pp_post_recv(link);
}

#define CLOSE(object)                                                                  \
	do {                                                                           \
		if (object)                                                            \
			(void)fi_close(&(object)->fid);                                \
		(object) = NULL;                                                       \
	} while (0)

/* Closes an object before the objects that it uses. */
void pp_link_close(struct pp_link *link)
{
	CLOSE(link->ep);
	CLOSE(link->pep);
	CLOSE(link->tx_mr);
	CLOSE(link->rx_mr);
	CLOSE(link->av);
	CLOSE(link->tx_cq);
	CLOSE(link->rx_cq);
	CLOSE(link->domain);
	CLOSE(link->eq);
	CLOSE(link->fabric);
	free(link->tx_buf);
	free(link->rx_buf);
	if (link->info)
		fi_freeinfo(link->info);
	if (link->listen_info)
		fi_freeinfo(link->listen_info);
	if (link->control >= 0)
		close(link->control);
}
