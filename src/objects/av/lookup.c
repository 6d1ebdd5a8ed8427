/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/av/internal.h"

/* Finding addresses by index, indices by address, and texts of addresses. */

const void *wf_av_addr_slow(struct wf_av *av, uint64_t index)
{
	const struct wf_av_slot *slot;

	if (index >= wf_av_table_capacity(&av->table))
		return NULL;
	wf_av_table_refresh(&av->table);
	slot = wf_av_slot_at(&av->table, index);
	return slot && wf_av_slot_live(slot) ? wf_av_slot_addr(&av->table, slot) : NULL;
}

fi_addr_t wf_av_index(struct wf_av *av, const void *addr, size_t addrlen)
{
	const struct wf_av_format *format = av->table.format;
	uint32_t words[WF_AV_ADDR_WORDS], index;
	int ret;

	if (!format || !wf_av_format_len(format, addr, addrlen) ||
		!format->spell(words, addr))
		return FI_ADDR_NOTAVAIL;
	ret = wf_av_table_find(&av->table, words, &index);
	/* Removals by other threads interrupted the search, or a process died during
	 * one: search with the lock held. */
	if (ret == -FI_EAGAIN && !wf_av_begin(av)) {
		ret = wf_av_table_find(&av->table, words, &index);
		wf_av_end(av);
	}
	return ret ? FI_ADDR_NOTAVAIL : index;
}

int wf_av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct wf_av *av = wf_av_of(fid);
	const void *stored = wf_av_addr(av, fi_addr);
	size_t len =
		stored ? wf_av_format_len(av->table.format, stored, wf_av_addrlen(av))
		       : 0;

	if (!len || !addrlen || (!addr && *addrlen)) {
		WF_AV_REFUSED(av->domain, "lookup: nothing at address %llu\n",
			(unsigned long long)fi_addr);
		return -FI_EINVAL;
	}
	if (*addrlen)
		memcpy(addr, stored, WF_MIN(*addrlen, len));
	*addrlen = len;
	return 0;
}

int wf_av_lookup2(struct fid_av *fid, fi_addr_t fi_addr, void *buf, size_t *len,
	uint64_t flags, struct fid_xpu_ctx *ctx)
{
	struct wf_av *av = wf_av_of(fid);

	if (flags & ~FI_XPU) {
		WF_AV_REFUSED(av->domain, "lookup2: flags %#llx, possible FI_XPU\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	if (!flags != !ctx) {
		WF_AV_REFUSED(av->domain, "lookup2: FI_XPU and a context together\n");
		return -FI_EINVAL;
	}
	if (flags) {
		WF_AV_REFUSED(av->domain, "lookup2: FI_XPU is not offered\n");
		return -FI_ENOSYS;
	}
	return wf_av_lookup(fid, fi_addr, buf, len);
}

static const char *lookup_straddr(
	const struct wf_av_format *format, const void *addr, char *buf, size_t *len)
{
	char text[WF_AV_TEXT_LEN];
	size_t need;

	if (!format || !addr || !len || (!buf && *len))
		return NULL;
	format->print(addr, text, sizeof(text));
	need = strlen(text) + 1;
	if (*len) {
		memcpy(buf, text, WF_MIN(*len, need));
		buf[WF_MIN(*len, need) - 1] = '\0';
	}
	*len = need;
	return buf;
}

const char *wf_av_straddr(
	uint32_t addr_format, const void *addr, char *buf, size_t *len)
{
	const struct fi_info info = { .addr_format = addr_format };

	return lookup_straddr(wf_av_format_of(&info), addr, buf, len);
}

const char *wf_av_straddr_op(
	struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	const struct wf_av *av = wf_av_of(fid);

	return lookup_straddr(av->table.format, addr, buf, len);
}
