/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_OPTIONS_H
#define TOOLS_PINGPONG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include "sizes.h"

/* As many as the control protocol can count: nine digits and a closing zero. */
enum { PP_ITERATIONS_MAX = 999999999 };

/* The command line. Strings point into argv. */
struct pp_options {
	const char *server; /* NULL: be the server */
	const char *src_port;
	const char *dst_port;
	const char *domain;
	const char *fabric;
	const char *provider;
	const char *src_addr;
	enum fi_ep_type ep_type; /* FI_EP_UNSPEC without -e */
	int iterations;
	struct pp_size_option size;
	bool verify;
	bool tagged;
	bool ipv6;
	bool debug;
};

/* Returns false when the program is to end with failure, having said why. */
bool pp_options_parse(int argc, char **argv, struct pp_options *options);

static inline bool pp_is_server(const struct pp_options *options)
{
	return !options->server;
}

#endif
