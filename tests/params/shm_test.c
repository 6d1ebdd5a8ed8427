/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of shm, by two endpoints of one process. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../rdm_end.h"
#include "copies.h"
#include "effect.h"
#include "providers/shm/shm.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Polls after which what has not happened does not happen. */
enum { POLLS = 300, KEY = 77, LONG = 1 << 20 };

static uint8_t out[LONG], in[LONG];

struct pair {
	struct rdm_end a, b;
	fi_addr_t b_addr; /* in the AV of a */
};

static void open_end(struct rdm_end *end)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	assert_non_null(hints);
	hints->fabric_attr->prov_name = strdup("shm");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	assert_int_equal(fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(hints);
	rdm_end_open(end, info, 0, FI_WAIT_NONE);
}

/* The completions of one poll. */
static ssize_t poll_end(struct rdm_end *end)
{
	struct fi_cq_tagged_entry entry;
	ssize_t n = fi_cq_read(end->cq, &entry, 1);

	assert_true(n == 1 || n == -FI_EAGAIN);
	return n == 1;
}

static void deliver(struct pair *pair, size_t len)
{
	int done = 0;

	assert_int_equal(
		fi_trecv(pair->b.ep, in, len, NULL, FI_ADDR_UNSPEC, 1, 0, pair), 0);
	assert_int_equal(
		fi_tsend(pair->a.ep, out, len, NULL, pair->b_addr, 1, pair), 0);
	while (done < 2)
		done += (int)(poll_end(&pair->a) + poll_end(&pair->b));
}

/* A pair that has a connection. */
static void open_pair(struct pair *pair)
{
	open_end(&pair->a);
	open_end(&pair->b);
	assert_int_equal(
		fi_av_insert(pair->a.av, pair->b.name, 1, &pair->b_addr, 0, NULL), 1);
	deliver(pair, 8);
}

/* Does a send of 2000 bytes complete before there is a receive? */
static long completes_early(const struct effect *effect)
{
	enum { LEN = 2000 };
	struct pair pair;
	bool done = false;

	(void)effect;
	open_pair(&pair);
	assert_int_equal(fi_tsend(pair.a.ep, out, LEN, NULL, pair.b_addr, 2, &pair), 0);
	for (int i = 0; i < POLLS && !done; i++) {
		(void)poll_end(&pair.b);
		done = poll_end(&pair.a);
	}
	return done;
}

/* Are long messages copied from the memory of the sender? One may be that of a sender
 * that makes no progress for too long. */
static long is_copied_directly(const struct effect *effect)
{
	enum { MESSAGES = 8 };
	struct pair pair;
	bool all = true;

	if (effect->with)
		(void)setenv(effect->with, "0", 1);
	open_pair(&pair);
	for (int i = 0; i < MESSAGES; i++) {
		copies = 0;
		deliver(&pair, LONG);
		all &= copies > 0;
	}
	return all;
}

