/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_BOOK_H
#define WF_SYS_BOOK_H

#include <stdint.h>

#include "sys/compiler.h"

/*
 * Numbers that stand for pointers, where there are many of the references and few of
 * the things. 0 is nobody's number. All zero is an empty book; the caller serialises.
 */
struct wf_book {
	void **at; /* by number; of those that are free the next one, and 1 */
	uint32_t room, used, free;
};

void wf_book_done(struct wf_book *book);

/* The number of @what, below @limit; 0 when there is none, or no memory. */
uint32_t wf_book_enter(struct wf_book *book, void *what, uint32_t limit);

void wf_book_leave(struct wf_book *book, uint32_t number);

#endif
