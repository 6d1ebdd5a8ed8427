/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_CONFINE_H
#define FAULT_CONFINE_H

#include <stdbool.h>

/* What containers and administrators do to a process. Those that are not permitted here
 * skip the case. */

/* A /dev/shm and a /tmp of our own from here on, for this process and its children;
 * @options of the mount, such as "size=64k", or NULL. */
void own_shm(const char *options);
/* The same where it is permitted; else false. */
bool own_shm_if_permitted(void);
/* Is anything in there? What is found is printed. */
bool anything_left(void);

/* process_vm_readv and process_vm_writev fail with EPERM from here on. */
void refuse_cma(void);
/* May the process read that one's memory? */
bool cma_works(int pid);

/* Another user, without any privilege. */
void become_nobody(void);
/* Skip the case here, before its processes are started, if @confine would skip it in
 * one of them. */
void need_permitted(void (*confine)(void));
/* A user namespace of our own, with the same user in it. */
void own_user_namespace(void);
/* The next child is called 1 in a process namespace of its own. */
void own_process_namespace(void);
/* Run it in a child, called 1 in a process namespace of its own, and exit. */
_Noreturn void in_pid_namespace(void (*run)(void *), void *arg);
/* The first child of a process. */
int child_of(int pid);

#endif
