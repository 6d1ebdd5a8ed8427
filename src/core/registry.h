/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_REGISTRY_H
#define WF_CORE_REGISTRY_H

#include <stdbool.h>
#include <rdma/providers/fi_prov.h>

#include "core/prov_name.h"
#include "sys/list.h"

/* A provider that fi_getinfo may ask, built in or loaded. */
struct wf_prov_entry {
	struct wf_list link; /* in wf_registry, the most desirable provider first */
	struct fi_provider *prov;
	void *dl;          /* dlopen handle, NULL when built in */
	char *origin;      /* where the provider was found, for the log */
	bool preferred;    /* "+/abs/path" in FI_PROVIDER_PATH: preferred to others */
	bool hidden;       /* FI_PROVIDER excludes the provider */
	bool by_name_only; /* answers only if the hints or the user name it */
	unsigned int rank; /* rank in the fixed order; the lowest answers first */
};

/* The registry is filled once, by wf_core_init, and constant from then on: after that
 * call it may be read without a lock. */
extern struct wf_list wf_registry; /* struct wf_prov_entry, by link */

#define wf_registry_foreach(entry)                                                     \
	for (struct wf_prov_entry *entry =                                             \
			wf_list_entry(wf_registry.next, struct wf_prov_entry, link);   \
		&entry->link != &wf_registry;                                          \
		entry = wf_list_entry(entry->link.next, struct wf_prov_entry, link))

/* Built-in providers: one row each in builtin.c. */
typedef struct fi_provider *(*wf_prov_ini_fn)(void);
extern const wf_prov_ini_fn wf_builtin_providers[]; /* NULL-terminated */

/* Names that the core knows, from the most to the least desirable; a layered name has a
 * row of its own if the rank of its top layer is wrong for it. builtin.c holds the
 * table, and no other file of the core names providers. */
struct wf_known_prov {
	const char *name;
	bool named_base;   /* carries a utility layer only when a hint names both */
	bool by_name_only; /* answers only if the hints or the user name it */
	bool one_machine;  /* its endpoints reach only peers on this machine */
	/* For a layer that answers by name only: a transport whose endpoints most
	 * programs can use through this layer only. Over this transport the layer
	 * answers without being named, too. NULL: none. */
	const char *completes;
	/* Another one, of which programs name the layer in lists of what was answered.
	 * Where an application names no provider, the layer answers over it as well,
	 * behind it (the rank of the layered name); where it or FI_PROVIDER names the
	 * transport, only the transport answers. NULL: none. */
	const char *behind;
	/* A parameter of the provider; if the user sets it, the provider counts as
	 * named. NULL: none. */
	const char *named_by;
	/* The provider that a warning suggests if this one does not exist, or NULL. */
	const char *instead;
};
extern const struct wf_known_prov wf_known_provs[]; /* ends with a NULL name */

enum { WF_RANKS = 40 }; /* upper bound of the ranks: all are lower */

/* The rank of a (layered) name in the fixed order; unknown names come last. */
unsigned int wf_prov_rank(const struct wf_layers *name);
const struct wf_known_prov *wf_prov_known(const struct wf_layer *name);

/* Where a provider was found. */
struct wf_prov_source {
	void *dl;           /* dlopen handle, NULL when built in */
	const char *origin; /* for the log: path of the library */
	bool preferred;     /* see wf_prov_entry */
	bool by_name_only;  /* true overrides the row of wf_known_provs */
};

/*
 * Register @prov. Of several providers with one name the registry keeps the preferred
 * one, then, unless @first_wins ("@" in FI_PROVIDER_PATH), the one with the highest
 * version, then the first. Called by wf_core_init only, so no lock.
 *
 * 0: registered. -FI_EALREADY: another provider of that name was kept. -FI_EINVAL: the
 * provider is invalid; a warning gives the reason. -FI_EALREADY and -FI_EINVAL delete
 * the parameters of @prov, call its cleanup and close @source->dl.
 */
int wf_registry_add(
	struct fi_provider *prov, const struct wf_prov_source *source, bool first_wins);

struct wf_prov_entry *wf_registry_find(const struct wf_layer *name);

/* May a caller that names @entry use it? A list of wanted names in FI_PROVIDER only
 * hides the other providers from applications: a layer in the list can still use them.
 * A list of unwanted names hides them from layers as well. */
bool wf_prov_usable_by_name(const struct wf_prov_entry *entry);

/* Is a provider from the library with this dlopen handle registered? */
bool wf_registry_has_dl(const void *dl);

/* Clean up and unload all providers, at the end of the process. */
void wf_registry_done(void);

#endif
