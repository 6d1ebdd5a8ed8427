/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/fds.h"

/* A descriptor in reserve, for a process that has no other left. */

int wf_fds_spare(void)
{
	return wf_sys_open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool wf_fds_refuse(int listener, int *spare)
{
	int fd;

	if (*spare < 0)
		*spare = wf_fds_spare();
	if (*spare < 0)
		return false;
	(void)wf_sys_close(*spare);
	fd = wf_sys_accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		(void)wf_sys_close(fd);
	*spare = wf_fds_spare();
	return fd >= 0;
}
