/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FAULT_FAULT_H
#define TESTS_FAULT_FAULT_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../time_limits.h"

/*
 * Reliable datagram endpoints in processes that die, stall, start late and get
 * connections from unknown programs. Every process has one endpoint or more, knows the
 * others by a number (the port on which they listen, or part of a name) and has an
 * alarm, so that it never waits for ever.
 */

#define CHECK(cond)                                                                    \
	do {                                                                           \
		if (!(cond)) {                                                         \
			fprintf(stderr, "%d: %s:%d: %s\n", (int)getpid(), __FILE__,    \
				__LINE__, #cond);                                      \
			_exit(1);                                                      \
		}                                                                      \
	} while (0)

#define CHECK_OK(call)                                                                 \
	do {                                                                           \
		long ret_ = (long)(call);                                              \
		if (ret_) {                                                            \
			fprintf(stderr, "%d: %s:%d: %s: %s\n", (int)getpid(),          \
				__FILE__, __LINE__, #call, fi_strerror((int)-ret_));   \
			_exit(1);                                                      \
		}                                                                      \
	} while (0)

#include <unistd.h>

/* Time limit for an event, in milliseconds. */
#define LIMIT_MS limit_ms(30000)

enum { MAX_PEERS = 128, NODE_NAME_MAX = 64 };

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_ep *ep;
	bool sleeps;   /* A thread can sleep on the queue. */
	bool events;   /* An event queue is bound. */
	uint64_t caps; /* capabilities besides FI_MSG */
	enum fi_progress progress;
	enum fi_threading threading;
	fi_addr_t peer[MAX_PEERS];
};

/* Open an endpoint of FAULT_PROVIDER; if it has ports, it listens on FAULT_HOST,
 * 127.0.0.1 by default. @port 0: any port. */
void node_open(struct node *node, uint16_t port);
/* The same, for a node whose properties are set. */
void node_open_as(struct node *node, uint16_t port);
/* The same with further capabilities. Returns 0; or the error of the first call that
 * fails, and nothing is open. */
int node_try(struct node *node, uint16_t port, uint64_t caps);
void node_close(struct node *node);
uint16_t node_port(struct node *node);
/* The port at which another endpoint of the node listens. */
uint16_t node_port_of(struct fid_ep *ep);
/* Insert the address of an endpoint that need not exist yet. */
fi_addr_t node_peer(struct node *node, uint16_t port);
/* The address string of number @port, if addresses are strings. */
void node_name(char name[NODE_NAME_MAX], uint16_t port);
/* Is @provider the one that is tested? */
bool node_over(const char *provider);
/* To be called before any process is forked. */
void node_numbers_init(void);
fi_addr_t node_peer_at(struct node *node, const char *host, uint16_t port);

/* Call fi_tsend until it accepts the message; @buf must stay valid. False: not within
 * @timeout_ms. */
bool node_send(struct node *node, fi_addr_t to, const void *buf, size_t len,
	uint64_t tag, void *context, int timeout_ms);
/* The same within LIMIT_MS, with a completion level (FI_DELIVERY_COMPLETE, ...). */
void node_send_level(struct node *node, fi_addr_t to, const void *buf, size_t len,
	uint64_t tag, void *context, uint64_t level);
void node_receive(
	struct node *node, void *buf, size_t len, uint64_t tag, void *context);

/* The same for this tag only. */
void node_receive_exact(
	struct node *node, void *buf, size_t len, uint64_t tag, void *context);

/* Wait for the next completion: returns 1: a success, -1: an error (in @err), 0: none
 * within the time. */
int node_wait(struct node *node, struct fi_cq_tagged_entry *entry,
	struct fi_cq_err_entry *err, int timeout_ms);
/* Make progress for so many milliseconds; no completion may arrive. */
void node_idle(struct node *node, int ms);

uint64_t now_ms(void);
/* A port that is free now. */
uint16_t free_port(void);
/* Ports that are free and differ, because the kernel may return the same port
 * repeatedly. */
void different_ports(uint16_t *ports, int count);
/* A number from the environment. */
unsigned int setting(const char *name, unsigned int fallback);

/* Fork @run with its argument; it exits 0 when it returns. @seconds until its
 * alarm, on an idle machine (time_limits.h). */
pid_t child(void (*run)(void *), void *arg, unsigned int seconds);
/* The process must exit with 0. */
void join(pid_t pid);
void kill_and_reap(pid_t pid);

/* A pipe that sends one byte from process to process. */
struct signal_pipe {
	int fd[2];
};
void pipe_open(struct signal_pipe *p);
void pipe_close(struct signal_pipe *p);
void pipe_tell(struct signal_pipe *p);
void pipe_wait(struct signal_pipe *p);
bool pipe_told(const struct signal_pipe *p);
/* Make progress until the byte of @told arrives; completions are dropped. */
void node_drive_until(struct node *node, const struct signal_pipe *told);

/* The case needs something that is not permitted. */
_Noreturn void skip(const char *why);

/* Run all cases, or the one that is named, each in a process of its own, and print the
 * results in TAP; "list": print the names. */
struct fault_case {
	const char *name;
	void (*run)(void);
	unsigned int seconds;
};
int fault_main(const struct fault_case *cases, size_t count, int argc, char **argv);

#endif
