/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/proof.h"

#include <errno.h>
#include <sys/uio.h>

#include "providers/shm/conn/socket.h"

enum { RECENT_NS = 100000 };

/* Does the process keep @value at @addr? */
static bool proof_read(pid_t pid, uint64_t addr, uint64_t value)
{
	uint64_t found = 0;
	struct iovec to = { &found, sizeof(found) };
	struct iovec from = { (void *)(uintptr_t)addr, sizeof(found) };

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == sizeof(found) &&
	       found == value;
}

bool shm_proof_is_permitted(pid_t pid)
{
	uint64_t found;
	struct iovec to = { &found, sizeof(found) };
	/* No process has memory there. */
	struct iovec from = { (void *)(uintptr_t)(UINT64_C(1) << 63), sizeof(found) };

	return process_vm_readv(pid, &to, 1, &from, 1, 0) < 0 && errno == EFAULT;
}

bool shm_proof_is_recent(struct shm_conn *conn, uint64_t now)
{
	if (now - conn->process.proved_ns < RECENT_NS)
		return true;
	/* A child of the peer may have its socket, too (clone(2)). */
	if (shm_socket_ended(conn->watch.fd) ||
		!proof_read(conn->process.pid, conn->process.probe_addr,
			conn->process.probe_value))
		return false;
	conn->process.proved_ns = now;
	return true;
}
