/* SPDX-License-Identifier: BSD-2-Clause */
/* What parameters do, with a device that the test plays. */
#include "data_env.h"

#include "../../params/effect.h"
#include "providers/verbs/param.h"

/* The parameters are read from the environment of this process. */
static void begin(struct env *env)
{
	*env = (struct env){ .info = NULL };
	verbs_params_init();
	(void)verbs_devices(true);
}

/* A field of the first answer. */
#define FIELD(name, expression)                                                        \
	static long name(const struct effect *effect)                                  \
	{                                                                              \
		struct env env;                                                        \
                                                                                       \
		(void)effect;                                                          \
		begin(&env);                                                           \
		assert_true(get_info(&env, FI_EP_DGRAM));                              \
		return (long)(expression);                                             \
	}

FIELD(tx_size, env.info->tx_attr->size)
FIELD(rx_size, env.info->rx_attr->size)
FIELD(tx_iov_limit, env.info->tx_attr->iov_limit)
FIELD(rx_iov_limit, env.info->rx_attr->iov_limit)

static long inline_size(const struct effect *effect)
{
	struct env env;

	(void)effect;
	begin(&env);
	return (long)verbs_device_find("fake0")->inline_size;
}

static int asked_gid = -1;

static int query_gid(
	struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	asked_gid = index;
	return fake_query_gid(context, port, 0, gid);
}

static long gid_index(const struct effect *effect)
{
	struct env env;

	(void)effect;
	verbs_lib.ibv.query_gid = query_gid;
	begin(&env);
	assert_non_null(verbs_device_find("fake0"));
	return asked_gid;
}

static int asked_completions;

static int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	asked_completions = max;
	return fake_poll_cq(cq, max, wc);
}

static long completions_at_a_time(const struct effect *effect)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)effect;
	begin(&env);
	fake_context.ops.poll_cq = poll_cq;
	assert_true(open_env(&env, FI_EP_DGRAM, 0, false));
	assert_int_equal(fi_cq_read(env.cq, &entry, 1), -FI_EAGAIN);
	close_env(&env);
	return asked_completions;
}

/* Does a registration on a device that can do so use on-demand paging? */
static long pages_on_demand(const struct effect *effect)
{
	struct verbs_device *device;
	struct fid_mr *mr;
	struct env env;

	(void)effect;
	begin(&env);
	device = (struct verbs_device *)(uintptr_t)verbs_device_find("fake0");
	device->odp = true;
	assert_true(get_info(&env, FI_EP_DGRAM));
	open_domain(&env, FI_EP_DGRAM);
	assert_int_equal(fi_mr_reg(env.domain, env.buf, sizeof(env.buf), FI_SEND, 0, 0,
				 0, &mr, NULL),
		0);
	return (fake_access & IBV_ACCESS_ON_DEMAND) != 0;
}

static long has_device(const struct effect *effect)
{
	struct env env;

	(void)effect;
	begin(&env);
	return verbs_device_find("fake0") != NULL;
}

/* Are connections offered? */
static long has_connections(const struct effect *effect)
{
	struct env env;

	(void)effect;
	begin(&env);
	return get_info(&env, FI_EP_MSG);
}

/* One buffer of a received datagram is the header of the network. */
static const struct effect effects[] = {
	{ "FI_VERBS_TX_SIZE", { { NULL, 8 }, { "5", 5 } }, tx_size, NULL },
	{ "FI_VERBS_RX_SIZE", { { NULL, 8 }, { "5", 5 } }, rx_size, NULL },
	{ "FI_VERBS_TX_IOV_LIMIT", { { NULL, 3 }, { "2", 2 } }, tx_iov_limit, NULL },
	{ "FI_VERBS_RX_IOV_LIMIT", { { NULL, 2 }, { "1", 1 } }, rx_iov_limit, NULL },
	{ "FI_VERBS_INLINE_SIZE", { { "0", FAKE_INLINE }, { "64", 64 } }, inline_size,
		NULL },
	{ "FI_VERBS_GID_IDX", { { NULL, 0 }, { "3", 3 } }, gid_index, NULL },
	{ "FI_VERBS_CQREAD_BUNCH_SIZE", { { NULL, 8 }, { "3", 3 } },
		completions_at_a_time, NULL },
	{ "FI_VERBS_USE_ODP", { { NULL, 0 }, { "yes", 1 } }, pages_on_demand, NULL },
	{ "FI_VERBS_DEVICE_NAME", { { "other,fak", 1 }, { "other", 0 } }, has_device,
		NULL },
};

static const struct effect iface = { "FI_VERBS_IFACE", { { NULL, 1 }, { "nosuch", 0 } },
	has_connections, NULL };

static void test_device(void **state)
{
	(void)state;
	effect_check_all(effects, WF_ARRAY_SIZE(effects));
}

static void test_interfaces(void **state)
{
	(void)state;
	/* This machine may have no address but the loopback address. */
	if (!effect_number(&iface, NULL))
		skip();
	effect_check(&iface);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_interfaces),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
