/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/device.h"

#include <stdlib.h>
#include <string.h>

#include "objects/info/call.h"

/* fi_getinfo of a provider with devices, whose addresses only the provider
 * understands. */

struct address {
	void *at; /* @len bytes from malloc; NULL: no address */
	size_t len;
};

/* The two ends of the answers for one device. */
struct ends {
	struct address src, dest;
};

/* Arguments of one call of fi_getinfo, for all devices. */
struct question {
	const char *node, *service;
	uint64_t flags;
	const struct wf_devices *devices;
	bool refused; /* an address of the hints has no device's format */
};

static int device_copy(const void *addr, size_t len, struct address *ret)
{
	void *at = malloc(len);

	if (!at)
		return -FI_ENOMEM;
	*ret = (struct address){ .at = memcpy(at, addr, len), .len = len };
	return 0;
}

static bool device_fits(const struct question *question, const struct wf_device *device,
	const void *addr, size_t len, bool source)
{
	return !question->devices->addr_fits ||
	       question->devices->addr_fits(device, addr, len, source);
}

static int device_copy_hint(struct question *question, const struct wf_device *device,
	bool source, const void *addr, size_t len, struct address *ret,
	struct wf_info_reason *why)
{
	why->field = source ? "src_addr" : "dest_addr";
	if (len && question->devices->addr_ok(device, addr, len)) {
		if (device_fits(question, device, addr, len, source))
			return device_copy(addr, len, ret);
		(void)wf_info_deny_text(why, "another address",
			source ? "those of the device" : "what the device reaches");
		return -FI_ENODATA;
	}
	question->refused = true;
	(void)wf_info_deny_text(
		why, "another address", "an address of the device's format");
	return -FI_ENODATA;
}

static int device_resolve(const struct question *question,
	const struct wf_device *device, struct address *ret, struct wf_info_reason *why)
{
	const char *node = question->node, *service = question->service;
	int err = -FI_ENODATA;

	if (question->devices->resolve)
		err = question->devices->resolve(
			device, node, service, question->flags, &ret->at, &ret->len);
	if (err == -FI_ENODATA) {
		why->field = node ? "node" : "service";
		(void)wf_info_deny_text(why, node ? node : service, "%s",
			question->devices->resolve ? "what the device reaches"
						   : "addresses in the hints");
	}
	return err;
}

static void device_free_ends(struct ends *ends)
{
	free(ends->src.at);
	free(ends->dest.at);
}

/* Find the addresses of an answer for @device. 0; -FI_ENODATA, with @why filled: the
 * device does not have or reach the address that is asked for; -FI_ENOMEM. */
static int device_find_ends(struct question *question, const struct wf_device *device,
	const struct wf_info_ctx *ctx, struct ends *ret, struct wf_info_reason *why)
{
	struct wf_info_ends asked;
	int err = wf_info_ends(
		ctx, question->node, question->service, question->flags, &asked, why);

	if (!err && asked.named)
		err = device_resolve(
			question, device, asked.source ? &ret->src : &ret->dest, why);
	if (!err && asked.src)
		err = device_copy_hint(question, device, true, asked.src, asked.src_len,
			&ret->src, why);
	if (!err && asked.dest)
		err = device_copy_hint(question, device, false, asked.dest,
			asked.dest_len, &ret->dest, why);
	if (!err && !ret->src.at && device->addr)
		err = device_copy(device->addr, device->addr_len, &ret->src);
	return err;
}

static int device_give_addr(
	const struct address *from, void **ret_addr, size_t *ret_len)
{
	struct address to = { .at = NULL };
	int err = from->at ? device_copy(from->at, from->len, &to) : 0;

	*ret_addr = to.at;
	*ret_len = to.len;
	return err;
}

static int device_emit(struct wf_info_call *call, const struct wf_info_ctx *ctx,
	const struct wf_device *device, const struct ends *ends)
{
	struct fi_info *info = wf_info_build(ctx);
	int err;

	if (!info)
		return -FI_ENOMEM;
	err = wf_info_set_names(info, device->fabric, device->domain);
	if (!err)
		err = device_give_addr(&ends->src, &info->src_addr, &info->src_addrlen);
	if (!err)
		err = device_give_addr(
			&ends->dest, &info->dest_addr, &info->dest_addrlen);
	if (!err && device->nic)
		err = fi_control(&device->nic->fid, FI_DUP, &info->nic);
	if (err)
		fi_freeinfo(info);
	else
		wf_info_call_add(call, ctx, info);
	return err;
}

/* Answer with all templates of the device that meet the hints. */
static int device_answer_matched(struct wf_info_call *call, struct question *question,
	const struct wf_device *device)
{
	const struct wf_info_ctx *first = call->matched;
	struct ends ends = { .src.at = NULL };
	struct wf_info_reason why;
	int err = -FI_ENODATA;

	if (wf_info_names_met(first, device->fabric, device->domain, &why))
		err = device_find_ends(question, device, first, &ends, &why);
	if (err == -FI_ENODATA || err == -FI_EINVAL)
		wf_info_refuse(first, device->domain, &why);
	for (size_t i = 0; i < call->matched_count && !err; i++)
		err = device_emit(call, &call->matched[i], device, &ends);
	device_free_ends(&ends);
	return err;
}

static int device_answer_all(struct wf_info_call *call, struct question *question,
	const struct wf_info_ask *ask)
{
	const struct wf_devices *devices = question->devices;
	int err = 0;

	for (size_t i = 0; i < devices->count && !err; i++) {
		err = wf_info_call_match(call, ask, devices->list[i].templates);
		if (!err)
			err = device_answer_matched(call, question, &devices->list[i]);
		/* Another device may have the addresses. */
		if (err == -FI_ENODATA)
			err = 0;
	}
	return !err && !call->head && question->refused ? -FI_EINVAL : err;
}

int wf_device_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	const struct wf_info_ask ask = {
		.prov = prov,
		.version = version,
		.hints = hints,
	};
	struct question question = {
		.node = node,
		.service = service,
		.flags = flags,
		.devices = prov->devices(flags & FI_RESCAN),
	};
	struct wf_info_call call;
	int err = -FI_ENODEV;

	wf_info_call_init(&call);
	if (question.devices->count)
		err = device_answer_all(&call, &question, &ask);
	return wf_info_call_end(&call, err, ret_info);
}
