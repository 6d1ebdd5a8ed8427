/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_RESULT_H
#define WF_CORE_RESULT_H

#include "core/question.h"

/*
 * Complete one result of a provider: its layered name and versions. Returns whether the
 * result meets the hints and the user's settings, with the reason logged if not, and
 * its rank in the answer, below 2 * WF_RANKS. The caller frees a result that is
 * refused.
 */
bool wf_result_accept(const struct wf_question *q, const struct wf_prov_entry *entry,
	struct fi_info *info, unsigned int *ret_rank);

#endif