/* Memory that another process can map. */
static void *shared_memory(void)
{
	int fd = memfd_create("params", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LONG), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	memory = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

/* Does an atomic operation complete without a call of its target? */
static long needs_no_target(const struct effect *effect)
{
	uint64_t *region = shared_memory(), one = 1;
	struct fid_mr *mr;
	struct pair pair;
	bool done = false;

	(void)effect;
	open_pair(&pair);
	assert_int_equal(
		fi_mr_reg(pair.b.domain, region, LONG, FI_REMOTE_READ | FI_REMOTE_WRITE,
			0, KEY, 0, &mr, NULL),
		0);
	assert_int_equal(fi_atomic(pair.a.ep, &one, 1, NULL, pair.b_addr, 0, KEY,
				 FI_UINT64, FI_SUM, &pair),
		0);
	for (int i = 0; i < POLLS && !done; i++)
		done = poll_end(&pair.a);
	assert_int_equal(*region, done);
	return done;
}

static struct shm_ep *shm_of(struct rdm_end *end)
{
	return wf_container_of(wf_ep_of(end->ep), struct shm_ep, ep);
}

/* Wide rings of an endpoint that has sent much; tests/unit/shm/reuse_test.c shows the
 * memory of one. */
static long wide_rings(const struct effect *effect)
{
	enum { LEN = 16384, MESSAGES = (40 << 20) / LEN };
	struct pair pair;

	(void)effect;
	open_pair(&pair);
	for (int i = 0; i < MESSAGES; i++)
		deliver(&pair, LEN);
	return shm_of(&pair.a)->conns.wide_rings;
}

/* Limits of memory in MiB; tests/unit/objects/conn_budget_test.c and
 * tests/unit/shm/peer_test.c show what they limit. */
static long unexpected_limit(const struct effect *effect)
{
	struct rdm_end end;

	(void)effect;
	open_end(&end);
	return (long)(shm_of(&end)->unexp.budget.limit >> 20);
}

static long answer_limit(const struct effect *effect)
{
	struct rdm_end end;

	(void)effect;
	open_end(&end);
	return (long)(shm_of(&end)->answers.limit >> 20);
}

/* Does a send to a name that no endpoint has fail in a few calls? */
static long fails_at_once(const struct effect *effect)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	struct rdm_end end;
	fi_addr_t addr;

	(void)effect;
	open_end(&end);
	assert_int_equal(
		fi_av_insert(end.av, "fi_ns://nobody:here", 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_tsend(end.ep, out, 8, NULL, addr, 1, &end), 0);
	for (int i = 0; i < POLLS; i++) {
		if (fi_cq_read(end.cq, &entry, 1) != -FI_EAVAIL)
			continue;
		assert_int_equal(fi_cq_readerr(end.cq, &err, 0), 1);
		assert_int_equal(err.err, FI_ECONNREFUSED);
		return true;
	}
	return false;
}

/* Does a send to an endpoint that does not answer fail? In few calls, where the effect
 * sets an hour. */
static long fails_in_time(const struct effect *effect)
{
	bool never = effect_is(effect, "3600000");
	time_t end = time(NULL) + 20; /* the default is more */
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	struct pair pair;

	open_end(&pair.a);
	open_end(&pair.b);
	assert_int_equal(
		fi_av_insert(pair.a.av, pair.b.name, 1, &pair.b_addr, 0, NULL), 1);
	assert_int_equal(fi_tsend(pair.a.ep, out, 8, NULL, pair.b_addr, 1, &pair), 0);
	for (int i = 0; never ? i < POLLS : time(NULL) < end; i++) {
		if (fi_cq_read(pair.a.cq, &entry, 1) != -FI_EAVAIL)
			continue;
		assert_int_equal(fi_cq_readerr(pair.a.cq, &err, 0), 1);
		assert_int_equal(err.err, FI_ETIMEDOUT);
		return true;
	}
	return false;
}

static const struct effect effects[] = {
	{ "FI_SHM_EAGER_SIZE", { { "1999", 0 }, { "2000", 1 } }, completes_early,
		NULL },
	{ "FI_SHM_CMA_SIZE", { { NULL, 0 }, { "1048576", 1 } }, is_copied_directly,
		NULL },
	{ "FI_SHM_CMA_SIZE", { { "1048577", 0 }, { "0", 1 } }, is_copied_directly,
		NULL },
	{ "FI_SHM_DISABLE_CMA", { { NULL, 1 }, { "yes", 0 } }, is_copied_directly,
		"FI_SHM_CMA_SIZE" },
	{ "FI_SHM_DISABLE_MAPPING", { { NULL, 1 }, { "yes", 0 } }, needs_no_target,
		NULL },
	{ "FI_SHM_RING_MEMORY", { { NULL, 1 }, { "4194303", 0 } }, wide_rings, NULL },
	{ "FI_SHM_UNEXPECTED_SIZE", { { NULL, 2048 }, { "1048576", 1 } },
		unexpected_limit, NULL },
	{ "FI_SHM_ANSWER_SIZE", { { NULL, 64 }, { "1048576", 1 } }, answer_limit,
		NULL },
	{ "FI_SHM_CONNECT_TIMEOUT", { { "3600000", 0 }, { "1", 1 } }, fails_in_time,
		NULL },
	{ "FI_SHM_REFUSED_TIMEOUT", { { "3600000", 0 }, { "0", 1 } }, fails_at_once,
		NULL },
};

static void two_endpoints(void **state)
{
	(void)state;
	effect_check_all(effects, COUNT(effects));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
