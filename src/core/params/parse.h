/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAMS_PARSE_H
#define WF_CORE_PARAMS_PARSE_H

#include <stdbool.h>
#include <rdma/providers/fi_prov.h>

/*
 * Parse the text of a parameter into *value, whose type belongs to @type, fi_param_get
 * in fi_provider(3). A string is not copied. False: the text is invalid and *value is
 * unchanged. *ret_problem is a description of what is wrong for the log, also of a text
 * that was accepted; NULL: nothing is.
 */
bool wf_param_parse(enum fi_param_type type, const char *text, void *value,
	const char **ret_problem);

#endif
