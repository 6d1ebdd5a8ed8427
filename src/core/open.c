/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#include "core/log/log.h"
#include "core/mr_cache.h"
#include "core/refuse.h"
#include "sys/compiler.h"

/*
 * fi_open(3): named subsystems of the library, such as its log. The call
 * returns a handle to which the application binds an object of its own. The binding
 * outlives the handle, because fi_import closes the handle at once. fi_close of the
 * bound object unbinds it.
 */

#define FIRST_VERSION FI_VERSION(1, 13)

static int open_log_close(struct fid *fid)
{
	return wf_log_restore(wf_container_of(fid, struct fid_logging, fid));
}

static struct fi_ops log_fid_ops = WF_REFUSE_FID_OPS(open_log_close);

static int open_log_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct fid_logging *log;
	int ret;

	if (flags || !bfid || bfid->fclass != FI_CLASS_LOG)
		return -FI_EINVAL;
	log = wf_container_of(bfid, struct fid_logging, fid);
	if (!log->ops || log->ops->size < sizeof(*log->ops))
		return -FI_EINVAL;
	ret = wf_log_import(log);
	if (!ret)
		log->fid.ops = &log_fid_ops;
	return ret;
}

static int open_cache_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	if (flags || !bfid || bfid->fclass != FI_CLASS_MEM_MONITOR)
		return -FI_EINVAL;
	return wf_mr_cache_import(wf_container_of(bfid, struct fid_mem_monitor, fid));
}

/* fi_open_ops(3) of "mr_cache", for providers: see sys/mem_monitor.h. */
static int open_cache_ops(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)context;
	if (flags || !ops || !name || strcmp(name, WF_MEM_MONITOR) != 0)
		return -FI_ENOSYS;
	*ops = &wf_mr_cache_ops;
	return 0;
}

static int open_handle_close(struct fid *fid)
{
	free(fid);
	return 0;
}

#define HANDLE_OPS(bind_fn, ops_fn)                                                    \
	{                                                                              \
		.size = sizeof(struct fi_ops), .close = open_handle_close,             \
		.bind = bind_fn, .control = wf_refuse_control, .ops_open = ops_fn,     \
		.tostr = wf_refuse_tostr, .ops_set = wf_refuse_ops_set,                \
	}

static struct fi_ops log_handle_ops = HANDLE_OPS(open_log_bind, wf_refuse_ops_open);
static struct fi_ops cache_handle_ops = HANDLE_OPS(open_cache_bind, open_cache_ops);

static const struct {
	const char *name;
	size_t fclass;
	struct fi_ops *ops;
} objects[] = {
	{ "logging", FI_CLASS_LOG, &log_handle_ops },
	{ "mr_cache", FI_CLASS_MR_CACHE, &cache_handle_ops },
};

static int open_object_index(const char *name)
{
	size_t i;

	for (i = 0; i < WF_ARRAY_SIZE(objects); i++) {
		if (strcasecmp(name, objects[i].name) == 0)
			return (int)i;
	}
	return -FI_ENOSYS;
}

WF_EXPORT int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len,
	uint64_t flags, struct fid **fid, void *context)
{
	struct fid *handle;
	int index;

	(void)attr;
	if (FI_VERSION_LT(version, FIRST_VERSION) || !name || !fid)
		return -FI_EINVAL;
	index = open_object_index(name);
	if (index < 0) {
		FI_INFO(&wf_core_prov, FI_LOG_CORE,
			"refused: fi_open: asked \"%s\", possible logging, mr_cache\n",
			name);
		return index;
	}
	if (attr_len)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return -FI_ENOMEM;
	handle->fclass = objects[index].fclass;
	handle->context = context;
	handle->ops = objects[index].ops;
	*fid = handle;
	return 0;
}
