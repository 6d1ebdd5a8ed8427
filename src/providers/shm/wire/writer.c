/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/wire/writer.h"

bool shm_writer_refresh(struct shm_writer *w)
{
	/* L4: acquire, pairs with L3. slots is loaded first, so that bytes is at least
	 * as new. bytes may be newer, so it is loaded with acquire as well: the
	 * reader's loads before it stored its position are over. */
	uint32_t slots =
		atomic_load_explicit(&w->lane->reader.slots, memory_order_acquire);
	uint64_t pos =
		atomic_load_explicit(&w->lane->reader.bytes, memory_order_acquire);

	return shm_writer_learn(w, slots, pos);
}
