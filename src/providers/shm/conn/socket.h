/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_SOCKET_H
#define WF_SHM_CONN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "providers/shm/name.h"

/*
 * The exchange that opens a connection, one packet each way over a unix socket: HELLO,
 * with the segment's descriptor, and WELCOME or REFUSE. Later packets are one byte long
 * and wake sleeping threads; the end of the stream is the end of the connection.
 */
enum { SHM_HELLO_MAGIC = 0x77660a01, SHM_HELLO_VERSION = 11 };

enum shm_hello_type { SHM_HELLO, SHM_WELCOME, SHM_REFUSE };

enum shm_refusal {
	/* The requests of both endpoints crossed, and that of the refusing endpoint is
	 * used. */
	SHM_REFUSE_CROSSED = 1,
	/* The refusing endpoint has a connection to the requester. */
	SHM_REFUSE_BUSY,
	SHM_REFUSE_BAD, /* a malformed packet, or another version */
	SHM_REFUSE_MEMORY,
	SHM_REFUSE_FILES, /* the refusing process has no descriptor left */
};

/* Flags. SLEEPS: threads of the sender sleep and have to be woken. */
enum { SHM_HELLO_SLEEPS = 1 << 0 };

struct shm_hello {
	uint32_t magic;
	uint16_t version;
	uint8_t type;
	uint8_t flags;
	uint32_t reason; /* enum shm_refusal */
	uint32_t segment_size;
	uint64_t instance; /* instance number of the endpoint, random */
	/* The sender keeps probe_value at probe_addr: a process that finds it there has
	 * not mistaken another process for the sender. */
	uint64_t probe_addr, probe_value;
	/* The descriptor of the table of regions in the sender's process
	 * (copy/regions.h); -1: it publishes none. */
	int32_t table_fd;
	char name[SHM_NAME_MAX];
};

/* Functions that return int return 0 or a negative errno. */

/* Accept a connection. -EAGAIN: none waits. -EMFILE: the process has no descriptor
 * left; one connection was accepted with the spare descriptor *spare and closed
 * (sys/fds.h). */
int shm_socket_accept(int listener, int *spare, int *ret_fd);
/* Register @fd to be closed in forked children; the new descriptor is *ret_fd. Packets
 * that it receives from now on name their sender. On failure @fd is closed. */
int shm_socket_own(int fd, int *ret_fd);
/* Close a descriptor that one of the functions above returned. */
void shm_socket_close(int fd);
/* Get the process of the peer; 0: it is not in this PID namespace. -EACCES: it belongs
 * to another user. */
int shm_socket_peer(int fd, pid_t *ret_pid);

/* Log that this process has no descriptor left, rarely. */
void shm_socket_log_full(void);

/* Has the peer closed its socket? */
bool shm_socket_ended(int fd);

/* Send a packet of @len bytes. @pass: a descriptor to send with it, or -1. -EAGAIN: the
 * socket is full. */
int shm_socket_send(int fd, const void *packet, size_t len, int pass);
/* Receive a packet of up to @len bytes; the rest of a longer one is lost. Returns its
 * length in bytes; 0: the peer closed the socket. -EPROTO: the packet has several
 * descriptors. -EMFILE: this process has no number for the packet's descriptor.
 * *ret_pass: the packet's descriptor, or -1. */
ssize_t shm_socket_recv(int fd, void *packet, size_t len, int *ret_pass);

/* Send a packet of the exchange. @pass: a descriptor to send with it, or -1. */
int shm_hello_send(int fd, const struct shm_hello *hello, int pass);
/* Receive a packet of the exchange. -EAGAIN: there is none yet. -ECONNRESET: the peer
 * closed the socket. -EPROTO: the packet is malformed. -EMFILE, *ret_pass: as for
 * shm_socket_recv. *ret_sender: the process that sent the packet, as the kernel says;
 * 0: it is not in this PID namespace. Unchanged if there is no packet. */
int shm_hello_recv(int fd, struct shm_hello *hello, int *ret_pass, pid_t *ret_sender);

#endif
