/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"

/*
 * Trains of each length in buffers of each size around the limits: received in place or
 * copied, they are the same datagrams in the same order, with their source.
 */

enum { TRAIN_MAX = 1 << 16, BURST = 16, PLAIN = 70000 };

static uint8_t buf[4 * TRAIN_MAX], plain[PLAIN], out[PLAIN];

/* Make the endpoint ask for trains: it does after a progress call that found a whole
 * burst. Takes 17 datagrams of no bytes into @h's oldest receive. */
static void turn_on(struct host *h)
{
	for (int i = 0; i < 1 + BURST; i++)
		arrive((struct arrival){ .len = 0, .port = PORT_A });
	progress(h);
	progress(h);
	assert_int_equal(arrivals_left(), 0);
	for (int i = 0; i < 1 + BURST; i++)
		assert_int_equal(completed(h, NULL).len, 0);
	quiet(h);
}

static void open_with(
	struct host *h, uint64_t caps, bool sources, size_t len, size_t min)
{
	host_open(h, (struct host_options){ .caps = FI_MSG | FI_MULTI_RECV | caps,
			     .sources = sources });
	post_slices(h, buf, len, min);
}

/* ---- asking for trains ---- */

/* Only for a multi-receive buffer that any train fits into, and with all of a burst. */
static void when_trains_are_asked_for(void **state)
{
	static const struct {
		size_t len;
		unsigned int arrivals;
		bool sources, asked;
	} rows[] = {
		{ TRAIN_MAX - 1, 1 + BURST, false, false },
		{ TRAIN_MAX, 1 + BURST, false, true },
		{ TRAIN_MAX, BURST, false, false },
		{ TRAIN_MAX + 1, 1 + BURST, false, true },
		/* Each of the datagrams has its source before it. */
		{ TRAIN_MAX + 18 * WF_SOURCE_SPACE - 1, 1 + BURST, true, false },
		{ TRAIN_MAX + 18 * WF_SOURCE_SPACE, 1 + BURST, true, true },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct host h;

		open_with(&h, 0, rows[i].sources, rows[i].len, 1);
		for (unsigned int k = 0; k < rows[i].arrivals; k++)
			arrive((struct arrival){ .len = 0, .port = PORT_A });
		progress(&h);
		progress(&h);
		assert_int_equal(kernel.gros, rows[i].asked);
		assert_int_equal(h.udp->train != NULL, rows[i].asked);
		/* Once is enough. */
		for (unsigned int k = 0; k < 3 * BURST; k++)
			arrive((struct arrival){ .len = 0, .port = PORT_A });
		while (arrivals_left())
			progress(&h);
		if (rows[i].asked)
			assert_int_equal(kernel.gros, 1);
		host_close(&h);
	}
}

static void never_for_plain_receives(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG | FI_MULTI_RECV });
	for (int i = 0; i < 40; i++) {
		assert_int_equal(
			fi_recv(h.fid, buf, 2 * TRAIN_MAX, NULL, FI_ADDR_UNSPEC, NULL),
			0);
		arrive((struct arrival){ .len = 0, .port = PORT_A });
	}
	for (int i = 0; i < 5; i++)
		progress(&h);
	assert_int_equal(arrivals_left(), 0);
	assert_int_equal(kernel.gros, 0);
	host_close(&h);
}

/* A kernel without trains is asked once, and datagrams arrive one by one. */
static void a_kernel_without_trains(void **state)
{
	struct host h;

	(void)state;
	open_with(&h, 0, false, sizeof(buf), 1);
	kernel.gro_err = ENOPROTOOPT;
	for (int i = 0; i < 3; i++)
		turn_on(&h);
	assert_int_equal(kernel.gros, 1);
	assert_null(h.udp->train);
	arrive((struct arrival){ .len = 10, .seed = 4, .port = PORT_A });
	assert_int_equal(completed(&h, NULL).len, 10);
	check_bytes(buf, 4, 0, 10);
	host_close(&h);
}

/* ---- trains ---- */

