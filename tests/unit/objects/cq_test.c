/* SPDX-License-Identifier: BSD-2-Clause */
#include "domain_fixture.h"

#include <poll.h>

#include "objects/cq/cq.h"
#include "sys/clock.h"

static struct wf_cq *open_cq(struct domain_fixture *f, struct fi_cq_attr attr)
{
	struct fid_cq *fid = NULL;

	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, f), 0);
	assert_non_null(fid);
	assert_ptr_equal(fid->fid.context, f); /* VER-015 */
	assert_int_equal(fid->fid.fclass, FI_CLASS_CQ);
	return wf_cq_of(fid);
}

static void close_cq(struct wf_cq *cq)
{
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

static void put(struct wf_cq *cq, uintptr_t n)
{
	assert_int_equal(wf_cq_write(cq, (void *)n, FI_RECV | FI_MSG, n + 1,
				 (void *)(n + 2), n + 3, n + 4, n + 5),
		0);
}

static void put_err(struct wf_cq *cq, uintptr_t n)
{
	struct fi_cq_err_entry entry = { .op_context = (void *)n, .err = FI_ETRUNC };

	assert_int_equal(wf_cq_write_err(cq, &entry), 0);
}

/* CQ-005, CQ-008, CQ-013: every format has its fields, and its size. */
static void test_formats(void **state)
{
	static const size_t sizes[] = {
		[FI_CQ_FORMAT_UNSPEC] = sizeof(struct fi_cq_entry), /* CQ-004 */
		[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
		[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
		[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
		[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
	};

	for (int format = 0; format <= FI_CQ_FORMAT_TAGGED; format++) {
		struct wf_cq *cq =
			open_cq(*state, (struct fi_cq_attr){ .format = format });
		uint8_t buf[4 * sizeof(struct fi_cq_tagged_entry)];
		fi_addr_t src[4] = { 0 };

		memset(buf, 0xee, sizeof(buf));
		put(cq, 100);
		put(cq, 200);
		put(cq, 300);
		assert_int_equal(fi_cq_readfrom(&cq->fid, buf, 2, src), 2);
		for (int i = 0; i < 2; i++) {
			struct fi_cq_tagged_entry e = { 0 };
			uintptr_t n = 100 * (uintptr_t)(i + 1);

			memcpy(&e, buf + (size_t)i * sizes[format], sizes[format]);
			assert_ptr_equal(e.op_context, n);
			if (format >= FI_CQ_FORMAT_MSG) {
				assert_int_equal(e.flags, FI_RECV | FI_MSG);
				assert_int_equal(e.len, n + 1);
			}
			if (format >= FI_CQ_FORMAT_DATA) {
				assert_ptr_equal(e.buf, n + 2);
				assert_int_equal(e.data, n + 3);
			}
			if (format >= FI_CQ_FORMAT_TAGGED)
				assert_int_equal(e.tag, n + 4);
			assert_int_equal(src[i], n + 5);
		}
		assert_int_equal(buf[2 * sizes[format]], 0xee);
		assert_int_equal(fi_cq_read(&cq->fid, buf, 4), 1);
		assert_int_equal(fi_cq_read(&cq->fid, buf, 4), -FI_EAGAIN); /* CQ-009 */
		close_cq(cq);
	}
}

static int runs;

static void count_run(struct wf_progress *item)
{
	(void)item;
	runs++;
}

/* CQ-010, THR-007: reading runs what is bound, and only when nothing is there. */
static void test_progress(void **state)
{
	struct wf_cq *cq = open_cq(*state, (struct fi_cq_attr){ 0 });
	struct wf_progress item = { .run = count_run };
	struct fi_cq_entry entry;

	runs = 0;
	assert_int_equal(wf_progress_list_add(&cq->progress, &item), 0);
	assert_int_equal(fi_cq_read(&cq->fid, NULL, 0), -FI_EAGAIN);
	assert_int_equal(runs, 1);
	put(cq, 1);
	assert_int_equal(fi_cq_read(&cq->fid, NULL, 0), 0);
	assert_int_equal(runs, 2);
	assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
	assert_int_equal(runs, 2);
	assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), -FI_EAGAIN);
	assert_int_equal(runs, 3);
	wf_progress_list_del(&cq->progress, &item);
	close_cq(cq);
}

/* CQ-011, CQ-012: what came before an error is read before it. */
static void test_errors_in_order(void **state)
{
	struct wf_cq *cq = open_cq(*state, (struct fi_cq_attr){ 0 });
	struct fi_cq_entry entry[8];
	struct fi_cq_err_entry err = { 0 };

	put(cq, 1);
	put(cq, 2);
	put_err(cq, 3);
	put_err(cq, 4);
	put(cq, 5);
	assert_int_equal(fi_cq_readerr(&cq->fid, &err, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(&cq->fid, entry, 8), 2);
	assert_int_equal(fi_cq_read(&cq->fid, entry, 8), -FI_EAVAIL);
	assert_int_equal(fi_cq_read(&cq->fid, entry, 8), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(&cq->fid, &err, 0), 1);
	assert_ptr_equal(err.op_context, 3);
	assert_int_equal(fi_cq_read(&cq->fid, entry, 8), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(&cq->fid, &err, 0), 1);
	assert_ptr_equal(err.op_context, 4);
	assert_int_equal(fi_cq_readerr(&cq->fid, &err, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(&cq->fid, entry, 8), 1);
	assert_ptr_equal(entry[0].op_context, 5);
	close_cq(cq);
}

/* CQ-001, CQ-031: far more than asked for is kept, in order, also around the end of
 * the ring; afterwards the memory is given back. */
static void test_overfull(void **state)
{
	struct wf_cq *cq = open_cq(
		*state, (struct fi_cq_attr){ .size = 5, .format = FI_CQ_FORMAT_MSG });
	uint32_t slots = cq->ring.mask;
	uintptr_t written = 0, read = 0;

	for (int round = 0; round < 3; round++) {
		struct fi_cq_msg_entry entry[7];
		fi_addr_t src[7];

		for (int i = 0; i < 3; i++)
			put(cq, written++);
		assert_int_equal(fi_cq_readfrom(&cq->fid, entry, 1, src), 1);
		assert_ptr_equal(entry[0].op_context, read++);
		for (int i = 0; i < 1000; i++)
			put(cq, written++);
		assert_true(cq->ring.mask >= 1000);
		while (read < written) {
			ssize_t n = fi_cq_readfrom(&cq->fid, entry, 7, src);

			assert_in_range(n, 1, 7);
			for (ssize_t i = 0; i < n; i++, read++) {
				assert_ptr_equal(entry[i].op_context, read);
				assert_int_equal(entry[i].len, read + 1);
				assert_int_equal(src[i], read + 5);
			}
		}
		assert_int_equal(cq->ring.mask, slots);
	}
	close_cq(cq);
}

/* CQ-002, CQ-003, CQ-007, CQ-051 */
static void test_bad_attributes(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_cq_attr bad[] = {
		{ .flags = FI_SEND }, { .flags = FI_XPU },
		{ .format = FI_CQ_FORMAT_TAGGED + 1 },
		{ .wait_obj = FI_WAIT_POLLFD + 1 }, { .wait_obj = FI_WAIT_SET },
		{ .wait_obj = FI_WAIT_FD, .wait_cond = FI_CQ_COND_THRESHOLD + 1 },
		{ .flags = FI_PEER }, /* no context */
	};
	struct fid_cq *fid = (void *)1;

	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		assert_int_equal(
			wf_cq_open(&f->domain.fid, &bad[i], &fid, NULL), -FI_EINVAL);
	assert_int_equal(wf_cq_open(&f->domain.fid, NULL, &fid, NULL), -FI_EINVAL);
	assert_ptr_equal(fid, 1);
	/* CQ-006: without a wait object its condition does not matter. */
	close_cq(open_cq(f, (struct fi_cq_attr){ .flags = FI_AFFINITY,
				    .signaling_vector = 1,
				    .wait_cond = FI_CQ_COND_THRESHOLD + 1 }));
}

/* CQ-022, CQ-024, CQ-025, CQ-052: nothing to sleep on. */
static void test_no_wait_object(void **state)
{
	struct wf_cq *cq = open_cq(*state, (struct fi_cq_attr){ 0 });
	struct fi_cq_entry entry;
	fi_addr_t src;
	enum fi_wait_obj obj;
	int fd;

	assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), -FI_ENOSYS);
	assert_int_equal(
		fi_cq_sreadfrom(&cq->fid, &entry, 1, &src, NULL, -1), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(&cq->fid), -FI_ENOSYS);
	assert_int_equal(fi_control(&cq->fid.fid, FI_GETWAIT, &fd), -FI_ENODATA);
	assert_int_equal(fi_control(&cq->fid.fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_NONE);
	assert_int_equal(fi_control(&cq->fid.fid, FI_ENABLE, NULL), -FI_ENOSYS);
	assert_int_equal(fi_cq_export_xpu(&cq->fid, 0, NULL), -FI_ENOSYS);
	close_cq(cq);
}

/* CQ-020, CQ-021: what blocks, and what does not. */
static void test_blocking(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,
		FI_WAIT_POLLFD, FI_WAIT_YIELD };

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		struct wf_cq *cq =
			open_cq(*state, (struct fi_cq_attr){ .wait_obj = objs[i] });
		uint64_t start = wf_now_ns();
		struct fi_cq_entry entry[2];

		assert_int_equal(fi_cq_sread(&cq->fid, entry, 2, NULL, 0), -FI_EAGAIN);
		/* No entries are asked for: progress alone. */
		assert_int_equal(fi_cq_sread(&cq->fid, NULL, 0, NULL, -1), -FI_EAGAIN);
		assert_int_equal(fi_cq_sread(&cq->fid, entry, 2, NULL, 30), -FI_EAGAIN);
		assert_true(wf_now_ns() - start >= 30000000u);
		put(cq, 1);
		assert_int_equal(fi_cq_sread(&cq->fid, entry, 2, NULL, -1), 1);
		put_err(cq, 2);
		assert_int_equal(fi_cq_sread(&cq->fid, entry, 2, NULL, -1), -FI_EAVAIL);
		close_cq(cq);
	}
}

static struct wf_cq *fed;

/* Each run adds one entry. */
static void feed_run(struct wf_progress *item)
{
	(void)item;
	put(fed, 1);
}

/* CQ-023 */
static void test_threshold(void **state)
{
	struct wf_cq *cq = open_cq(*state, (struct fi_cq_attr){ .wait_obj = FI_WAIT_FD,
						   .wait_cond = FI_CQ_COND_THRESHOLD });
	struct fi_cq_entry entry[4];
	struct wf_progress item = { .run = feed_run };
	size_t three = 3, nine = 9;

	/* They come one by one. */
	fed = cq;
	assert_int_equal(wf_progress_list_add(&cq->progress, &item), 0);
	assert_int_equal(fi_cq_sread(&cq->fid, entry, 4, &three, -1), 3);
	wf_progress_list_del(&cq->progress, &item);
	for (int i = 0; i < 3; i++)
		put(cq, 1);
	assert_int_equal(fi_cq_sread(&cq->fid, entry, 4, &three, -1), 3);
	put(cq, 1);
	/* Time is up with fewer: they are returned. */
	assert_int_equal(fi_cq_sread(&cq->fid, entry, 4, &three, 10), 1);
	/* A threshold that the buffer cannot hold is cut. */
	for (int i = 0; i < 4; i++)
		put(cq, 1);
	assert_int_equal(fi_cq_sread(&cq->fid, entry, 4, &nine, -1), 4);
	/* An error ends the wait. */
	put(cq, 1);
	put_err(cq, 2);
	assert_int_equal(fi_cq_sread(&cq->fid, entry, 4, &three, -1), 1);
	assert_int_equal(fi_cq_sread(&cq->fid, entry, 4, NULL, -1), -FI_EAVAIL);
	close_cq(cq);
}

static void *sleeper(void *arg)
{
	struct wf_cq *cq = arg;
	struct fi_cq_entry entry;

	return (void *)fi_cq_sread(&cq->fid, &entry, 1, NULL, -1);
}

/* CQ-024: sleepers and those about to sleep return empty-handed. */
static void test_signal(void **state)
{
	enum { THREADS = 4 };
	struct wf_cq *cq =
		open_cq(*state, (struct fi_cq_attr){ .wait_obj = FI_WAIT_FD });
	pthread_t threads[THREADS];
	struct fi_cq_entry entry;
	void *ret;

	assert_int_equal(fi_cq_signal(&cq->fid), 0);
	assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), -FI_EAGAIN);

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sleeper, cq), 0);
	while (atomic_load(&cq->sleepers) != THREADS)
		sched_yield();
	assert_int_equal(fi_cq_signal(&cq->fid), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &ret), 0);
		assert_int_equal((ssize_t)ret, -FI_EAGAIN);
	}
	close_cq(cq);
}

