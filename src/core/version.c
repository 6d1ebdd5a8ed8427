/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fabric.h>

#include "sys/compiler.h"

WF_EXPORT uint32_t fi_version(void)
{
	return FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
}
