/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_MODE_H
#define WF_OBJECTS_LOCAL_MODE_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

/* Setting of FI_TCP_LOCAL, see fi_tcp(7): how peers of the same machine are reached by
 * endpoints of tcp, and of layers over tcp. */
enum wf_local_mode {
	WF_LOCAL_OFF,  /* "tcp": by sockets */
	WF_LOCAL_AUTO, /* by shared memory if possible */
	WF_LOCAL_ONLY, /* "shm": by shared memory, or they are refused */
};

/* The setting; constant once the tcp provider is loaded. */
extern enum wf_local_mode wf_local_mode;

/* Define the parameter "local" of @tcp and read it. */
void wf_local_read_mode(struct fi_provider *tcp);

/* Log for @prov by which transport peers on this machine are reached, and why; called
 * by its fi_getinfo. fi_info --why prints these lines, which start with "transport:
 * ". */
void wf_local_log_mode(const struct fi_provider *prov);

#endif
