/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "objects/av/format.h"
#include "providers/verbs/ud/ud.h"

enum { QPN_MAX = 0xffffff };

bool verbs_ud_name_read(const void *addr, size_t len, struct verbs_ud_name *ret)
{
	if (!addr || len < sizeof(*ret))
		return false;
	memcpy(ret, addr, sizeof(*ret));
	memset(ret->zero, 0, sizeof(ret->zero));
	return true;
}

/* Queue pairs 0 and 1 are reserved for the management of the subnet. */
static bool verbs_name_spell(uint32_t *words, const void *addr)
{
	struct verbs_ud_name name;

	if (!verbs_ud_name_read(addr, sizeof(name), &name) || name.qpn < 2 ||
		name.qpn > QPN_MAX)
		return false;
	memcpy(words, &name, sizeof(name));
	return true;
}

static void verbs_name_print(const void *addr, char *buf, size_t len)
{
	char gid[INET6_ADDRSTRLEN];
	struct verbs_ud_name name;

	memcpy(&name, addr, sizeof(name));
	(void)inet_ntop(AF_INET6, name.gid, gid, sizeof(gid));
	(void)snprintf(buf, len,
		"fi_addr_ib_ud://%s:%" PRIx32 "/%" PRIx16 "/%" PRIx16 "/%" PRIx8, gid,
		name.qpn, name.lid, name.pkey, name.sl);
}

static const struct wf_av_format ud_format = {
	.name = "FI_ADDR_IB_UD",
	.addr_format = FI_ADDR_IB_UD,
	.addr_len = sizeof(struct verbs_ud_name),
	.key_words = 6, /* GID, queue pair, LID and partition */
	.spell = verbs_name_spell,
	.print = verbs_name_print,
};

const struct wf_av_format *verbs_av_format(const struct fi_info *info)
{
	return info->addr_format == FI_ADDR_IB_UD ? &ud_format : wf_av_format_of(info);
}
