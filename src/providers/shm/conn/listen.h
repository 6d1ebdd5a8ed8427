/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_LISTEN_H
#define WF_SHM_CONN_LISTEN_H

#include <stdbool.h>

/* Sockets with the names of endpoints. Functions that return int return 0 or a negative
 * errno. */

/* Listen at the endpoint's name; -EADDRINUSE: another endpoint has the name. */
int shm_socket_listen(const char *name, int *ret_fd);
/* Does an endpoint listen at name @node, or at a name that begins with @node and
 * ":"? */
bool shm_socket_knows(const char *node);
/* Stop listening and remove the name, which is that of shm_socket_listen. */
void shm_socket_unlisten(int fd, const char *name);
/* Connect to the endpoint @name. -ENOENT, -ECONNREFUSED: no endpoint has the name;
 * -EAGAIN: the backlog of its socket is full. */
int shm_socket_connect(const char *name, int *ret_fd);

#endif
