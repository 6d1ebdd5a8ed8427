/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/param.h"

/* Queries of the devices: limits, ports, and the largest inline payload of a send. */

/* The inline size of a queue pair that is created with @size; 0: the device refuses. */
static uint32_t probe_try_inline(
	struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type, uint32_t size)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = size,
		},
		.qp_type = type,
	};
	struct ibv_qp *qp = VERBS_IBV(create_qp(pd, &attr));

	if (!qp)
		return 0;
	(void)VERBS_IBV(destroy_qp(qp));
	return WF_MAX(attr.cap.max_inline_data, size);
}

/* Search the largest inline size up to @limit with which a queue pair can be created,
 * because no attribute of the device contains it. */
static uint32_t probe_search_inline(
	struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type, uint32_t limit)
{
	uint32_t low = 0, high = limit;

	if (probe_try_inline(pd, cq, type, limit))
		return limit;
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (probe_try_inline(pd, cq, type, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

enum { INLINE_LIMIT = 4096 };

static void probe_find_inline(struct ibv_context *context, struct verbs_device *device)
{
	struct ibv_pd *pd = VERBS_IBV(alloc_pd(context));
	struct ibv_cq *cq = VERBS_IBV(create_cq(context, 1, NULL, NULL, 0));
	uint32_t asked = (uint32_t)verbs_params.inline_size;
	uint32_t limit = asked ? asked : INLINE_LIMIT;

	if (pd && cq) {
		device->inline_size = probe_search_inline(pd, cq, IBV_QPT_RC, limit);
		device->ud_inline_size = probe_search_inline(pd, cq, IBV_QPT_UD, limit);
	}
	if (cq)
		(void)VERBS_IBV(destroy_cq(cq));
	if (pd)
		(void)VERBS_IBV(dealloc_pd(pd));
}

void verbs_device_done(struct verbs_device *device)
{
	if (device->nic)
		(void)fi_close(&device->nic->fid);
	free(device->name);
	free(device->fabric);
	free(device->msg_domain);
	free(device->dgram_domain);
}

static char *probe_print(const char *format, const char *name, unsigned int number)
{
	char *text = NULL;

	return asprintf(&text, format, name, number) < 0 ? NULL : text;
}

static bool probe_set_names(struct verbs_device *device)
{
	uint64_t subnet = be64toh(device->gid.global.subnet_prefix);
	char *fabric = NULL;

	device->msg_domain = device->port == 1
				     ? strdup(device->name)
				     : probe_print("%s:%u", device->name, device->port);
	if (device->msg_domain)
		device->dgram_domain = probe_print("%s-dgram", device->msg_domain, 0);
	if (device->iwarp)
		fabric = strdup("Ethernet-iWARP");
	else if (asprintf(&fabric, "IB-0x%llx", (unsigned long long)subnet) < 0)
		fabric = NULL;
	device->fabric = fabric;
	return device->dgram_domain && fabric;
}

/* Fill @ret for one port. 0; -FI_ENODATA: the port is not used; or -FI_ENOMEM. */
static int probe_port(struct ibv_context *context, const struct verbs_device *base,
	uint8_t port, struct verbs_device *ret)
{
	int err;

	*ret = *base;
	ret->port = port;
	err = VERBS_IBV(query_port(
		context, port, (struct _compat_ibv_port_attr *)&ret->port_attr));
	if (!err)
		err = VERBS_IBV(query_gid(
			context, port, (int)verbs_params.gid_index, &ret->gid));
	if (err) {
		verbs_log(FI_LOG_INFO, FI_LOG_CORE,
			"port %u of %s is left out: it has no GID %zu, or does not "
			"answer\n",
			port, base->name, verbs_params.gid_index);
		return -FI_ENODATA;
	}
	ret->name = strdup(base->name);
	if (ret->name && probe_set_names(ret))
		ret->nic = verbs_nic_new(ret, context->device);
	if (ret->nic)
		return 0;
	verbs_device_done(ret);
	return -FI_ENOMEM;
}

static int probe_add_port(struct ibv_context *context, const struct verbs_device *base,
	uint8_t port, struct verbs_device **list, size_t *count)
{
	struct verbs_device *more =
		realloc(*list, (*count + 1) * sizeof(struct verbs_device));
	int err;

	if (!more)
		return -FI_ENOMEM;
	*list = more;
	err = probe_port(context, base, port, &more[*count]);
	*count += !err;
	return err == -FI_ENODATA ? 0 : err;
}

static bool probe_has_odp(struct ibv_context *context)
{
	const struct verbs_context *more = verbs_get_ctx_op(context, query_device_ex);
	struct ibv_device_attr_ex attr = { .comp_mask = 0 };

	return more && !more->query_device_ex(context, NULL, &attr, sizeof(attr)) &&
	       attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
}

static int probe_device(
	struct ibv_device *ibv, struct verbs_device **list, size_t *count)
{
	const char *name = VERBS_IBV(get_device_name(ibv));
	struct verbs_device base = { .name = (char *)(uintptr_t)name };
	struct ibv_context *context;
	int err;

	if (!verbs_listed(verbs_params.device_names, name))
		return 0;
	context = VERBS_IBV(open_device(ibv));
	if (!context || VERBS_IBV(query_device(context, &base.attr))) {
		verbs_log(FI_LOG_INFO, FI_LOG_CORE, "%s is left out: %s\n", name,
			fi_strerror(errno));
		err = 0;
		goto out;
	}
	base.iwarp = ibv->transport_type == IBV_TRANSPORT_IWARP;
	probe_find_inline(context, &base);
	base.odp = probe_has_odp(context);
	err = 0;
	for (uint8_t port = 1; port <= base.attr.phys_port_cnt && !err; port++)
		err = probe_add_port(context, &base, port, list, count);
out:
	if (context)
		(void)VERBS_IBV(close_device(context));
	return err;
}

int verbs_probe(struct verbs_device **ret, size_t *count)
{
	struct ibv_device **list = VERBS_IBV(get_device_list(NULL));
	int err = 0;

	for (size_t i = 0; list && list[i] && !err; i++)
		err = probe_device(list[i], ret, count);
	if (list)
		VERBS_IBV(free_device_list(list));
	return err;
}

static struct ibv_device *probe_find(struct ibv_device **list, const char *name)
{
	for (size_t i = 0; list && list[i]; i++)
		if (!strcmp(VERBS_IBV(get_device_name(list[i])), name))
			return list[i];
	return NULL;
}

int verbs_device_open(
	const struct verbs_device *device, struct ibv_context **ret_context)
{
	struct ibv_device **list = VERBS_IBV(get_device_list(NULL));
	struct ibv_device *ibv = probe_find(list, device->name);
	struct ibv_context *context = NULL;
	int err = FI_ENODEV;

	if (ibv) {
		context = VERBS_IBV(open_device(ibv));
		err = errno;
	}
	if (list)
		VERBS_IBV(free_device_list(list));
	if (!context)
		return verbs_failed(FI_LOG_DOMAIN, "ibv_open_device", err);
	*ret_context = context;
	return 0;
}
