/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_PARAM_H
#define WF_HOOK_MONITOR_PARAM_H

#include <stdbool.h>

/* FI_OFI_HOOK_MONITOR_*, constant after mon_params_read. */
struct mon_params {
	const char *basepath;
	int dir_mode, file_mode;
	int tick_max; /* counted calls of a thread between looks for a request */
	int linger;   /* boolean */
};

extern struct mon_params mon_params;

/* Define and read the parameters; called once, when the provider is found. */
void mon_params_read(void);
/* Free their memory, when the library is unloaded. */
void mon_params_done(void);

#endif
