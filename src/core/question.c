/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/question.h"

#include <rdma/providers/fi_log.h>

bool wf_question_named_base(const struct wf_layer *name)
{
	const struct wf_known_prov *known = wf_prov_known(name);

	return known && known->named_base;
}

void wf_question_refused(const struct wf_prov_entry *entry, const char *field,
	const char *asked, const char *possible)
{
	FI_INFO(entry->prov, FI_LOG_CORE, "refused: %s: asked %s, possible %s\n", field,
		asked, possible);
}
