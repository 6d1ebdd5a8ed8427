/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SETTING_H
#define WF_COLL_SETTING_H

#include <stddef.h>

/* A number by which the engines choose how to execute an operation. A parameter may
 * replace @value, which is the default first, by one from @min to @max while the
 * provider is loaded (param.c). */
struct coll_setting {
	size_t value, min, max;
};

#endif
