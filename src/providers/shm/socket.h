/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_SOCKET_H
#define SHM_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "providers/shm/name.h"

/*
 * The exchange that opens a connection, one packet each way over a unix socket:
 * HELLO, with the region's descriptor, and WELCOME or REFUSE. What follows are packets
 * of one byte that wake threads that sleep, and the end.
 */
enum { SHM_HELLO_MAGIC = 0x77660a01, SHM_HELLO_VERSION = 3 };

enum shm_hello_type { SHM_HELLO, SHM_WELCOME, SHM_REFUSE };

enum shm_refusal {
	SHM_REFUSE_CROSSED = 1, /* mine to you is under way and comes first */
	SHM_REFUSE_BUSY,        /* you are connected, as far as I know */
	SHM_REFUSE_BAD,         /* not understood, or another version */
	SHM_REFUSE_MEMORY,
};

enum { SHM_HELLO_SLEEPS = 1 }; /* flags: wake me */

struct shm_hello {
	uint32_t magic;
	uint16_t version;
	uint8_t type;
	uint8_t flags;
	uint32_t reason; /* enum shm_refusal */
	uint32_t region_size;
	uint64_t instance; /* of the endpoint, random */
	/* Where in its memory the sender keeps which value: a process that can read it
	 * there can read the rest. */
	uint64_t probe_addr, probe_value;
	char name[SHM_NAME_MAX];
};

/* All: 0 or a negative errno. */

/* ---- listen.c ---- */

/* Listen at the endpoint's name; -EADDRINUSE: another endpoint does. */
int shm_socket_listen(const char *name, int *ret_fd);
/* Does an endpoint listen at name @node, or at one that goes on with ":" behind it? */
bool shm_socket_knows(const char *node);
/* No more; the name is free. */
void shm_socket_unlisten(int fd);
/* -ENOENT and -ECONNREFUSED: no endpoint is there; -EAGAIN: too many wait there. */
int shm_socket_connect(const char *name, int *ret_fd);

/* ---- socket.c ---- */

/* -EAGAIN: no connection waits. -EMFILE: one was closed, for want of a descriptor, with
 * the help of *spare (sys/fds.h). */
int shm_socket_accept(int listener, int *spare, int *ret_fd);
/* Forked children close @fd, a new one; or it is closed. */
int shm_socket_own(int fd, int *ret_fd);
/* All of the descriptors above are closed by this. */
void shm_socket_close(int fd);
/* The process at the other end, 0: not visible from here. -EACCES: of another user. */
int shm_socket_peer(int fd, pid_t *ret_pid);

/* Has the other end closed its own? */
bool shm_socket_ended(int fd);

/* @pass: a descriptor to go along, or -1. */
int shm_hello_send(int fd, const struct shm_hello *hello, int pass);
/* -EAGAIN: nothing yet. -ECONNRESET: the end. -EPROTO: not one of ours. *ret_pass: what
 * came along, or -1. */
int shm_hello_recv(int fd, struct shm_hello *hello, int *ret_pass);

#endif
