/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_FIND_H
#define WF_OBJECTS_LOWER_FIND_H

#include <rdma/fabric.h>

/*
 * How a layered provider finds the provider below: by fi_getinfo(3), as any application
 * does. The functions block. The caller may hold a lock of its own if fi_getinfo of the
 * provider below does not take that lock.
 */

/* Ask with @hints by the newest interface version, from fi_version() down to @oldest,
 * that has an answer. The version is in fabric_attr->api_version of the results, which
 * the caller frees with fi_freeinfo. 0 or fi_getinfo's negative FI_E code. */
int wf_lower_find(
	uint32_t oldest, const struct fi_info *hints, struct fi_info **ret_list);

/* Arguments of fi_getinfo(3) besides version and hints. */
struct wf_lower_question {
	const char *node, *service; /* may be NULL */
	uint64_t flags;             /* flags of fi_getinfo */
};

/* wf_lower_find with node, service and flags. */
int wf_lower_find_for(uint32_t oldest, const struct wf_lower_question *question,
	const struct fi_info *hints, struct fi_info **ret_list);

/* Call fi_getinfo with the version that gave a result of wf_lower_find: @hints is a
 * copy of that result, which the caller changed. 0 or fi_getinfo's negative FI_E
 * code. */
int wf_lower_find_again(const struct fi_info *hints, struct fi_info **ret_list);

#endif
