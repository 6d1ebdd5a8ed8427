/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_STAND_IN_H
#define WF_CORE_STAND_IN_H

#include <stdint.h>
#include <rdma/fi_endpoint.h>

/*
 * Providers that programs name and that are not here, while another can do what the
 * program expects of them: a stand-in is registered under such a name, and answers with
 * endpoints of its base under that name. It answers only where it is named. A real
 * provider of the name replaces it by being there.
 */
struct wf_stand_in {
	const char *name;
	const char *base;
	/* The endpoints of @base that are meant; FI_EP_UNSPEC for all of them. */
	enum fi_ep_type type;
	/* What programs compare ep_attr.protocol with; 0 for that of @base. */
	uint32_t protocol;
};

/* Rows of one name stand together. builtin.c has the table; it ends with a NULL name.
 */
extern const struct wf_stand_in wf_stand_ins[];

/* Register them where the name is free and a base is there. Called once, after all
 * other providers were registered. */
void wf_stand_ins_register(void);

#endif
