/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/verbs/data/data.h"

int verbs_queue_init(struct verbs_queue *queue, uint32_t capacity)
{
	uint32_t slots = 1;

	while (slots < capacity)
		slots *= 2;
	*queue = (struct verbs_queue){
		.slots = calloc(slots, sizeof(struct verbs_wr)),
		.mask = slots - 1,
		.capacity = capacity,
	};
	return queue->slots ? 0 : -FI_ENOMEM;
}

void verbs_queue_done(struct verbs_queue *queue)
{
	free(queue->slots);
	queue->slots = NULL;
}
