/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INFO_PRINT_H
#define TOOLS_INFO_PRINT_H

#include <rdma/fabric.h>

/* Scripts parse all of these. */
void print_short(const struct fi_info *list);
void print_providers(const struct fi_info *list);

/* Infos whose text contains @text, in any case; NULL: all. */
void print_long(const struct fi_info *list, const char *text);

/* Variables whose name contains @text, in any case; NULL: all. Returns 0 or a negative
 * error. */
int print_variables(const char *text);

/* "fi_getinfo: -61 (No data available)" on stderr; returns the exit status. */
int print_failure(const char *call, int error);

#endif
