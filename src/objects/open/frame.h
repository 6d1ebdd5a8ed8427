/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OPEN_FRAME_H
#define WF_OBJECTS_OPEN_FRAME_H

#include "objects/open/open.h"

/*
 * WF_PROV_FRAME defines the struct fi_provider <name>_fi for the struct wf_prov
 * <name>_prov, and the entry point by which the library finds it: in the table of
 * built-in providers, or fi_prov_ini if the provider is a loadable library
 * (fi_provider(3)).
 * @getinfo is wf_ip_getinfo or a function with the same arguments. @init is called
 * first, once; it defines and reads the parameters. WF_PROV_FRAME_NAMED is for a
 * provider whose name for applications, @text, is not @name.
 */
#define WF_PROV_VERSION FI_VERSION(FI_MAJOR_VERSION * 100 + FI_MINOR_VERSION, 0)

#ifdef WF_LOADABLE
#define WF_PROV_INI(name_)                                                             \
	struct fi_provider *fi_prov_ini(void);                                         \
	FI_EXT_INI
#else
#define WF_PROV_INI(name_)                                                             \
	struct fi_provider *name_##_prov_ini(void);                                    \
	struct fi_provider *name_##_prov_ini(void)
#endif

#define WF_PROV_FRAME(name_, getinfo_, init_)                                          \
	WF_PROV_FRAME_NAMED(name_, #name_, getinfo_, init_)

#define WF_PROV_FRAME_NAMED(name_, text_, getinfo_, init_)                             \
	static int prov_getinfo(uint32_t version, const char *node,                    \
		const char *service, uint64_t flags, const struct fi_info *hints,      \
		struct fi_info **ret_info)                                             \
	{                                                                              \
		return getinfo_(&name_##_prov, version, node, service, flags, hints,   \
			ret_info);                                                     \
	}                                                                              \
	static int prov_fabric(struct fi_fabric_attr *attr,                            \
		struct fid_fabric **ret_fabric, void *context)                         \
	{                                                                              \
		return wf_fabric_open(&name_##_prov, attr, ret_fabric, context);       \
	}                                                                              \
	static void prov_cleanup(void)                                                 \
	{                                                                              \
		if (name_##_prov.cleanup)                                              \
			name_##_prov.cleanup();                                        \
	}                                                                              \
	struct fi_provider name_##_fi = {                                              \
		.version = WF_PROV_VERSION,                                            \
		.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),          \
		.name = text_,                                                         \
		.getinfo = prov_getinfo,                                               \
		.fabric = prov_fabric,                                                 \
		.cleanup = prov_cleanup,                                               \
	};                                                                             \
	WF_PROV_INI(name_)                                                             \
	{                                                                              \
		init_();                                                               \
		return &name_##_fi;                                                    \
	}

#endif
