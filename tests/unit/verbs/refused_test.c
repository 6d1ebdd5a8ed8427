/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include "../refuse.h"

/* Objects for which there is no memory: the call says so, and nothing of the device is
 * left. */

enum { TRIES = 24 };

static struct env env;
static int live[FAKE_KINDS];

static struct fid *made;

static int make_domain(void)
{
	return fi_domain(env.fabric, env.info, (struct fid_domain **)&made, NULL);
}

static int make_cq(void)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_FD };

	return fi_cq_open(env.domain, &attr, (struct fid_cq **)&made, NULL);
}

static int make_av(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	return fi_av_open(env.domain, &attr, (struct fid_av **)&made, NULL);
}

static int make_srx(void)
{
	struct fi_rx_attr attr = { .size = 4 };

	return fi_srx_context(env.domain, &attr, (struct fid_ep **)&made, NULL);
}

static int make_endpoint(void)
{
	return fi_endpoint(env.domain, env.info, (struct fid_ep **)&made, NULL);
}

static int make_region(void)
{
	return fi_mr_reg(env.domain, env.buf, sizeof(env.buf), FI_SEND, 0, 0, 0,
		(struct fid_mr **)&made, NULL);
}

/* Each allocation of the call fails, one at a time. */
static void check(int (*make)(void), unsigned int least)
{
	unsigned int failed = 0;
	/* The device that is played has one channel, which is that of the CQ. */
	int opened = fake_opened, channel = fake_channel.fd;

	memcpy(live, fake_live, sizeof(live));
	for (unsigned int nth = 1; nth <= TRIES; nth++) {
		int err, next = refuse_next_fd();

		made = NULL;
		refuse_one("memory", nth, ENOMEM);
		err = make();
		(void)refuse_end();
		if (err) {
			assert_int_equal(err, -FI_ENOMEM);
			assert_null(made);
			failed++;
		} else {
			assert_int_equal(fi_close(made), 0);
		}
		fake_channel.fd = channel;
		assert_memory_equal(live, fake_live, sizeof(live));
		assert_int_equal(fake_opened, opened);
		if (err)
			assert_int_equal(refuse_next_fd(), next);
	}
	if (failed < least)
		fail_msg("%u allocations failed", failed);
}

static void begin(enum fi_ep_type type)
{
	env = (struct env){ .info = NULL };
	if (!get_info(&env, type))
		skip();
	open_domain(&env, type);
}

static void no_memory_for_objects(void **state)
{
	begin(FI_EP_MSG);
	check(make_domain, 2);
	check(make_cq, 1);
	check(make_srx, 1);
	check(make_endpoint, 2);
	check(make_region, 1);
	close_env(&env);
}

static void no_memory_for_datagrams(void **state)
{
	begin(FI_EP_DGRAM);
	check(make_av, 1);
	check(make_endpoint, 2);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_for_objects),
		cmocka_unit_test(no_memory_for_datagrams),
	};

	/* No registration outlives its region. */
	(void)setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
