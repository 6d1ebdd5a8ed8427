/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/await.h"

#include "providers/shm/conn/socket.h"
#include "sys/clock.h"
#include "sys/pause.h"

enum {
	SPINS = 1000, /* polls between two readings of the clock */
	WAIT_MS = 1000,
};

bool shm_await(
	const struct shm_conn *conn, bool (*busy)(const void *arg), const void *arg)
{
	uint64_t deadline = 0;

	for (unsigned int i = 1; busy(arg); i++) {
		wf_cpu_relax();
		if (i % SPINS)
			continue;
		if (!deadline)
			deadline = wf_deadline_ns(WAIT_MS);
		if (shm_socket_ended(conn->watch.fd))
			return true;
		if (wf_now_ns() > deadline)
			return false;
		wf_pause(i / SPINS - 1);
	}
	return true;
}
