/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FUZZ_LIVE_H
#define TESTS_FUZZ_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

/*
 * An endpoint for a fuzz target, opened through the public interface, and an
 * application that uses it: sends, receives, RMA, atomics, cancels, peeks, and memory
 * regions that are closed while peers access them. The input chooses what happens.
 *
 * Each operation has heap memory of exactly its length, freed when its completion was
 * read, so that the address sanitizer sees every later access. A completion of an
 * operation that is not pending aborts. One thread; with automatic progress the library
 * has another.
 */
enum { LIVE_BUF = 20000, LIVE_OPS = 256, LIVE_KEY = 1 };

struct input {
	const uint8_t *at;
	size_t left;
};

/* byte_of: the next byte of the input, 0 behind its end. The other function: @bytes of
 * them as a little endian number. */
uint8_t byte_of(struct input *in);
uint64_t number_of(struct input *in, int bytes);
/* A length below LIVE_BUF, from the input. */
size_t length_of(struct input *in);

/* Abort if @ok is false. */
void must(int ok);

struct live_op {
	struct fi_context2 room; /* memory for the provider; first field */
	uint8_t *buf;
	bool pending;
	bool multi;   /* FI_MULTI_RECV: complete with that flag */
	bool peeked;  /* FI_PEEK | FI_CLAIM: its success has claimed a message */
	bool claimed; /* a message waits for FI_CLAIM with this context */
};

/* @auto_progress: the library runs a thread. The other fields say what kind of endpoint
 * it is. addr: address of this endpoint, NULL: the provider chooses one. */
struct live_conf {
	const char *prov;
	const char *node;   /* for fi_getinfo with FI_SOURCE, or NULL */
	const char *domain; /* its name, or NULL */
	enum fi_ep_type type;
	uint32_t addr_format;
	uint64_t caps;
	bool auto_progress;
	const void *addr;
	size_t addr_len;
};

struct live {
	struct live_conf conf;
	/* Opened once. */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq; /* for FI_EP_MSG */
	/* State during one input. */
	bool sleeps; /* the CQ has a descriptor, and is made ready for a sleep */
	struct fid_mr *mr;
	uint8_t *window; /* LIVE_BUF bytes, the peers' to read and write; or NULL */
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer; /* destination of operations */
	struct live_op ops[LIVE_OPS];
	unsigned int op_count;
};

void live_open_domain(struct live *v, const struct live_conf *conf);

/* A CQ, an AV for a connectionless endpoint, and the window. */
void live_open(struct live *v, bool sleeps);
/* An endpoint of @info, bound and enabled. */
void live_open_ep(struct live *v, struct fi_info *info);
/* Everything that live_open and live_open_ep opened. */
void live_close(struct live *v);

/* Read completions a few times, and let the library's thread run where it has one. */
void live_drive(struct live *v);

/* Do one thing that an application may do. */
void live_move(struct live *v, struct input *in);

#endif
