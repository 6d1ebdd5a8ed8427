/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/info.h"

#include <stdlib.h>
#include <string.h>

#include "sys/compiler.h"

static void info_lower(size_t *value, size_t other)
{
	*value = WF_MIN(*value, other);
}

static void info_fit_tx(struct fi_tx_attr *attr, const struct fi_tx_attr *above)
{
	attr->caps = 0;
	attr->op_flags = 0;
	attr->tclass = 0;
	attr->msg_order &= above->msg_order;
	info_lower(&attr->inject_size, above->inject_size);
	info_lower(&attr->size, above->size);
	info_lower(&attr->iov_limit, above->iov_limit);
	info_lower(&attr->rma_iov_limit, above->rma_iov_limit);
}

static void info_fit_rx(struct fi_rx_attr *attr, const struct fi_rx_attr *above)
{
	attr->caps = 0;
	attr->op_flags = 0;
	attr->msg_order &= above->msg_order;
	info_lower(&attr->size, above->size);
	info_lower(&attr->iov_limit, above->iov_limit);
}

void wf_lower_info_fit(struct fi_info *info, const struct fi_info *above)
{
	info->mode = above->mode;
	info_fit_tx(info->tx_attr, above->tx_attr);
	info_fit_rx(info->rx_attr, above->rx_attr);
	info_lower(&info->ep_attr->max_msg_size, above->ep_attr->max_msg_size);
}

bool wf_lower_info_set_source(
	struct fi_info *info, const void *addr, size_t len, uint32_t format)
{
	void *copy = calloc(1, len + 1);

	if (!copy)
		return false;
	free(info->src_addr);
	info->src_addr = memcpy(copy, addr, len);
	info->src_addrlen = len + (format == FI_ADDR_STR);
	return true;
}
