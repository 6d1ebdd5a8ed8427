/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/notice.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "sys/notice.h"

enum { TEXT_SIZE = 640, VAR_SIZE = 128 };

/* The table of the core, which is constant; NULL: this is another library. */
static const struct wf_notice_ops *notice_ops(void)
{
	const struct wf_notice_ops *ops = NULL;

	if (fi_param_get(NULL, WF_NOTICE, &ops) || !ops || ops->size < sizeof(*ops))
		return NULL;
	return ops;
}

void wf_notice(const struct fi_provider *prov, const char *fmt, ...)
{
	const struct wf_notice_ops *ops = notice_ops();
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (ops)
		ops->tell(prov, text);
	else
		FI_WARN(prov, FI_LOG_CORE, "%s\n", text);
}

const char *wf_notice_var(
	const struct fi_provider *prov, const char *param, char *buf, size_t len)
{
	(void)snprintf(buf, len, "FI_%s_%s", prov->name, param);
	for (char *c = buf; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return buf;
}

bool wf_notice_value(
	const struct fi_provider *prov, const char *param, const char **ret_text)
{
	const struct wf_notice_ops *ops = notice_ops();
	char var[VAR_SIZE];

	*ret_text =
		ops ? ops->value(wf_notice_var(prov, param, var, sizeof(var))) : NULL;
	return *ret_text;
}
