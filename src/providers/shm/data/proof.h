/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_PROOF_H
#define SHM_PROOF_H

#include "providers/shm/conn/conn.h"

/* Copies between this process's memory and that of conn->pid. ep.lock. */

/* May this process access the memory of process @pid, and is it the peer: does it keep
 * @value at @addr? Only an attempt to read shows it. */
bool shm_proof_read(pid_t pid, uint64_t addr, uint64_t value);

/*
 * Is conn->pid the peer's process, and its socket open, at the time @now (wf_now_ns),
 * or were they a moment before? To ask the kernel takes as long as to copy some KiB,
 * and the number of a process that has ended is not used again so soon. (One that
 * executes another program keeps its number. Its socket tells, which is noticed within
 * that moment; until then copies fail, or are from or into memory of the new program if
 * it has some at the same address.)
 */
bool shm_proof_is_recent(struct shm_conn *conn, uint64_t now);

#endif
