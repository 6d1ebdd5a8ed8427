/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/cm/cm.h"

/* Convert a status, which is a negative errno or a number of the transport, to a
 * positive errno. */
static int error_from_status(int status, int otherwise)
{
	return status < 0 ? -status : otherwise;
}

int verbs_cm_error(enum rdma_cm_event_type event, int status)
{
	switch (event) {
	case RDMA_CM_EVENT_REJECTED:
		return FI_ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return error_from_status(status, FI_EHOSTUNREACH);
	case RDMA_CM_EVENT_ADDR_ERROR:
		return error_from_status(status, FI_EADDRNOTAVAIL);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return FI_ENODEV;
	default:
		return error_from_status(status, FI_ECONNABORTED);
	}
}
