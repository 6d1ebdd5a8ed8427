/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_NEAREST_H
#define WF_CORE_NEAREST_H

/* The number of letters that must be inserted, dropped, changed or swapped with their
 * neighbour to turn @a into @b. Only the first 63 letters of either count. */
unsigned int wf_edit_distance(const char *a, const char *b);

#endif
