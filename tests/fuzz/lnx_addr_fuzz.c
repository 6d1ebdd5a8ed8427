/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/lnx/name.h"
#include "providers/lnx/spec.h"
#include "providers/lnx/stripe/wire.h"

/*
 * What lnx is told from outside: the addresses of peers, as fi_av_insert takes them,
 * control messages of striping, and FI_LNX_PROV_LINKS. Whatever they say, nothing is
 * read but them, and what is understood means the same when it is written and read
 * again.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_same(const struct lnx_name_link *a, const struct lnx_name_link *b)
{
	size_t len = a->len < b->len ? a->len : b->len;

	check(a->provider == b->provider && a->locality == b->locality);
	check((a->format & 0x7f) == (b->format & 0x7f));
	/* Text may be padded. */
	check(memcmp(a->addr, b->addr, len) == 0);
}

/* Both sides agree on which links meet, and each link meets one. */
static void check_pairs(const struct lnx_name *a, const struct lnx_name *b)
{
	const bool local[LNX_MAX_LINKS] = { true, false, true };
	int there[LNX_MAX_LINKS], seen = 0;

	lnx_name_pair(a, b, local, there);
	for (unsigned int i = 0; i < a->count; i++) {
		if (there[i] < 0)
			continue;
		check((unsigned int)there[i] < b->count && !(seen >> there[i] & 1));
		seen |= 1 << there[i];
	}
}

static void read_address(const uint8_t *data, size_t size)
{
	size_t len = lnx_name_len(data, size);
	uint32_t words[WF_AV_ADDR_WORDS], again[WF_AV_ADDR_WORDS];
	struct lnx_name name, spelled;
	char text[WF_AV_TEXT_LEN];
	uint8_t *addr;

	check(len <= size && len <= LNX_NAME_LEN);
	if (!len)
		return;
	/* No byte more than it says. */
	addr = malloc(len);
	if (!addr)
		return;
	memcpy(addr, data, len);
	lnx_av_format.print(addr, text, sizeof(text));
	check(memchr(text, '\0', sizeof(text)) != NULL);
	if (lnx_av_format.spell(words, addr)) {
		check(lnx_name_unpack(addr, &name));
		check(lnx_name_unpack(words, &spelled));
		check(name.count == spelled.count);
		for (unsigned int i = 0; i < name.count; i++)
			check_same(&name.link[i], &spelled.link[i]);
		check_pairs(&name, &spelled);
		check(lnx_av_format.spell(again, words));
		check(memcmp(words, again, LNX_NAME_LEN) == 0);
	}
	free(addr);
}

static void check_piece(const struct lnx_text *piece, const char *text, size_t len)
{
	check(piece->at >= text && piece->at + piece->len <= text + len);
}

static void check_provider(
	const struct lnx_spec_provider *provider, const char *text, size_t len)
{
	check(provider->domain_count <= LNX_SPEC_DOMAINS && provider->name.len);
	check_piece(&provider->name, text, len);
	for (unsigned int i = 0; i < provider->domain_count; i++) {
		check(provider->domain[i].len);
		check_piece(&provider->domain[i], text, len);
	}
}

static void read_links(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *why = NULL;
	struct lnx_text where;
	struct lnx_spec spec;
	size_t len;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	len = strlen(text);
	if (!lnx_spec_parse(text, &spec, &why, &where)) {
		check(why != NULL);
		check_piece(&where, text, len);
		free(text);
		return;
	}
	check(spec.link_count && spec.link_count <= LNX_SPEC_LINKS);
	for (unsigned int i = 0; i < spec.link_count; i++) {
		check(spec.link[i].provider_count <= LNX_SPEC_PROVIDERS);
		for (unsigned int k = 0; k < spec.link[i].provider_count; k++)
			check_provider(&spec.link[i].provider[k], text, len);
	}
	free(text);
}

static void read_control(const uint8_t *data, size_t size)
{
	uint8_t written[LNX_STRIPE_MSG_MAX], *copy = malloc(size);
	struct lnx_stripe_msg msg;

	if (!copy)
		return;
	memcpy(copy, data, size);
	if (lnx_stripe_read(copy, size, &msg)) {
		check(lnx_stripe_write(&msg, written) == size);
		check(memcmp(written, copy, size) == 0);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size) {
		read_control(data, size);
		read_address(data, size);
		read_links(data, size);
	}
	return 0;
}
