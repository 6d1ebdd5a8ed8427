/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a provider needs to plug into the library, fi_provider(3).
 */
#ifndef FI_PROV_H
#define FI_PROV_H

#include <rdma/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loadable providers are files libNAME-fi.so. */
#define FI_LIB_EXTENSION "fi"
#define FI_LIB_SUFFIX    "fi.so"

/* Head of the one function such a file exports. It is called once, after loading. */
/* clang-format off */
#define FI_EXT_INI \
	__attribute__((visibility("default"), EXTERNALLY_VISIBLE)) \
	struct fi_provider *fi_prov_ini(void)
/* clang-format on */

/*
 * A provider. Versions are built by FI_VERSION. A hook, which wraps other providers
 * instead of finding anything, has no getinfo.
 */
struct fi_provider {
	uint32_t version;          /* of the provider */
	uint32_t fi_version;       /* interface that it was written for */
	struct fi_context context; /* belongs to the library */
	const char *name;
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints, struct fi_info **info);
	int (*fabric)(
		struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	void (*cleanup)(void);
};

/*
 * Define a parameter, read from the environment variable FI_<PROVIDER>_<PARAM>, or
 * FI_<PARAM> without provider. Strings are copied.
 */
int fi_param_define(const struct fi_provider *provider, const char *param_name,
	enum fi_param_type type, const char *help_string_fmt, ...);

/*
 * Get a parameter into a char *, int, int or size_t, according to its type. A string
 * belongs to the library. -FI_ENODATA: not set. -FI_ENOENT: not defined. -FI_EINVAL:
 * not valid. @value is then left alone.
 */
int fi_param_get(struct fi_provider *provider, const char *param_name, void *value);

static inline int fi_param_get_str(
	struct fi_provider *provider, const char *param_name, char **value)
{
	return fi_param_get(provider, param_name, value);
}

static inline int fi_param_get_int(
	struct fi_provider *provider, const char *param_name, int *value)
{
	return fi_param_get(provider, param_name, value);
}

static inline int fi_param_get_bool(
	struct fi_provider *provider, const char *param_name, int *value)
{
	return fi_param_get(provider, param_name, value);
}

static inline int fi_param_get_size_t(
	struct fi_provider *provider, const char *param_name, size_t *value)
{
	return fi_param_get(provider, param_name, value);
}

#ifdef __cplusplus
}
#endif

#endif /* FI_PROV_H */
