/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "core/log/log.h"
#include "core/params/settings.h"
#include "sys/nearest.h"

enum { FORMAT_NAME_SIZE = 64 };

struct wf_settings wf_settings;

/* The value of a parameter of the core, or NULL. The text belongs to the environment,
 * so callers copy it. */
static const char *settings_text_of(const char *name)
{
	char *text = NULL;

	return fi_param_get_str(NULL, name, &text) ? NULL : text;
}

static const char *settings_format_name(uint32_t format, char name[FORMAT_NAME_SIZE])
{
	return fi_tostr_r(name, FORMAT_NAME_SIZE, &format, FI_TYPE_ADDR_FORMAT);
}

static void settings_tell_format(const char *text)
{
	char name[FORMAT_NAME_SIZE], closest[FORMAT_NAME_SIZE] = "", hint[96];
	struct wf_nearest nearest = wf_nearest_to(text), now;

	for (uint32_t format = FI_SOCKADDR; format <= FI_SOCKADDR_IP; format++) {
		now = nearest;
		wf_nearest_offer(&now, settings_format_name(format, name));
		if (now.distance == nearest.distance)
			continue;
		(void)strcpy(closest, name);
		nearest.distance = now.distance;
		nearest.name = closest;
	}
	wf_log_notice(&wf_core_prov,
		"FI_ADDR_FORMAT: \"%s\" is ignored: not the name of an address "
		"format%s",
		text, wf_nearest_hint(&nearest, hint, sizeof(hint)));
}

static void settings_load_addr_format(const char *text)
{
	char name[FORMAT_NAME_SIZE];

	for (uint32_t format = FI_SOCKADDR; text && format <= FI_SOCKADDR_IP;
		format++) {
		if (strcasecmp(settings_format_name(format, name), text))
			continue;
		wf_settings.addr_format = format;
		wf_settings.has_addr_format = true;
		return;
	}
	if (text && *text)
		settings_tell_format(text);
}

void wf_settings_load(void)
{
	const char *hooks = settings_text_of("hook");

	if (wf_prov_filter_init(&wf_settings.providers, settings_text_of("provider")))
		FI_WARN(&wf_core_prov, FI_LOG_CORE,
			"FI_PROVIDER is ignored: out of memory\n");
	settings_load_addr_format(settings_text_of("addr_format"));
	wf_settings.hooks = hooks ? strdup(hooks) : NULL;
}

void wf_settings_done(void)
{
	wf_prov_filter_done(&wf_settings.providers);
	free(wf_settings.hooks);
	wf_settings = (struct wf_settings){ 0 };
}
