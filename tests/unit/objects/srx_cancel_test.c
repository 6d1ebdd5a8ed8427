/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cancel among many posted receives: it cancels the right one, without a search. */
#include "srx_fixture.h"

#include <sys/resource.h>

#include "objects/srx/internal.h"

#include "../../time_limits.h"

#define M (FI_MSG | FI_RECV)
#define T (FI_TAGGED | FI_RECV)

static struct fk *open_large(struct fk_around *a, size_t size)
{
	struct fi_info *info = fk_info(0);
	struct fk *fk;

	info->rx_attr->size = size;
	fk = fk_open(a->f, info);
	fk_enable_with(fk, a, 0);
	return fk;
}

/* A walk over the receives for each of them would take some minutes; this takes less
 * than a second (EP-032). */
static void test_many(void **state)
{
	enum { COUNT = 200000, LIMIT_S = 20 };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_large(&a, 2 * COUNT);
	struct fid_ep *ep = &fk->ep.fid;
	static char contexts[2][COUNT];
	time_t end = now_s() + (time_t)limit_s(LIMIT_S);
	unsigned char b[8];

	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(fi_recv(ep, b, 8, NULL, 1, &contexts[0][i]), 0);
		assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, i, 0, &contexts[1][i]), 0);
	}
	for (size_t i = COUNT; i-- > 0;) {
		assert_int_equal(fi_cancel(&ep->fid, &contexts[0][i]), 0);
		(void)fk_expect_err(&a, &contexts[0][i], M, FI_ECANCELED);
		assert_int_equal(fi_cancel(&ep->fid, &contexts[1][COUNT - 1 - i]), 0);
		(void)fk_expect_err(&a, &contexts[1][COUNT - 1 - i], T, FI_ECANCELED);
		assert_true(now_s() < end);
	}
	fk_close(fk);
	fk_close_around(&a);
}

/* All receives have one context: the oldest is cancelled (EP-034). */
static void test_one_context(void **state)
{
	enum { COUNT = 100000, LIMIT_S = 20 };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_large(&a, COUNT);
	struct fid_ep *ep = &fk->ep.fid;
	time_t end = now_s() + (time_t)limit_s(LIMIT_S);
	struct fi_cq_err_entry err;
	unsigned char b[8];

	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, i, 0, b), 0);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(fi_cancel(&ep->fid, b), 0);
		err = fk_expect_err(&a, b, T, FI_ECANCELED);
		assert_int_equal(err.tag, i);
		assert_true(now_s() < end);
	}
	fk_close(fk);
	fk_close_around(&a);
}

static struct wf_srx *srx_of(struct fk *fk)
{
	return wf_srx_port_of(fk->ep.srx)->srx;
}

static void post_and_match(struct fk *fk, struct fk_around *a, size_t count)
{
	static unsigned char b[8];

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(
			fi_trecv(&fk->ep.fid, b, 8, NULL, 1, 1000 + i, 0, b), 0);
		fk_tagged(fk, 1, 1000 + i, 0, 4);
		fk_expect(a, b, T, 4, 1000 + i);
	}
}

/* Receives are indexed from the first cancellation on, until many have been posted
 * without one; what is cancelled is the same in all of these times. */
static void test_index_is_kept_for_some_time(void **state)
{
	enum { OLD = 700, FEW = 1000, MANY = 2000 };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_large(&a, OLD + 8);
	struct wf_srx *srx = srx_of(fk);
	struct fid_ep *ep = &fk->ep.fid;
	static char contexts[OLD];
	unsigned char b[8];

	for (size_t i = 0; i < OLD; i++)
		assert_int_equal(
			fi_trecv(ep, b, 8, NULL, 1, i, i % 3, &contexts[i / 2 * 2]), 0);
	assert_null(srx->contexts);
	assert_int_equal(srx->fast_size, srx->size);
	for (size_t i = 0; i < 6; i++) {
		/* Of two receives with one context, the older. */
		assert_int_equal(fi_cancel(&ep->fid, &contexts[2 * (i / 2)]), 0);
		assert_int_equal(
			fk_expect_err(&a, &contexts[2 * (i / 2)], T, FI_ECANCELED).tag,
			i);
		assert_non_null(srx->contexts);
		assert_int_equal(srx->fast_size, 0);
		post_and_match(fk, &a, FEW);
		assert_non_null(srx->contexts);
		post_and_match(fk, &a, MANY - FEW);
		assert_null(srx->contexts);
		assert_int_equal(srx->fast_size, srx->size);
	}
	fk_close(fk);
	fk_close_around(&a);
}

/* Without memory for the index, or for one more receive in it, the receives themselves
 * are searched. A memory checker needs memory of its own. */
