/* SPDX-License-Identifier: BSD-2-Clause */
/* Address strings of any content: read without harm; names are their own spelling. */
#include <stdlib.h>
#include <string.h>

#include "sys/addrstr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const struct wf_addrstr_part *part, const char *text, size_t len)
{
	if (part->text && (part->text < text || part->text + part->len > text + len))
		abort();
}

/* A name as it is kept is its own spelling, and ends. */
static void check_name(const char *text, size_t len)
{
	char name[WF_ADDRSTR_MAX], again[WF_ADDRSTR_MAX];

	if (!wf_addrstr_spell(name, text, len))
		return;
	if (name[sizeof(name) - 1] || !wf_addrstr_spell(again, name, sizeof(name)) ||
		memcmp(name, again, sizeof(name)) != 0 ||
		strcmp(wf_addrstr_name(name), wf_addrstr_name(text)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), part[WF_ADDRSTR_NODE_MAX];
	union wf_sockaddr sa;
	struct wf_addrstr str;
	uint16_t port;
	int family;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	(void)wf_addrstr_is(text);
	(void)wf_sockaddr_from_host(text, &sa);
	(void)wf_sockaddr_parse_port(text, &port);
	if (!wf_addrstr_parse(text, &str)) {
		check_part(&str.format, text, size);
		check_part(&str.node, text, size);
		check_part(&str.service, text, size);
		check_part(&str.fields, text, size);
		check_part(&str.params, text, size);
		(void)wf_addrstr_family(&str, &family);
		(void)wf_addrstr_copy(&str.node, part, sizeof(part));
		(void)wf_addrstr_copy(&str.service, part, WF_ADDRSTR_SERVICE_MAX);
	}
	(void)wf_sockaddr_read(data, size, &sa);
	check_name(text, size + 1);
	if (size)
		check_name((const char *)data, size);
	free(text);
	return 0;
}
