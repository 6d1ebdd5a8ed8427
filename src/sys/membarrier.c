/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/membarrier.h"

#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

bool wf_membarrier_join(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

bool wf_membarrier(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

bool wf_membarrier_join_own(void)
{
	return !syscall(
		SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

bool wf_membarrier_own(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
