/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_PROOF_H
#define WF_SHM_CONN_PROOF_H

#include "providers/shm/conn/conn.h"

/* Copies between this process's memory and that of conn->process.pid. ep.lock. */

/* May this process access the memory of process @pid? Only an attempt to read shows it.
 * Nothing is read: a process that only asks for a connection could let that take for
 * ever (userfaultfd). */
bool shm_proof_is_permitted(pid_t pid);

/*
 * Is conn->process.pid the peer's process, and its socket open, at the time @now
 * (wf_now_ns), or were they a moment before? To ask the kernel takes as long as to copy
 * some KiB, and the number of a process that has ended is not used again so soon. (One
 * that executes another program keeps its number. Its socket tells, which is noticed
 * within that moment; until then copies fail, or are from or into memory of the new
 * program if it has some at the same address.)
 */
bool shm_proof_is_recent(struct shm_conn *conn, uint64_t now);

#endif
