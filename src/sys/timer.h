/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_TIMER_H
#define WF_SYS_TIMER_H

#include <stdint.h>

/* A descriptor that becomes readable at a deadline of wf_now_ns, for epoll sets. */

/* Negative errno. Close it with close(). */
int wf_timer_open(void);

/* UINT64_MAX: never. */
void wf_timer_set(int fd, uint64_t deadline_ns);

/* It is not readable any more. */
void wf_timer_drain(int fd);

#endif
