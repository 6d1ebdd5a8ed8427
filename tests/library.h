/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LIBRARY_H
#define TESTS_LIBRARY_H

/*
 * A libfabric that is loaded by its path, so that one program runs on this library or
 * on another one. The program is not linked with either, and uses the interface of
 * LIBRARY_VERSION.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <rdma/fabric.h>

#define LIBRARY_VERSION FI_VERSION(1, 17)

/* The functions whose versions differ between libraries. */
struct library {
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints, struct fi_info **info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(
		struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
};

static inline void *library_symbol(void *handle, const char *name, const char *version)
{
	void *found = dlvsym(handle, name, version);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		_Exit(1);
	}
	return found;
}

/* Load the library at @path; ends the program if that fails. */
static inline void library_load(struct library *ret, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		_Exit(1);
	}
	*(void **)&ret->getinfo = library_symbol(handle, "fi_getinfo", "FABRIC_1.3");
	*(void **)&ret->dupinfo = library_symbol(handle, "fi_dupinfo", "FABRIC_1.3");
	*(void **)&ret->fabric = library_symbol(handle, "fi_fabric", "FABRIC_1.1");
}

#endif
