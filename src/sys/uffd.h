/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_UFFD_H
#define WF_SYS_UFFD_H

#include "sys/mem_changes.h"

/*
 * Memory of this process, watched by userfaultfd(2): a thread adds to a log what is
 * unmapped, moved by mremap(2) or given back by madvise(2). A thread that does such a
 * thing goes on only when the log has it: who sees the memory mapped anew sees the
 * entry.
 */
struct wf_uffd;

/* -FI_ENOSYS: the kernel, or what confines this process, does not allow that, or an
 * error of the system. @changes outlives the watch. */
int wf_uffd_open(struct wf_mem_changes *changes, struct wf_uffd **ret_uffd);
/* Ends all watching. NULL: no-op. */
void wf_uffd_close(struct wf_uffd *uffd);

/* Watch the pages of this memory, until they go away or the watch is closed. A negative
 * errno: pages of this kind (of a file on disk, of a device), or watched by another
 * userfaultfd. */
int wf_uffd_watch(struct wf_uffd *uffd, const void *addr, size_t len);

#endif
