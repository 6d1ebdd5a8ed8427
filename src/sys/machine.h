/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MACHINE_H
#define WF_SYS_MACHINE_H

#include <stdint.h>

/*
 * Identities of machines and of the processes of one machine. Host names and addresses
 * are no identities: several machines may have the same. Any thread may call; all
 * functions return 0 or a negative errno, and read /proc, which may not be mounted.
 */

/* The running kernel: random, new at each boot. */
int wf_machine_boot_id(uint8_t ret_id[16]);

/* The process namespace of this process, in which its process id is valid. Containers
 * on one kernel have different ones. */
int wf_machine_pid_ns(uint64_t *ret_ns);

/* The state of process @pid, as the letter of proc(5), and its start time in clock
 * ticks since boot, by which it differs from a later process with the same id. */
int wf_process_stat(uint32_t pid, char *ret_state, uint64_t *ret_started);

#endif
