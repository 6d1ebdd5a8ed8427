/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_INIT_H
#define WF_CORE_INIT_H

/*
 * Start the library once per process: read the configuration, define the core's
 * parameters, open the log, load and register providers. Every exported call that
 * needs any of this calls it first; later calls return at once.
 */
void wf_core_init(void);

#endif
