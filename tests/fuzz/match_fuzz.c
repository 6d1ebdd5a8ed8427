/* SPDX-License-Identifier: BSD-2-Clause */
/* Any sequence of operations on the matching engine, compared with the model of its
 * unit tests. The bytes are the numbers that the operations are made of. */
#include "../unit/match/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	struct source src;
	const uint8_t *at, *end;
};

static uint64_t next_number(struct source *src)
{
	struct bytes *b = wf_container_of(src, struct bytes, src);
	uint64_t n = 0;

	if (b->at == b->end)
		return 0;
	/* Two bytes reach every weight; all ones stands for a wide number. */
	n = *b->at++;
	if (b->at < b->end)
		n |= (uint64_t)*b->at++ << 8;
	return n == 0xffff ? UINT64_MAX - n : n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { .src.next = next_number, .at = data, .end = data + size };
	struct world w;

	world_init(&w, &b.src);
	while (b.at < b.end && !w.wrong) {
		switch (*b.at) {
		case 0xf0:
			b.at++;
			op_season(&w);
			break;
		case 0xf1:
			b.at++;
			op_drain(&w);
			break;
		case 0xf2:
			b.at++;
			op_walk(&w);
			break;
		default:
			world_step(&w);
		}
	}
	if (w.wrong) {
		fprintf(stderr, "%s differs\n", w.wrong);
		abort();
	}
	world_done(&w);
	return 0;
}
