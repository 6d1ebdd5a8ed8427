/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_REGISTRY_H
#define WF_CORE_REGISTRY_H

#include <stdbool.h>
#include <rdma/providers/fi_prov.h>

#include "core/prov_name.h"
#include "sys/list.h"

/* A provider that fi_getinfo may ask, built in or loaded. */
struct wf_prov_entry {
	struct wf_list link; /* in the order of desirability */
	struct fi_provider *prov;
	void *dl;          /* dlopen handle, NULL when built in */
	char *origin;      /* where it came from, for the log */
	bool preferred;    /* "+/abs/path" of FI_PROVIDER_PATH: beats all of its name */
	bool hidden;       /* ruled out by FI_PROVIDER as a whole */
	bool by_name_only; /* answers only where it is named */
	unsigned int rank; /* rank in the fixed order, lower is better */
};

/* The registry is filled once, by wf_core_init, and constant from then on: after that
 * call it may be read without a lock. */
extern struct wf_list wf_registry; /* of wf_prov_entry */

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
	bool by_name_only; /* answers only where it is named */
	bool one_machine;  /* reaches no other machine */
	/* A parameter of its own that, when set, counts as naming it. */
	const char *named_by;
	/* The provider to suggest if this one does not exist. */
	const char *instead;
};
extern const struct wf_known_prov wf_known_provs[]; /* ends with a NULL name */

enum { WF_RANKS = 40 }; /* above every rank */

/* The rank of a (layered) name in the fixed order; unknown names come last. */
unsigned int wf_prov_rank(const struct wf_layers *name);
const struct wf_known_prov *wf_prov_known(const struct wf_layer *name);

/* Where a provider comes from. */
struct wf_prov_source {
	void *dl;
	const char *origin;
	bool preferred;
	bool by_name_only; /* answers only where it is named, whatever the table says */
};

/*
 * Of several providers of one name a preferred one wins, then, unless @first_wins
 * ("@" of FI_PROVIDER_PATH), the one with the highest version, then the first.
 *
 * 0: it is registered. -FI_EALREADY: another of its name stays. -FI_EINVAL: it is
 * refused, with a warning saying why. In the last two cases its parameters are
 * forgotten, its cleanup was called and @source->dl is closed.
 */
int wf_registry_add(
	struct fi_provider *prov, const struct wf_prov_source *source, bool first_wins);

struct wf_prov_entry *wf_registry_find(const struct wf_layer *name);

/* May a caller that names @entry use it? A list of wanted names in FI_PROVIDER only
 * hides the other providers from applications: a layer in the list can still use them.
 * A list of unwanted names hides them from layers as well. */
bool wf_prov_usable_by_name(const struct wf_prov_entry *entry);

/* Has this library already given a provider? */
bool wf_registry_has_dl(const void *dl);

/* Let every provider go; for the end of the process. */
void wf_registry_done(void);

#endif
