/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_PAUSE_H
#define WF_SYS_PAUSE_H

/*
 * The pause of a loop that waits for another thread or process, where nothing signals
 * the end of the wait.
 *
 * The first pauses only yield the processor, because most waits are short. Later ones
 * sleep: where threads that yield outnumber the processors, some kernels (Linux 6.18)
 * run the yielding ones alone for minutes, and the one that they wait for does not run.
 */
enum { WF_PAUSE_YIELDS = 32 };

/* Pause for the @round-th time, counted from 0. From round WF_PAUSE_YIELDS on the
 * thread sleeps, for 40 us first and for 1.3 ms in the end. Keeps errno. */
void wf_pause(unsigned int round);

#endif
