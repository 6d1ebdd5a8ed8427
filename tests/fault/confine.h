/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FAULT_CONFINE_H
#define TESTS_FAULT_CONFINE_H

#include <stdbool.h>

/* Restrictions of processes, as containers and administrators set them. If this process
 * may not set one, the case is skipped. */

/* Give this process and its children a /dev/shm and a /tmp of their own; @options of
 * the mount, such as "size=64k", or NULL. */
void own_shm(const char *options);
/* The same if it is permitted; else false. */
bool own_shm_if_permitted(void);
/* Does either directory contain anything? Its contents are printed. */
bool anything_left(void);

/* From now on process_vm_readv and process_vm_writev fail with EPERM. */
void refuse_cma(void);
/* From now on memfd_create fails with EPERM. */
void refuse_memory_files(void);
/* May this process read the memory of process @pid? */
bool cma_works(int pid);

/* Change to another user, without any privilege. */
void become_nobody(void);
/* Skip the case now, before its processes are started, if @confine would skip it in one
 * of them. */
void need_permitted(void (*confine)(void));
/* Enter a new user namespace, as the same user. */
void own_user_namespace(void);
/* The next child gets a new process namespace, in which its id is 1. */
void own_process_namespace(void);
/* Run @run in a child in a new process namespace, in which its id is 1, and exit with
 * its result. */
_Noreturn void in_pid_namespace(void (*run)(void *), void *arg);
/* The first child of process @pid. */
int child_of(int pid);

#endif
