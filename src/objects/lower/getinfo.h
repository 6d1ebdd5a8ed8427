/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_GETINFO_H
#define WF_OBJECTS_LOWER_GETINFO_H

#include <pthread.h>

#include "objects/lower/answer.h"

/*
 * fi_getinfo(3) of a layered provider whose names and addresses are those of the
 * provider below: one answer for each that the provider below gives. The templates of
 * the layer have no address format (FI_FORMAT_UNSPEC); an answer has that of the
 * provider below, with its addresses, names and NIC attributes. Any thread may call the
 * functions; no lock is held.
 */
/*
 * Answers of the provider below, one for each domain and address format. They are kept
 * because a layer sees providers that FI_PROVIDER hides only within fi_getinfo.
 */
struct wf_lower_found {
	pthread_mutex_t lock; /* a leaf */
	struct fi_info *list; /* without addresses */
};

#define WF_LOWER_FOUND_INIT                                                            \
	{                                                                              \
		PTHREAD_MUTEX_INITIALIZER, NULL                                        \
	}

struct wf_lower_kind {
	const struct wf_prov *prov;   /* the layer */
	struct wf_lower_needs needs;  /* demands on the provider below */
	struct wf_lower_found *found; /* answers that were kept */
};

/* Errors as fi_getinfo(3), with the reason logged. */
int wf_lower_getinfo(const struct wf_lower_kind *kind, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info);

/* The first answer of the provider below with the names and the address format of
 * @above, an answer of wf_lower_getinfo that the application may have changed. The
 * caller frees *ret_below. -FI_ENODATA, logged: there is none any more. */
int wf_lower_getinfo_below(const struct wf_lower_kind *kind,
	const struct fi_info *above, struct fi_info **ret_below);

/* Free the kept answers; called by wf_prov.cleanup. */
void wf_lower_getinfo_done(const struct wf_lower_kind *kind);

#endif
