/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "core/log/log.h"
#include "core/params/conf.h"

/*
 * Notices to the user about wrong settings, each text once. A process reads a setting
 * several times: layers ask the same provider, and every domain reads some anew.
 */

enum { NOTICES_MAX = 64, TEXT_SIZE = 640 };

static pthread_mutex_t notice_lock = PTHREAD_MUTEX_INITIALIZER;
/* Hashes of the texts that were written; guarded by notice_lock. */
static uint64_t written[NOTICES_MAX];
static unsigned int written_count;

static uint64_t notice_hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* Is the text new? Then it counts as written. */
static bool notice_is_new(const char *text)
{
	uint64_t hash = notice_hash_of(text);
	bool known = false;

	(void)pthread_mutex_lock(&notice_lock);
	for (unsigned int i = 0; i < written_count; i++)
		known |= written[i] == hash;
	if (written_count == NOTICES_MAX)
		known = true;
	if (!known)
		written[written_count++] = hash;
	(void)pthread_mutex_unlock(&notice_lock);
	return !known;
}

static void notice_tell(const struct fi_provider *prov, const char *text)
{
	if (!notice_is_new(text))
		return;
	if (wf_log_has_warnings())
		FI_WARN(prov, FI_LOG_CORE, "%s\n", text);
	else
		wf_log_write_notice(prov, text);
}

void wf_log_notice(const struct fi_provider *prov, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	notice_tell(prov, text);
}

void wf_log_forget_notices(void)
{
	(void)pthread_mutex_lock(&notice_lock);
	written_count = 0;
	(void)pthread_mutex_unlock(&notice_lock);
}

struct wf_notice_ops wf_log_notice_ops = {
	.size = sizeof(wf_log_notice_ops),
	.tell = notice_tell,
	.value = wf_conf_value,
};
