/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "objects/endpoint/life/name.h"
#include "sys/addrstr.h"

/* Names of endpoints on this machine (FI_ADDR_STR). */

static int name_text_refuse(const struct fi_provider *prov, const char *what)
{
	FI_LOG(prov, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"refused: %s: possible a name of at most %zu characters, none of them "
		"a control character, and a NUL\n",
		what, WF_ADDRSTR_MAX - sizeof(WF_ADDRSTR_LOCAL));
	return -FI_EINVAL;
}

int wf_name_text_read(
	const struct fi_provider *prov, const void *addr, size_t len, char *ret_name)
{
	return addr && wf_addrstr_spell(ret_name, addr, len)
		       ? 0
		       : name_text_refuse(prov, "name of an endpoint");
}

int wf_name_text_give(const char *name, void *addr, size_t *len)
{
	return wf_name_give(name, strlen(name) + 1, addr, len);
}

int wf_name_text_first(
	const struct fi_provider *prov, const struct fi_info *info, char *ret_name)
{
	static atomic_uint next_number;
	const size_t prefix = sizeof(WF_ADDRSTR_LOCAL) - 1;
	char self[64], name[WF_ADDRSTR_MAX];
	const char *wanted = info->src_addr;
	size_t wanted_len = info->src_addrlen;
	int len;

	if (!wanted) {
		(void)snprintf(
			self, sizeof(self), WF_ADDRSTR_LOCAL "%ld", (long)getpid());
		wanted = self;
		wanted_len = sizeof(self);
	}
	if (!wf_addrstr_spell(name, wanted, wanted_len))
		return name_text_refuse(prov, "src_addr");
	if (!strncmp(wanted, WF_ADDRSTR_LOCAL, prefix)) {
		len = snprintf(name, sizeof(name), "%s:%lu:%u", wanted,
			(unsigned long)geteuid(),
			atomic_fetch_add_explicit(
				&next_number, 1, memory_order_relaxed));
		if (len < 0 || (size_t)len >= sizeof(name))
			return name_text_refuse(
				prov, "src_addr with the number of the endpoint");
	}
	return wf_name_text_read(prov, name, sizeof(name), ret_name);
}
