/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_ELF_CHECK_H
#define WF_CORE_ELF_CHECK_H

/* Is the open file @fd a complete shared library for this machine? Returns NULL if it
 * is, else the reason as text. Needed because dlopen trusts the sizes in the file's
 * headers and dies with SIGBUS if the file was truncated. */
const char *wf_elf_defect(int fd);

#endif
