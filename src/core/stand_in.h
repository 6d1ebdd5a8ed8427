/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_STAND_IN_H
#define WF_CORE_STAND_IN_H

#include <stdint.h>
#include <rdma/fi_endpoint.h>

/*
 * Stand-ins: names of providers that do not exist in this library, while another
 * provider (the base) has the endpoints that programs expect of them. A stand-in is
 * registered under such a name, and returns endpoints of its base under that name, if
 * hints or the user name it. If a real provider of the name is loaded, it is used
 * instead.
 */
struct wf_stand_in {
	const char *name; /* the name that programs ask for */
	const char *base; /* the provider that answers */
	/* The type of the endpoints of @base; FI_EP_UNSPEC: all types. */
	enum fi_ep_type type;
	/* The ep_attr.protocol that programs expect; 0: that of @base. */
	uint32_t protocol;
};

/* Rows of one name stand together. builtin.c has the table; it ends with a NULL
 * name. */
extern const struct wf_stand_in wf_stand_ins[];

/* Register the stand-ins whose name is free and whose base exists. Called once, after
 * all other providers were registered. */
void wf_stand_ins_register(void);

#endif
