/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_MONITOR_H
#define WF_HOOK_MONITOR_MONITOR_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

/*
 * The hook ofi_hook_monitor (fi_hook(7)): counts the calls of an application, and hands
 * samples to fi_mon_sampler.
 *
 *   fabric.c, domain.c, endpoint.c, cq.c   the objects, whose tables are replaced
 *   msg.c, tagged.c, rma.c                 the counted calls of endpoints
 *   count.h, count.c   counters, for each thread
 *   file.h, file.c     the file of a fabric, and samples
 *   dir.h, dir.c       the directory and the name of that file
 *   format.h           what is in the file
 *
 * No object is wrapped. The application has the objects of the provider, and the hook
 * replaces their tables of calls. A replaced table is a member of the hook's state for
 * the object, so that a call finds the state by the table; the state keeps the table
 * below. So bindings, and objects that a provider recognises, are those of the
 * provider.
 */
extern struct fi_provider mon_fi;

/* The thread is inside of a call that opens or enables an object: what the provider
 * opens meanwhile is its own, and is not monitored. */
void mon_inside_begin(void);
void mon_inside_end(void);

/* fi_provider.fabric: the fabric in attr->fabric is monitored from now on. */
int mon_fabric_open(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

#endif
