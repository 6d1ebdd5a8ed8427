/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdbool.h>

#include "sys/book.h"

/* A book of up to this many numbers is kept when it has become empty. */
enum { KEPT = 1024, FIRST_ROOM = 16 };

void wf_book_done(struct wf_book *book)
{
	free(book->at);
	*book = (struct wf_book){ 0 };
}

static void set_free(struct wf_book *book, uint32_t number)
{
	book->at[number] = (void *)((uintptr_t)book->free << 1 | 1);
	book->free = number;
}

static bool grow(struct wf_book *book, uint32_t limit)
{
	uint32_t room = book->room ? book->room * 2 : FIRST_ROOM;
	void **at;

	room = WF_MIN(room, limit);
	if (room <= book->room)
		return false;
	at = realloc(book->at, room * sizeof(*at));
	if (!at)
		return false;
	book->at = at;
	/* The lowest first, and 0 never. */
	for (uint32_t i = room - 1; i >= WF_MAX(book->room, 1); i--)
		set_free(book, i);
	book->room = room;
	return true;
}

uint32_t wf_book_enter(struct wf_book *book, void *what, uint32_t limit)
{
	uint32_t number;

	if (wf_unlikely(!book->free) && !grow(book, limit))
		return 0;
	number = book->free;
	book->free = (uint32_t)((uintptr_t)book->at[number] >> 1);
	book->at[number] = what;
	book->used++;
	return number;
}

void wf_book_leave(struct wf_book *book, uint32_t number)
{
	assert(number && number < book->room && book->used);
	set_free(book, number);
	if (!--book->used && book->room > KEPT)
		wf_book_done(book);
}
