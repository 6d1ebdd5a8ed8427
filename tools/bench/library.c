/* SPDX-License-Identifier: BSD-2-Clause */
#include "library.h"
#include "say.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

static const char soname[] = "libfabric.so.1";

static struct {
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(
		struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	uint32_t (*version)(void);
	const char *(*strerror)(int errnum);
	char path[PATH_MAX];
} library;

/* The default version of the symbol, as the newest program gets it. */
static void library_find(void *handle, const char *name, void *ret_function)
{
	void *function = dlsym(handle, name);

	if (!function)
		fb_die(FB_EXIT_FAILED, "%s has no %s", soname, name);
	*(void **)ret_function = function;
}

void fb_library_open(void)
{
	void *handle;
	Dl_info where;

	if (library.getinfo)
		return;
	handle = dlopen(soname, RTLD_NOW);
	if (!handle)
		fb_die(FB_EXIT_FAILED, "%s", dlerror());
	library_find(handle, "fi_freeinfo", &library.freeinfo);
	library_find(handle, "fi_dupinfo", &library.dupinfo);
	library_find(handle, "fi_fabric", &library.fabric);
	library_find(handle, "fi_version", &library.version);
	library_find(handle, "fi_strerror", &library.strerror);
	library_find(handle, "fi_getinfo", &library.getinfo);
	if (!dladdr(*(void **)&library.getinfo, &where) ||
		!realpath(where.dli_fname, library.path))
		library.path[0] = 0;
}

const char *fb_library_path(void)
{
	return library.path;
}

uint32_t fb_library_version(void)
{
	uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
	uint32_t its = library.version();

	return FI_VERSION_LT(its, ours) ? its : ours;
}

/* ---- what the headers declare ---- */

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **info)
{
	return library.getinfo(version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info)
{
	library.freeinfo(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	return library.dupinfo(info);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return library.fabric(attr, fabric, context);
}

uint32_t fi_version(void)
{
	return library.version();
}

const char *fi_strerror(int errnum)
{
	return library.strerror(errnum);
}
