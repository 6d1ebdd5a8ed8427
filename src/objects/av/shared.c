/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "objects/av/shared.h"

static_assert(sizeof(struct wf_av_header) <= WF_AV_SHARED_START, "header fits");

/* Bytes of the longest name that shm_open(3) takes, slash and NUL included. */
enum { NAME_LEN = 256 };

/* Append @text so that different texts give different names: letters, digits, dot,
 * minus and underscore unchanged, other bytes as % and two hexadecimal digits. Returns
 * the new length, or NAME_LEN if it does not fit. */
static size_t shared_append_escaped(char *name, size_t at, const char *text)
{
	for (; *text && at + 4 < NAME_LEN; text++) {
		unsigned char c = (unsigned char)*text;

		if (isalnum(c) || c == '.' || c == '-' || c == '_')
			name[at++] = (char)c;
		else
			at += (size_t)snprintf(name + at, 4, "%%%02X", c);
	}
	name[at] = '\0';
	return *text ? NAME_LEN : at;
}

static int shared_make_name(char *name, const char *scope, const char *text)
{
	size_t at;

	if (!*text)
		return -FI_EINVAL;
	at = (size_t)snprintf(name, NAME_LEN, "/weft-av:%u:", (unsigned)geteuid());
	at = shared_append_escaped(name, at, scope);
	if (at + 2 >= NAME_LEN)
		return -FI_EINVAL;
	name[at++] = ':';
	return shared_append_escaped(name, at, text) < NAME_LEN ? 0 : -FI_EINVAL;
}

void wf_av_shared_format(struct wf_av_header *header, const struct wf_av_format *format,
	uint32_t max_bits)
{
	header->version = WF_AV_SHARED_VERSION;
	header->addr_format = format->addr_format;
	header->addr_len = format->addr_len;
	header->max_bits = max_bits;
	atomic_store_explicit(&header->magic, WF_AV_SHARED_MAGIC, memory_order_release);
}

int wf_av_shared_check(const struct wf_av_header *header, size_t len,
	const struct wf_av_format *format, uint32_t *ret_max_bits)
{
	struct wf_av_memory plan = { 0 };
	uint32_t bits;

	if (len < WF_AV_SHARED_START ||
		atomic_load_explicit(&header->magic, memory_order_acquire) !=
			WF_AV_SHARED_MAGIC ||
		header->version != WF_AV_SHARED_VERSION ||
		header->addr_format != format->addr_format ||
		header->addr_len != format->addr_len)
		return -FI_EINVAL;
	/* Read once: another process may change it after the check. */
	bits = *(const volatile uint32_t *)&header->max_bits;
	if (bits < WF_AV_FIRST_BITS || bits > WF_AV_SHARED_MAX_BITS)
		return -FI_EINVAL;
	wf_av_memory_plan(&plan, format, bits, WF_AV_SHARED_START);
	if (plan.len > len)
		return -FI_EINVAL;
	*ret_max_bits = bits;
	return 0;
}

static int shared_commit(void *arg, size_t offset, size_t len)
{
	return wf_shm_commit(arg, offset, len);
}

static uint32_t shared_bits_for(size_t count)
{
	uint32_t bits = WF_AV_SHARED_BITS;

	while (bits < WF_AV_SHARED_MAX_BITS && (size_t)1 << bits < count)
		bits++;
	return bits;
}

static void shared_attach(struct wf_av_table *table, const struct wf_av_format *format,
	uint32_t max_bits, struct wf_av_shared *shared)
{
	struct wf_av_header *header = shared->shm.mem;

	wf_av_memory_plan(&shared->memory, format, max_bits, WF_AV_SHARED_START);
	shared->memory.base = shared->shm.mem;
	shared->memory.commit = shared_commit;
	shared->memory.arg = &shared->shm;
	wf_av_table_attach(table, format, max_bits, &shared->memory, &header->state);
}

static int shared_create_table(struct wf_av_table *table,
	const struct wf_av_format *format, size_t count, void *hint,
	struct wf_av_shared *shared)
{
	struct wf_av_memory plan = { 0 };
	uint32_t bits = shared_bits_for(count);
	int ret;

	wf_av_memory_plan(&plan, format, bits, WF_AV_SHARED_START);
	ret = wf_shm_resize(&shared->shm, plan.len);
	/* The header, and the levels of the map above the lowest. */
	if (!ret)
		ret = wf_shm_commit(&shared->shm, 0, plan.used_at);
	if (!ret)
		ret = wf_shm_map(&shared->shm, hint);
	if (ret)
		return ret;
	shared_attach(table, format, bits, shared);
	ret = wf_av_table_start(table);
	if (ret)
		return ret;
	wf_av_shared_format(shared->shm.mem, format, bits);
	return wf_shm_ready(&shared->shm);
}

static int shared_attach_table(struct wf_av_table *table,
	const struct wf_av_format *format, void *hint, struct wf_av_shared *shared)
{
	uint32_t bits;
	int ret;

	ret = wf_shm_map(&shared->shm, hint);
	if (!ret)
		ret = wf_av_shared_check(
			shared->shm.mem, shared->shm.len, format, &bits);
	if (ret)
		return ret;
	shared_attach(table, format, bits, shared);
	return 0;
}

int wf_av_shared_open(struct wf_av_table *table, const struct wf_av_format *format,
	const char *scope, const char *text, size_t count, bool readonly, void *hint,
	struct wf_av_shared **ret_shared)
{
	struct wf_av_shared *shared;
	char name[NAME_LEN];
	int ret;

	ret = shared_make_name(name, scope, text);
	if (ret)
		return ret;
	shared = calloc(1, sizeof(*shared));
	if (!shared)
		return -FI_ENOMEM;
	ret = wf_shm_open(&shared->shm, name, readonly ? WF_SHM_READ : WF_SHM_CREATE);
	if (ret)
		goto err_free;
	ret = shared->shm.created
		      ? shared_create_table(table, format, count, hint, shared)
		      : shared_attach_table(table, format, hint, shared);
	if (ret)
		goto err_close;
	*ret_shared = shared;
	return 0;

err_close:
	wf_shm_close(&shared->shm);
err_free:
	free(shared);
	return ret;
}

void wf_av_shared_close(struct wf_av_shared *shared)
{
	if (!shared)
		return;
	wf_shm_close(&shared->shm);
	free(shared);
}
