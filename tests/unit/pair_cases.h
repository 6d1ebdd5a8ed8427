/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included by a fixture after its struct pair, pair_open, pair_connect and pair_close,
 * and after PAIR_POLLS.
 */
#ifndef TESTS_UNIT_PAIR_CASES_H
#define TESTS_UNIT_PAIR_CASES_H

static inline int pair_setup(void **state)
{
	struct pair *p = malloc(sizeof(*p));

	assert_non_null(p);
	pair_open(p);
	pair_connect(p);
	*state = p;
	return 0;
}

static inline int pair_teardown(void **state)
{
	pair_close(*state);
	free(*state);
	return 0;
}

#define PAIR_TEST(name) cmocka_unit_test_setup_teardown(name, pair_setup, pair_teardown)

/* Replace the endpoint and the connection by new ones. */
static inline void pair_again(struct pair *p)
{
	pair_close(p);
	pair_open(p);
	pair_connect(p);
}

/* Let the endpoint make progress until PAIR_POLLS calls found nothing, and store the
 * operations that ended. */
static inline void pair_progress(struct pair *p)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	unsigned int idle = 0;
	ssize_t ret;

	while (idle < PAIR_POLLS) {
		ret = fi_cq_read(p->cq, &entry, 1);
		if (ret == -FI_EAGAIN) {
			idle++;
			continue;
		}
		idle = 0;
		assert_true(p->ended_count < PAIR_ENDED_MAX);
		if (ret == 1) {
			p->ended[p->ended_count++] = (struct ended){ entry.op_context,
				0, entry.flags, entry.data, entry.len };
			continue;
		}
		assert_int_equal(ret, -FI_EAVAIL);
		assert_int_equal(fi_cq_readerr(p->cq, &err, 0), 1);
		p->ended[p->ended_count++] = (struct ended){ err.op_context, err.err,
			err.flags, err.data, err.len };
	}
}

/* The operation with @context is the only one that ended since the last check. */
static inline void assert_one_ended(struct pair *p, const void *context, int err)
{
	assert_int_equal(p->ended_count, 1);
	assert_ptr_equal(p->ended[0].context, context);
	assert_int_equal(p->ended[0].err, err);
	p->ended_count = 0;
}

/* The @i-th operation that ended is the receive of a message with @tag, whose payload
 * is fill() of that and whose remote CQ data are @tag + 1000. */
static inline void assert_message(const struct pair *p, unsigned int i,
	const uint8_t *buf, size_t len, uint64_t tag)
{
	assert_true(i < p->ended_count);
	assert_ptr_equal(p->ended[i].context, buf);
	assert_int_equal(p->ended[i].err, 0);
	assert_int_equal(p->ended[i].len, len);
	assert_int_equal(p->ended[i].data, tag + 1000);
	for (size_t at = 0; at < len; at++)
		assert_int_equal(buf[at], fill_byte((unsigned int)tag, at));
}

#endif
