/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/fabric.h"
#include "core/getinfo.h"
#include "core/info.h"
#include "sys/compiler.h"

/*
 * The calls that exist once per version of the interface's structs.
 *
 * The symbol version that a program was linked with determines how large the structs
 * are that it passes. Structs only ever grew at the end, so an older one is read up to
 * its own size and is zero from there on. Structs that the library returns always have
 * the current layout: an older program does not read the end.
 *
 * libfabric.map says which release introduced which version.
 */

enum structure { INFO, TX, RX, EP, DOMAIN, FABRIC, STRUCTURES };

enum node { V1_0, V1_1, V1_2, V1_3, V1_7, V1_8, V1_9, V1_10, NODES };

/* Sizes in bytes of the structs of each version: info, tx, rx, ep, domain, fabric. One
 * difference is not visible in the size: at 1.0 the last four bytes of struct
 * fi_fabric_attr were padding. */
static const size_t sizes[NODES][STRUCTURES] = {
	[V1_0] = { 112, 72, 64, 80, 120, 28 },
	[V1_1] = { 112, 72, 64, 96, 184, 32 },
	[V1_2] = { 120, 72, 64, 96, 184, 32 },
	[V1_3] = { 120, 80, 64, 96, 192, 32 },
	[V1_7] = { 120, 80, 64, 96, 200, 32 },
	[V1_8] = { 120, 80, 64, 96, 208, 32 },
	[V1_9] = { 120, 80, 64, 96, 224, 32 },
	[V1_10] = { 120, 80, 64, 104, 232, 32 },
};

static_assert(sizeof(struct fi_info) == 120 && sizeof(struct fi_tx_attr) == 80 &&
		      sizeof(struct fi_rx_attr) == 64 &&
		      sizeof(struct fi_ep_attr) == 104 &&
		      sizeof(struct fi_domain_attr) == 232 &&
		      sizeof(struct fi_fabric_attr) == 32,
	"a struct grew: it needs a new version of the calls");

/* An info with its attributes in the current layout. */
struct wide {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

/* Offset of the pointer to an attribute struct in struct fi_info, and of the copy of
 * that struct in struct wide. */
static const struct {
	size_t pointer;
	size_t copy;
} attr_offsets[STRUCTURES] = {
	[TX] = { offsetof(struct wide, info.tx_attr), offsetof(struct wide, tx) },
	[RX] = { offsetof(struct wide, info.rx_attr), offsetof(struct wide, rx) },
	[EP] = { offsetof(struct wide, info.ep_attr), offsetof(struct wide, ep) },
	[DOMAIN] = { offsetof(struct wide, info.domain_attr),
		offsetof(struct wide, domain) },
	[FABRIC] = { offsetof(struct wide, info.fabric_attr),
		offsetof(struct wide, fabric) },
};

/* Copy @old, which has the layout of @node, to @wide in the current layout. */
static const struct fi_info *compat_widen(
	enum node node, const struct fi_info *old, struct wide *wide)
{
	char *base = (char *)wide;

	if (!old)
		return NULL;
	memset(wide, 0, sizeof(*wide));
	memcpy(&wide->info, old, sizes[node][INFO]);
	for (enum structure of = TX; of < STRUCTURES; of++) {
		void **pointer = (void **)(base + attr_offsets[of].pointer);

		if (!*pointer)
			continue;
		memcpy(base + attr_offsets[of].copy, *pointer, sizes[node][of]);
		*pointer = base + attr_offsets[of].copy;
	}
	return &wide->info;
}

static int compat_getinfo_at(enum node node, uint32_t version, const char *node_name,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **info)
{
	struct wide wide;

	return wf_getinfo(version, node_name, service, flags,
		compat_widen(node, hints, &wide), info);
}

static struct fi_info *compat_dupinfo_at(enum node node, const struct fi_info *info)
{
	struct wide wide;

	return wf_dupinfo(compat_widen(node, info, &wide));
}

#define SYMBOL_VERSION(function, symbol) __asm__(".symver " #function "," symbol)

/* The three calls for infos at one version. fi_freeinfo gets an info that the library
 * has allocated, which has the current layout at each version. */
#define INFO_CALLS(node, at_version)                                                   \
	int wf_getinfo_##node(uint32_t version, const char *node_name,                 \
		const char *service, uint64_t flags, const struct fi_info *hints,      \
		struct fi_info **info);                                                \
	WF_EXPORT int wf_getinfo_##node(uint32_t version, const char *node_name,       \
		const char *service, uint64_t flags, const struct fi_info *hints,      \
		struct fi_info **info)                                                 \
	{                                                                              \
		return compat_getinfo_at(                                              \
			node, version, node_name, service, flags, hints, info);        \
	}                                                                              \
	SYMBOL_VERSION(wf_getinfo_##node, "fi_getinfo" at_version);                    \
	struct fi_info *wf_dupinfo_##node(const struct fi_info *info);                 \
	WF_EXPORT struct fi_info *wf_dupinfo_##node(const struct fi_info *info)        \
	{                                                                              \
		return compat_dupinfo_at(node, info);                                  \
	}                                                                              \
	SYMBOL_VERSION(wf_dupinfo_##node, "fi_dupinfo" at_version);                    \
	void wf_freeinfo_##node(struct fi_info *info);                                 \
	WF_EXPORT void wf_freeinfo_##node(struct fi_info *info)                        \
	{                                                                              \
		wf_freeinfo(info);                                                     \
	}                                                                              \
	SYMBOL_VERSION(wf_freeinfo_##node, "fi_freeinfo" at_version)

INFO_CALLS(V1_0, "@FABRIC_1.0");
INFO_CALLS(V1_1, "@FABRIC_1.1");
INFO_CALLS(V1_2, "@FABRIC_1.2");
INFO_CALLS(V1_3, "@FABRIC_1.3");
INFO_CALLS(V1_7, "@FABRIC_1.7");
INFO_CALLS(V1_8, "@FABRIC_1.8");
INFO_CALLS(V1_9, "@FABRIC_1.9");
INFO_CALLS(V1_10, "@@FABRIC_1.10");

int wf_fabric_V1_0(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int wf_fabric_V1_1(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* Attributes without api_version are of version 1.0. */
WF_EXPORT int wf_fabric_V1_0(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct fi_fabric_attr wide = { 0 };

	if (!attr)
		return wf_core_fabric(NULL, fabric, context);
	memcpy(&wide, attr, sizes[V1_0][FABRIC]);
	wide.api_version = FI_VERSION(1, 0);
	return wf_core_fabric(&wide, fabric, context);
}
SYMBOL_VERSION(wf_fabric_V1_0, "fi_fabric@FABRIC_1.0");

WF_EXPORT int wf_fabric_V1_1(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return wf_core_fabric(attr, fabric, context);
}
SYMBOL_VERSION(wf_fabric_V1_1, "fi_fabric@@FABRIC_1.1");
