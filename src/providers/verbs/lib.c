/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/lib.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "providers/verbs/verbs.h"

/*
 * Loading of libibverbs and librdmacm. They are never unloaded, because their threads
 * and the drivers that they load do not support it.
 */

struct verbs_lib verbs_lib;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int result = -FI_ENODATA;

static bool lib_find(void *dl, const char *name, void *ret)
{
	void **at = ret;

	*at = dlsym(dl, name);
	if (!*at)
		verbs_log(FI_LOG_INFO, FI_LOG_CORE, "the library has no %s\n", name);
	return *at;
}

static void *lib_load(const char *name)
{
	void *dl = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!dl)
		verbs_log(FI_LOG_INFO, FI_LOG_CORE, "%s cannot be loaded: %s\n", name,
			dlerror());
	return dl;
}

static bool lib_load_ibv(struct verbs_lib *lib)
{
	void *dl = lib_load("libibverbs.so.1");
	bool ok = dl;

#define FIND_IBV(name_) ok = ok && lib_find(dl, "ibv_" #name_, &lib->ibv.name_);
	VERBS_IBV_FUNCTIONS(FIND_IBV)
	return ok;
}

static bool lib_load_rdma(struct verbs_lib *lib)
{
	void *dl = lib_load("librdmacm.so.1");
	bool ok = dl;

#define FIND_RDMA(name_) ok = ok && lib_find(dl, "rdma_" #name_, &lib->rdma.name_);
	VERBS_RDMA_FUNCTIONS(FIND_RDMA)
	return ok;
}

static void lib_load_all(void)
{
	WF_NO_CANCELLATION;

	if (!lib_load_ibv(&verbs_lib))
		return;
	verbs_lib.has_rdma = lib_load_rdma(&verbs_lib);
	result = 0;
}

bool verbs_lib_any_device(void)
{
	DIR *dir = opendir("/sys/class/infiniband");
	const struct dirent *entry = NULL;

	while (dir && (entry = readdir(dir)) && entry->d_name[0] == '.')
		;
	if (dir)
		(void)closedir(dir);
	return entry;
}

int verbs_lib_load(void)
{
	(void)pthread_once(&once, lib_load_all);
	return result;
}