static void test_no_memory(void **state)
{
	enum { COUNT = 2000, MATCHED = 1200 };
	const struct rlimit none = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
	static char contexts[2 * COUNT];
	struct rlimit before;
	struct fk_around a;
	unsigned char b[8];
	struct wf_srx *srx;
	struct fid_ep *ep;
	uint64_t next;
	struct fk *fk;

	if (WF_POOL_CHECKED)
		skip();
	a = fk_open_around(*state);
	fk = open_large(&a, COUNT);
	srx = srx_of(fk);
	ep = &fk->ep.fid;
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, i, 0, &contexts[i]), 0);
	/* Their memory is kept for other receives. */
	for (uint64_t i = 0; i < MATCHED; i++) {
		fk_tagged(fk, 1, i, 0, 4);
		fk_expect(&a, &contexts[i], T, 4, i);
	}
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	assert_int_equal(fi_cancel(&ep->fid, &contexts[MATCHED + 7]), 0);
	assert_null(srx->contexts);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	(void)fk_expect_err(&a, &contexts[MATCHED + 7], T, FI_ECANCELED);

	assert_int_equal(fi_cancel(&ep->fid, &contexts[MATCHED + 6]), 0);
	(void)fk_expect_err(&a, &contexts[MATCHED + 6], T, FI_ECANCELED);
	assert_non_null(srx->contexts);
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	for (next = COUNT; srx->contexts && next < COUNT + MATCHED; next++)
		assert_int_equal(
			fi_trecv(ep, b, 8, NULL, 1, next, 0, &contexts[next]), 0);
	assert_null(srx->contexts);
	assert_int_equal(fi_cancel(&ep->fid, &contexts[next - 1]), 0);
	assert_int_equal(fi_cancel(&ep->fid, &contexts[MATCHED]), 0);
	assert_null(srx->contexts);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	(void)fk_expect_err(&a, &contexts[next - 1], T, FI_ECANCELED);
	(void)fk_expect_err(&a, &contexts[MATCHED], T, FI_ECANCELED);
	fk_close(fk);
	fk_close_around(&a);
}

/* ---- against a model: a list of what is posted ---- */

/* In every second season nothing is cancelled, for longer than the index is kept. */
enum { MODEL = 64, CONTEXTS = 7, TAGS = 5, STEPS = 80000, SEASON = 8000 };

struct model {
	struct {
		char *context;
		uint64_t tag; /* TAGS: untagged */
	} posted[MODEL];
	size_t count;
};

static void model_remove(struct model *m, size_t i)
{
	memmove(&m->posted[i], &m->posted[i + 1],
		(m->count - i - 1) * sizeof(m->posted[0]));
	m->count--;
}

static uint64_t type_of(uint64_t tag)
{
	return tag == TAGS ? M : T;
}

static void post(struct fk *fk, struct model *m, char *context, uint64_t tag)
{
	static unsigned char b[8];
	struct fid_ep *ep = &fk->ep.fid;

	if (m->count == MODEL)
		return;
	assert_int_equal(tag == TAGS ? fi_recv(ep, b, 8, NULL, 1, context)
				     : fi_trecv(ep, b, 8, NULL, 1, tag, 0, context),
		0);
	m->posted[m->count].context = context;
	m->posted[m->count++].tag = tag;
}

/* Only where a receive waits: nothing is ever unexpected. */
static void arrive(struct fk *fk, struct fk_around *a, struct model *m, uint64_t tag)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->posted[i].tag != tag)
			continue;
		if (tag == TAGS)
			fk_message(fk, 1, 0, 4);
		else
			fk_tagged(fk, 1, tag, 0, 4);
		fk_expect(a, m->posted[i].context, type_of(tag), 4,
			tag == TAGS ? 0 : tag);
		model_remove(m, i);
		return;
	}
}

/* Untagged ones are looked at first. */
static void cancel(struct fk *fk, struct fk_around *a, struct model *m, char *context)
{
	assert_int_equal(fi_cancel(&fk->ep.fid.fid, context), 0);
	for (int untagged = 1; untagged >= 0; untagged--)
		for (size_t i = 0; i < m->count; i++) {
			uint64_t tag = m->posted[i].tag;

			if (m->posted[i].context != context ||
				(tag == TAGS) != untagged)
				continue;
			(void)fk_expect_err(a, context, type_of(tag), FI_ECANCELED);
			model_remove(m, i);
			return;
		}
	fk_expect_none(a);
}

/* Receives are posted, matched and cancelled in every order; the completions are those
 * of the list (EP-033, EP-035). */
static void test_model(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_large(&a, MODEL);
	static char contexts[CONTEXTS];
	struct model m = { .count = 0 };
	uint64_t random = 88172645463325252;

	for (size_t i = 0; i < STEPS; i++) {
		char *context;
		uint64_t tag;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		context = &contexts[(random >> 8 & 0xff) % CONTEXTS];
		tag = (random >> 16 & 0xff) % (TAGS + 1);
		switch (random % 8) {
		case 0:
		case 1:
			if (i / SEASON % 2)
				post(fk, &m, context, tag);
			else
				cancel(fk, &a, &m, context);
			break;
		case 2:
		case 3:
		case 4:
			arrive(fk, &a, &m, tag);
			break;
		default:
			post(fk, &m, context, tag);
			break;
		}
		assert_int_equal(fk_left(fk), MODEL - m.count);
	}
	fk_close(fk);
	fk_close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_many),
		DOMAIN_TEST(test_one_context),
		DOMAIN_TEST(test_index_is_kept_for_some_time),
		DOMAIN_TEST(test_no_memory),
		DOMAIN_TEST(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
