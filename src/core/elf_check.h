/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_ELF_CHECK_H
#define WF_CORE_ELF_CHECK_H

/* Is the open file @fd a whole shared library for this machine? dlopen trusts the
 * sizes that a file claims and dies with SIGBUS where one was cut short. NULL, or
 * why not. */
const char *wf_elf_defect(int fd);

#endif