static const struct train {
	size_t len, segment;
} trains[] = {
	{ 100, 0 }, /* a single datagram */
	{ 0, 0 },
	{ 100, 100 },
	{ 100, 200 },
	{ 100, 99 }, /* the last one has one byte */
	{ 101, 100 },
	{ 200, 100 },
	{ 199, 100 },
	{ 201, 100 },
	{ 64000, 1000 },
	{ 65507, 1452 },
	{ 65507, 65506 },
};

static size_t segment_at(const struct train *t, size_t at)
{
	return t->segment ? WF_MIN(t->segment, t->len - at) : t->len;
}

/* Number of datagrams. */
static unsigned int count_of(const struct train *t)
{
	return t->segment ? (unsigned int)((t->len + t->segment - 1) / t->segment) : 1;
}

/* In place: each datagram is the next slice, and the sources are those of the first. */
static void check_slices(struct host *h, const struct train *t, uint8_t *base,
	bool sources, bool released)
{
	size_t at = 0;

	for (unsigned int i = 0; i < count_of(t); i++) {
		bool last = i + 1 == count_of(t);
		struct fi_cq_tagged_entry e;
		fi_addr_t src;

		e = completed(h, &src);
		assert_int_equal(e.len, segment_at(t, at));
		assert_ptr_equal(e.buf, base + at);
		assert_ptr_equal(e.op_context, buf);
		assert_int_equal(e.flags,
			FI_MSG | FI_RECV | (last && released ? FI_MULTI_RECV : 0));
		check_bytes(e.buf, 6, at, e.len);
		if (sources)
			assert_int_equal(e.data, (uintptr_t)(base - WF_SOURCE_SPACE));
		else
			assert_int_equal(src, h->b);
		at += e.len;
	}
	assert_int_equal(at, t->len);
	quiet(h);
}

/* A buffer into which any train fits, exactly or by one byte, is received into, and
 * released only with the last datagram of the train. */
static void in_place(void **state)
{
	(void)state;
	for (unsigned int sources = 0; sources < 2; sources++)
		for (size_t extra = 0; extra < 2; extra++)
			for (size_t i = 0; i < WF_ARRAY_SIZE(trains); i++) {
				/* What turn_on() leaves of the first buffer. */
				size_t spaces = sources * WF_SOURCE_SPACE;
				size_t size = TRAIN_MAX + extra + 18 * spaces;
				uint8_t *base = buf + 18 * spaces;
				struct sockaddr_in name = name_of(PORT_B);
				struct host h;

				open_with(&h, sources ? 0 : FI_SOURCE, sources, size,
					TRAIN_MAX);
				turn_on(&h);
				assert_true(kernel.gro);
				arrive((struct arrival){ .len = trains[i].len,
					.segment = trains[i].segment,
					.seed = 6,
					.port = PORT_B });
				progress(&h);
				assert_ptr_equal(kernel.into, base);
				assert_int_equal(kernel.space, TRAIN_MAX + extra);
				if (sources)
					assert_memory_equal(base - WF_SOURCE_SPACE,
						&name, sizeof(name));
				check_slices(&h, &trains[i], base, sources,
					trains[i].len > extra);
				host_close(&h);
			}
}

/* Plain receives get one datagram each; what has no receive waits for one. */
static void copied(void **state)
{
	(void)state;
	for (unsigned int posted = 0; posted < 2; posted++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(trains); i++) {
			const struct train *t = &trains[i];
			unsigned int count = count_of(t);
			size_t at = 0;
			struct host h;

			open_with(&h, FI_SOURCE, false, TRAIN_MAX, 1);
			turn_on(&h);
			assert_int_equal(fi_cancel(&h.fid->fid, buf), 0);
			assert_int_equal(failed(&h).err, FI_ECANCELED);
			/* All but one receive are posted before it comes, or only
			 * one. */
			for (unsigned int k = 0; k < (posted ? count : 1); k++)
				assert_int_equal(fi_recv(h.fid, out, PLAIN, NULL,
							 FI_ADDR_UNSPEC, &out[k]),
					0);
			arrive((struct arrival){ .len = t->len,
				.segment = t->segment,
				.seed = 6,
				.port = PORT_B });
			for (unsigned int k = 0; k < count; k++) {
				struct fi_cq_tagged_entry e;
				fi_addr_t src;

				if (k && !posted)
					assert_int_equal(
						fi_recv(h.fid, out, PLAIN, NULL,
							FI_ADDR_UNSPEC, &out[k]),
						0);
				e = completed(&h, &src);
				assert_int_equal(e.len, segment_at(t, at));
				assert_ptr_equal(e.op_context, &out[k]);
				assert_int_equal(src, h.b);
				if (!posted || count == 1)
					check_bytes(out, 6, at, e.len);
				at += e.len;
			}
			assert_int_equal(at, t->len);
			quiet(&h);
			host_close(&h);
		}
}

