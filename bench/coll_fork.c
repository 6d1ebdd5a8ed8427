/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "coll_fork.h"
#include "pair.h"

/* Start a process for one member; the parent returns. */
static void start_member(struct coll_group *group, void *board,
	void (*join)(struct coll_group *group, void *board), const char *only)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		pair_fail("fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (group->members <= sysconf(_SC_NPROCESSORS_ONLN))
		pair_pin(group->rank);
	join(group, board);
	coll_rows(group, only, true);
	/* A barrier: a member that ends makes the operations of other members fail. */
	(void)group->max(group, 0);
	exit(0);
}

int coll_fork(struct coll_group *group, size_t board_size,
	void (*join)(struct coll_group *group, void *board), const char *only)
{
	void *board = mmap(NULL, board_size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	if (board == MAP_FAILED)
		pair_fail("mmap");
	for (group->rank = 0; group->rank < group->members; group->rank++)
		start_member(group, board, join, only);
	while (wait(&status) > 0)
		if (status)
			return 1; /* the others die with this process */
	return 0;
}