/* CQ-025, CQ-026, POL-012: the descriptor is readable when there are entries. */
static void test_wait_fd(void **state)
{
	struct wf_cq *cq =
		open_cq(*state, (struct fi_cq_attr){ .wait_obj = FI_WAIT_FD });
	struct pollfd pfd = { .events = POLLIN };
	struct fi_cq_entry entry;

	assert_int_equal(fi_control(&cq->fid.fid, FI_GETWAIT, &pfd.fd), 0);
	(void)wf_wait_arm(&cq->wait);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	put(cq, 1);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
	(void)wf_wait_arm(&cq->wait);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	put_err(cq, 1);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	close_cq(cq);
}

/* CQ-029, VER-018 */
static void test_busy(void **state)
{
	struct wf_cq *cq = open_cq(*state, (struct fi_cq_attr){ 0 });
	struct fi_cq_entry entry;

	atomic_fetch_add(&cq->refs, 1);
	put(cq, 1);
	assert_int_equal(fi_close(&cq->fid.fid), -FI_EBUSY);
	assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
	atomic_fetch_sub(&cq->refs, 1);
	put(cq, 2);
	put_err(cq, 3);
	close_cq(cq);
}

/* fi_peer(3): what a transport writes into an imported queue arrives at its owner. */
static void test_peer(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_cq *owner =
		open_cq(f, (struct fi_cq_attr){ .format = FI_CQ_FORMAT_MSG });
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fid_peer_cq handle;
	struct fi_peer_cq_context context = { sizeof(context), &handle };
	struct wf_progress item = { .run = count_run };
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry err = { 0 };
	struct fid_cq *fid = NULL;
	fi_addr_t src;

	wf_cq_export(owner, &handle);
	assert_int_equal(handle.fid.fclass, FI_CLASS_PEER_CQ);
	context.size = sizeof(context) - 1;
	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, &context), -FI_EINVAL);
	context.size = sizeof(context) + 8;
	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, &context), 0);
	memset(&context, 0xee, sizeof(context)); /* gone after the call */

	put(wf_cq_of(fid), 7);
	assert_int_equal(fi_cq_readfrom(&owner->fid, &entry, 1, &src), 1);
	assert_ptr_equal(entry.op_context, 7);
	assert_int_equal(src, 12);
	put_err(wf_cq_of(fid), 8);
	assert_int_equal(fi_cq_read(&owner->fid, &entry, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(&owner->fid, &err, 0), 1);
	assert_ptr_equal(err.op_context, 8);

	runs = 0;
	assert_int_equal(wf_progress_list_add(&wf_cq_of(fid)->progress, &item), 0);
	assert_int_equal(fi_cq_read(fid, NULL, 0), -FI_EAGAIN);
	assert_int_equal(runs, 1);
	wf_progress_list_del(&wf_cq_of(fid)->progress, &item);
	assert_int_equal(fi_cq_read(fid, &entry, 1), -FI_ENOSYS);
	assert_int_equal(fi_cq_readfrom(fid, &entry, 1, &src), -FI_ENOSYS);
	assert_int_equal(fi_cq_readerr(fid, &err, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_sread(fid, &entry, 1, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_sreadfrom(fid, &entry, 1, &src, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(fid), -FI_ENOSYS);
	/* CQ-027: a text is not part of the queue. */
	assert_string_equal(
		fi_cq_strerror(fid, FI_ETRUNC, NULL, NULL, 0), fi_strerror(FI_ETRUNC));
	assert_int_equal(fi_close(&fid->fid), 0);
	put(owner, 1); /* P-08: the owner's queue is untouched */
	/* P-35 */
	assert_int_equal(fi_close(&owner->fid.fid), -FI_EBUSY);
	wf_cq_unexport(&handle);
	close_cq(owner);
}

/* An owner that knows less than we need. */
static void test_peer_without_ops(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fi_ops_cq_owner ops = { .size = offsetof(
					       struct fi_ops_cq_owner, writeerr) };
	struct fid_peer_cq handle = { .owner_ops = &ops };
	struct fi_peer_cq_context context = { sizeof(context), &handle };
	struct fid_cq *fid = NULL;

	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, &context), -FI_EINVAL);
	context.cq = NULL;
	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, &context), -FI_EINVAL);
}

