/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ABSENT_STUB_H
#define WF_OBJECTS_ABSENT_STUB_H

/*
 * Define the stub of a slot. One row per slot, in the order of the interface's tables.
 * The compiler checks each stub against its declaration in absent.h, which has the type
 * of the slot.
 */
#define STUB(table, slot, type, answer, ...)                                           \
	type wf_absent_##table##_##slot(__VA_ARGS__)                                   \
	{                                                                              \
		return answer;                                                         \
	}

#endif
