/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CM_INTERNAL_H
#define WF_OBJECTS_CM_INTERNAL_H

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "objects/cm/cm.h"

/* An event of the connection manager with space for its data. */
union wf_cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + WF_CM_DATA_MAX];
};

/* Write an event with @len bytes of data to @eq. Return false if it is lost. */
bool wf_cm_event_write(struct wf_eq *eq, uint32_t type, struct fid *fid,
	struct fi_info *info, const void *data, size_t len);

#endif