enum { WRITERS = 3, WRITES = 20000 };

struct writer {
	struct wf_cq *cq;
	uintptr_t id;
};

static void *write_many(void *arg)
{
	struct writer *w = arg;

	for (uintptr_t i = 0; i < WRITES; i++) {
		if (i % 100 == 99)
			put_err(w->cq, w->id << 32 | i);
		else
			put(w->cq, w->id << 32 | i);
	}
	return NULL;
}

/* THR-001: several writers, one blocking reader; each writer's order holds. */
static void test_threads(void **state)
{
	struct wf_cq *cq = open_cq(
		*state, (struct fi_cq_attr){ .size = 64, .wait_obj = FI_WAIT_FD });
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	uintptr_t next[WRITERS] = { 0 };
	size_t left = (size_t)WRITERS * WRITES;

	for (uintptr_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ cq, i };
		assert_int_equal(
			pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
	}
	while (left) {
		struct fi_cq_entry entry[16];
		struct fi_cq_err_entry err = { 0 };
		ssize_t n = fi_cq_sread(&cq->fid, entry, 16, NULL, 10000);

		if (n == -FI_EAVAIL) {
			assert_int_equal(fi_cq_readerr(&cq->fid, &err, 0), 1);
			entry[0].op_context = err.op_context;
			n = 1;
		}
		assert_in_range(n, 1, 16);
		for (ssize_t i = 0; i < n; i++, left--) {
			uintptr_t v = (uintptr_t)entry[i].op_context;

			assert_int_equal(v & 0xffffffff, next[v >> 32]++);
		}
	}
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	close_cq(cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_formats),
		DOMAIN_TEST(test_progress),
		DOMAIN_TEST(test_errors_in_order),
		DOMAIN_TEST(test_overfull),
		DOMAIN_TEST(test_bad_attributes),
		DOMAIN_TEST(test_no_wait_object),
		DOMAIN_TEST(test_blocking),
		DOMAIN_TEST(test_threshold),
		DOMAIN_TEST(test_signal),
		DOMAIN_TEST(test_wait_fd),
		DOMAIN_TEST(test_busy),
		DOMAIN_TEST(test_peer),
		DOMAIN_TEST(test_peer_without_ops),
		DOMAIN_TEST(test_threads),
	};

	return cmocka_run_group_tests_name("cq", tests, NULL, NULL);
}
