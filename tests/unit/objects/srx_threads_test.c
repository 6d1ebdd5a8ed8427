/* SPDX-License-Identifier: BSD-2-Clause */
#include "srx_fixture.h"

/*
 * Threads post, messages arrive on two endpoints, sources become known and receives are
 * withdrawn, all at once, on one shared context. Every message is received exactly
 * once; the thread sanitizer checks the rest.
 */

enum { POSTERS = 2, SENDERS = 2, PER_SENDER = 4000, MESSAGES = SENDERS * PER_SENDER };

static struct {
	struct fk_around around;
	struct fid_ep *srx;
	struct fk *fk[SENDERS];
	unsigned int received, cancelled; /* by the main thread */
	atomic_uint sent;
	atomic_bool stop;
} shared;

static void *send_all(void *arg)
{
	size_t me = (size_t)(uintptr_t)arg;
	struct fk *fk = shared.fk[me];

	for (unsigned int i = 0; i < PER_SENDER; i++) {
		fk_arrive_from(fk, me, i % 3 == 0, i % 5, i % 2, (unsigned char)i, 8);
		atomic_fetch_add(&shared.sent, 1);
	}
	return NULL;
}

static void *post_all(void *arg)
{
	static unsigned char bufs[POSTERS][64];
	unsigned char *buf = bufs[(uintptr_t)arg];
	ssize_t ret;

	for (unsigned int i = 0; !atomic_load(&shared.stop); i++) {
		if (i % 7 == 0)
			ret = fk_recvmsg(shared.srx, buf, 64, buf, FI_MULTI_RECV);
		else if (i % 2)
			ret = fi_recv(shared.srx, buf, 64, NULL, 0, buf);
		else
			ret = fi_trecv(shared.srx, buf, 64, NULL,
				i % 4 ? FI_ADDR_UNSPEC : i / 4 % 2, i % 5,
				i % 6 ? 0 : ~0ULL, buf);
		assert_true(ret == 0 || ret == -FI_EAGAIN);
		if (i % 16 == 0)
			assert_int_equal(fi_cancel(&shared.srx->fid, buf), 0);
	}
	return NULL;
}

static void *insert_all(void *arg)
{
	for (unsigned int port = 1000; !atomic_load(&shared.stop); port++) {
		atomic_store(&fk_learnt, port % 2);
		(void)fk_insert(&shared.around, 1 + port % 50000);
	}
	return NULL;
}

/* One round of the reader; entries of errors are withdrawn receives. */
static void read_some(void)
{
	struct fi_cq_tagged_entry entry[16];
	struct fi_cq_err_entry err = { 0 };
	ssize_t n = fi_cq_read(shared.around.cq, entry, 16);

	if (n == -FI_EAVAIL && fi_cq_readerr(shared.around.cq, &err, 0) == 1) {
		assert_int_equal(err.err, FI_ECANCELED);
		shared.cancelled++;
	}
	for (ssize_t i = 0; i < n; i++)
		if (entry[i].flags & FI_RECV)
			shared.received++;
}

static void test_all_at_once(void **state)
{
	struct fi_rx_attr attr = {
		.caps = FI_MSG | FI_TAGGED | FI_MULTI_RECV | FI_DIRECTED_RECV,
		.size = 64,
		.iov_limit = 3,
	};
	pthread_t sender[SENDERS], poster[POSTERS], inserter;
	unsigned char last[64];
	size_t min = 8;

	shared.around = fk_open_around(*state);
	assert_int_equal(
		fi_srx_context(&shared.around.f->domain.fid, &attr, &shared.srx, NULL),
		0);
	assert_int_equal(fi_setopt(&shared.srx->fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
	for (size_t i = 0; i < SENDERS; i++) {
		shared.fk[i] = fk_open(*state, fk_info(FI_DIRECTED_RECV));
		assert_int_equal(
			fi_ep_bind(&shared.fk[i]->ep.fid, &shared.srx->fid, 0), 0);
		fk_enable_with(shared.fk[i], &shared.around, 0);
	}
	pthread_create(&inserter, NULL, insert_all, NULL);
	for (uintptr_t i = 0; i < POSTERS; i++)
		pthread_create(&poster[i], NULL, post_all, (void *)i);
	for (uintptr_t i = 0; i < SENDERS; i++)
		pthread_create(&sender[i], NULL, send_all, (void *)i);
	/* Receives are left over after the last message, so that one is withdrawn. */
	while (atomic_load(&shared.sent) < MESSAGES || !shared.cancelled)
		read_some();
	for (size_t i = 0; i < SENDERS; i++)
		pthread_join(sender[i], NULL);
	atomic_store(&shared.stop, true);
	for (size_t i = 0; i < POSTERS; i++)
		pthread_join(poster[i], NULL);
	pthread_join(inserter, NULL);

	/* What is left over matches these, also when no more can be posted. */
	while (shared.received < MESSAGES) {
		(void)fi_recv(shared.srx, last, 64, NULL, FI_ADDR_UNSPEC, last);
		(void)fi_trecv(
			shared.srx, last, 64, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, last);
		read_some();
	}
	for (int i = 0; i < 100; i++)
		read_some();
	assert_int_equal(shared.received, MESSAGES);
	for (size_t i = 0; i < SENDERS; i++) {
		assert_int_equal(shared.fk[i]->discards, 0);
		fk_close(shared.fk[i]);
	}
	assert_int_equal(fi_close(&shared.srx->fid), 0);
	fk_close_around(&shared.around);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_all_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
