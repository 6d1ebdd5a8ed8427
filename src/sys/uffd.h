/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_UFFD_H
#define WF_SYS_UFFD_H

#include "sys/mem_changes.h"

/*
 * Watches memory of this process by userfaultfd(2): a thread of the watch adds ranges
 * that are unmapped, moved by mremap(2) or given back by madvise(2) to a log. The
 * system call returns only when the range is in the log, so a thread that sees the
 * memory mapped anew also sees the entry.
 */
struct wf_uffd;

/* Open a watch, which adds ranges to @changes until it is closed. 0, or a negative
 * errno: for example, the kernel or a filter of system calls does not allow it. */
int wf_uffd_open(struct wf_mem_changes *changes, struct wf_uffd **ret_uffd);
/* Close the watch and end its thread. NULL: no-op. */
void wf_uffd_close(struct wf_uffd *uffd);

/* Watch the pages of the @len bytes at @addr, until they are unmapped or the watch is
 * closed. 0, or a negative errno: pages of this kind (of a file on disk, of a device)
 * cannot be watched, or another userfaultfd watches them. */
int wf_uffd_watch(struct wf_uffd *uffd, const void *addr, size_t len);

#endif
