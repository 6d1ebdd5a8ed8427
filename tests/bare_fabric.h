/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_BARE_FABRIC_H
#define TESTS_BARE_FABRIC_H

/* A fabric that can only be closed, for tests that are provider modules. */

#include <stdlib.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

static int bare_fabric_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops bare_fabric_fid_ops = {
	.size = sizeof(bare_fabric_fid_ops),
	.close = bare_fabric_close,
};

/* Can be used as struct fi_provider.fabric. */
static int bare_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.context = context;
	fabric->fid.ops = &bare_fabric_fid_ops;
	*ret_fabric = fabric;
	return 0;
}

#endif