/* What is left of a train goes before later datagrams, also into a multi-receive buffer
 * that the next train could be received into. */
static void before_later_datagrams(void **state)
{
	struct host h;

	(void)state;
	open_with(&h, 0, false, TRAIN_MAX, 1);
	turn_on(&h);
	assert_int_equal(fi_cancel(&h.fid->fid, buf), 0);
	assert_int_equal(failed(&h).err, FI_ECANCELED);
	assert_int_equal(fi_recv(h.fid, plain, PLAIN, NULL, FI_ADDR_UNSPEC, plain), 0);
	arrive((struct arrival){ .len = 30, .segment = 10, .seed = 1, .port = PORT_A });
	arrive((struct arrival){ .len = 20, .segment = 10, .seed = 2, .port = PORT_A });
	assert_ptr_equal(completed(&h, NULL).op_context, plain);
	post_slices(&h, buf, TRAIN_MAX, 1);
	for (unsigned int i = 0; i < 4; i++) {
		struct fi_cq_tagged_entry e = completed(&h, NULL);

		assert_int_equal(e.len, 10);
		assert_ptr_equal(e.buf, buf + 10 * (size_t)i);
		check_bytes(
			e.buf, i < 2 ? 1 : 2, i < 2 ? 10 + 10 * i : 10 * (i - 2), 10);
	}
	quiet(&h);
	host_close(&h);
}

/* Receives too short for the datagrams of a train. */
static void cut(void **state)
{
	struct host h;

	(void)state;
	open_with(&h, 0, false, TRAIN_MAX, 1);
	turn_on(&h);
	assert_int_equal(fi_cancel(&h.fid->fid, buf), 0);
	assert_int_equal(failed(&h).err, FI_ECANCELED);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			fi_recv(h.fid, plain, 9 + i, NULL, FI_ADDR_UNSPEC, plain), 0);
	memset(plain, 0, 20);
	arrive((struct arrival){ .len = 30, .segment = 10, .seed = 1, .port = PORT_A });
	progress(&h);
	for (size_t i = 0; i < 3; i++) {
		if (i) {
			assert_int_equal(completed(&h, NULL).len, 10);
		} else {
			struct fi_cq_err_entry err = failed(&h);

			assert_int_equal(err.err, FI_ETRUNC);
			assert_int_equal(err.len, 9);
			assert_int_equal(err.olen, 1);
		}
		progress(&h);
	}
	check_bytes(plain, 1, 20, 10);
	assert_int_equal(plain[10], 0);
	host_close(&h);
}

/* An error of the receive call leaves all as it was. */
static void errors(void **state)
{
	static const int errnos[] = { EAGAIN, EINTR, ECONNREFUSED };
	struct host h;

	(void)state;
	open_with(&h, 0, false, sizeof(buf), 1);
	turn_on(&h);
	for (size_t i = 0; i < WF_ARRAY_SIZE(errnos); i++) {
		arrive((struct arrival){ .err = errnos[i] });
		quiet(&h);
		quiet(&h);
	}
	arrive((struct arrival){ .len = 20, .segment = 10, .seed = 2, .port = PORT_A });
	progress(&h);
	assert_ptr_equal(completed(&h, NULL).buf, buf);
	assert_ptr_equal(completed(&h, NULL).buf, buf + 10);
	host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(when_trains_are_asked_for),
		cmocka_unit_test(never_for_plain_receives),
		cmocka_unit_test(a_kernel_without_trains),
		cmocka_unit_test(in_place),
		cmocka_unit_test(copied),
		cmocka_unit_test(before_later_datagrams),
		cmocka_unit_test(cut),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
