/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoint options and control commands. */
#include "suites.h"

static void unknown_levels_and_names(void)
{
	struct fid_ep *ep;
	struct cf_env env;
	size_t value = 0, len = sizeof(value);

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	CHECK_EQ(fi_getopt(&ep->fid, 99, FI_OPT_MIN_MULTI_RECV, &value, &len),
		-FI_ENOPROTOOPT);
	CHECK_EQ(fi_setopt(&ep->fid, 99, FI_OPT_MIN_MULTI_RECV, &value, len),
		-FI_ENOPROTOOPT);
	CHECK_EQ(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, 4711, &value, &len),
		-FI_ENOPROTOOPT);
	CHECK_EQ(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, 4711, &value, len),
		-FI_ENOPROTOOPT);
	for (int name = FI_OPT_BUFFERED_MIN; name <= FI_OPT_BUFFERED_LIMIT; name++) {
		CHECK_EQ(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, name, &value, &len),
			-FI_ENOPROTOOPT);
		CHECK_EQ(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, &value, len),
			-FI_ENOPROTOOPT);
	}
	CF_CLOSE(ep);
	cf_close(&env);
}

static void min_multi_recv_is_kept(void)
{
	struct fid_ep *ep;
	struct cf_env env;
	size_t value = 0, len = sizeof(value);

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	value = 333;
	CHECK_OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value,
		sizeof(value)));
	value = 0;
	CHECK_OK(fi_getopt(
		&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len));
	CHECK_EQ(value, 333);
	CHECK_EQ(len, sizeof(value));
	len = sizeof(value) - 1;
	CHECK_EQ(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value,
			 &len),
		-FI_ETOOSMALL);
	CHECK_EITHER(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value,
			     sizeof(value) - 1),
		-FI_EINVAL, -FI_ETOOSMALL);
	CF_CLOSE(ep);
	cf_close(&env);
}

static void options_after_enable(void)
{
	static const int sizes[] = { FI_OPT_MAX_MSG_SIZE, FI_OPT_INJECT_MSG_SIZE };
	struct cf_env env;
	size_t value = 17, len = sizeof(value);
	int ret;

	cf_open_pair(&env, &(struct cf_options){ .caps = FI_MULTI_RECV });
	ret = fi_setopt(&env.side[0].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
		&value, len);
	if (ret) {
		CHECK_EITHER(ret, -FI_EOPBADSTATE, -FI_EINVAL);
	} else {
		value = 0;
		CHECK_OK(fi_getopt(&env.side[0].ep->fid, FI_OPT_ENDPOINT,
			FI_OPT_MIN_MULTI_RECV, &value, &len));
		CHECK_EQ(value, 17);
	}
	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		value = 17;
		ret = fi_setopt(&env.side[0].ep->fid, FI_OPT_ENDPOINT, sizes[i], &value,
			sizeof(value));
		CHECK(ret == 0 || ret == -FI_EOPBADSTATE || ret == -FI_EINVAL ||
			ret == -FI_ENOPROTOOPT);
	}
	cf_close(&env);
}

static void a_larger_space_gets_the_true_length(void)
{
	struct fid_ep *ep;
	struct cf_env env;
	size_t space[4] = { 0 }, len = sizeof(space);

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	CHECK_OK(fi_getopt(
		&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, space, &len));
	CHECK_EQ(len, sizeof(size_t));
	CHECK_EQ(space[1], 0);
	CF_CLOSE(ep);
	cf_close(&env);
}

static void cm_data_size_is_read_only(void)
{
	struct fid_ep *ep;
	struct cf_env env;
	size_t value = 1, len = sizeof(value);

	if (cf_target.type != FI_EP_MSG)
		SKIP("needs connected endpoints");
	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	CHECK_OK(fi_getopt(
		&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &len));
	CHECK_FAILS(
		fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, len));
	CF_CLOSE(ep);
	cf_close(&env);
}

/* Each is offered within the limit of the attributes, or not known. */
static void size_options_stay_within_the_attributes(void)
{
	static const struct {
		int name;
		bool inject;
	} rows[] = {
		{ FI_OPT_MAX_MSG_SIZE, false },
		{ FI_OPT_MAX_TAGGED_SIZE, false },
		{ FI_OPT_MAX_RMA_SIZE, false },
		{ FI_OPT_MAX_ATOMIC_SIZE, false },
		{ FI_OPT_INJECT_MSG_SIZE, true },
		{ FI_OPT_INJECT_TAGGED_SIZE, true },
		{ FI_OPT_INJECT_RMA_SIZE, true },
		{ FI_OPT_INJECT_ATOMIC_SIZE, true },
	};
	struct fid_ep *ep;
	struct cf_env env;

	NEED_API(2, 0);
	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	for (size_t i = 0; i < CF_COUNT(rows); i++) {
		size_t value = SIZE_MAX, len = sizeof(value), small = len - 1;
		size_t most = rows[i].inject ? env.info->tx_attr->inject_size
					     : env.info->ep_attr->max_msg_size;
		int ret = fi_getopt(
			&ep->fid, FI_OPT_ENDPOINT, rows[i].name, &value, &len);

		if (ret == -FI_ENOPROTOOPT)
			continue;
		CHECK_OK(ret);
		CHECK_EQ(len, sizeof(value));
		CHECK(value <= most);
		CHECK_EQ(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, rows[i].name, &value,
				 &small),
			-FI_ETOOSMALL);
	}
	CF_CLOSE(ep);
	cf_close(&env);
}

static void device_memory_options_answer(void)
{
	int mode = FI_HMEM_P2P_REQUIRED;
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	if (env.info->caps & FI_HMEM)
		SKIP("the provider has device memory");
	ep = cf_new_ep(&env);
	CHECK_EITHER(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &mode,
			     sizeof(mode)),
		-FI_EOPNOTSUPP, -FI_ENOPROTOOPT);
	CF_CLOSE(ep);
	cf_close(&env);
}

/* ---- default operation flags ---- */

static void op_flags_can_be_read_and_replaced(void)
{
	uint64_t flags = FI_TRANSMIT;
	struct fid *fid;
	struct cf_env env;
	int ret;

	cf_open_pair(&env, NULL);
	fid = &env.side[0].ep->fid;
	ret = fi_control(fid, FI_GETOPSFLAG, &flags);
	if (ret == -FI_ENOSYS)
		SKIP("flags of an endpoint are fixed");
	CHECK_OK(ret);
	flags = FI_TRANSMIT | FI_COMPLETION;
	CHECK_OK(fi_control(fid, FI_SETOPSFLAG, &flags));
	flags = FI_TRANSMIT;
	CHECK_OK(fi_control(fid, FI_GETOPSFLAG, &flags));
	CHECK_EQ(flags & FI_COMPLETION, FI_COMPLETION);
	flags = FI_TRANSMIT | FI_RECV;
	CHECK_EQ(fi_control(fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	flags = 0;
	CHECK_EQ(fi_control(fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	flags = FI_COMPLETION;
	CHECK_EQ(fi_control(fid, FI_SETOPSFLAG, &flags), -FI_EINVAL);
	cf_close(&env);
}

static void replaced_flags_take_effect(void)
{
	struct cf_options options = { .cq_flags = FI_SELECTIVE_COMPLETION };
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION;
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	char buf[8] = "flags";
	int ret;

	cf_open_pair(&env, &options);
	cf_post_recvs(&env, 2);
	cf_post_send(&env, buf, sizeof(buf), &context);
	cf_cq_quiet(env.side[0].tx_cq);
	ret = fi_control(&env.side[0].ep->fid, FI_SETOPSFLAG, &flags);
	if (ret == -FI_ENOSYS)
		SKIP("flags of an endpoint are fixed");
	CHECK_OK(ret);
	cf_post_send(&env, buf, sizeof(buf), &context);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	cf_close(&env);
}

/* What a provider that may use shared memory answers; no other has to ask. */
static int without_shared_memory(void)
{
	const char *links = getenv("FI_LNX_PROV_LINKS");

	if (!strcmp(cf_target.provider, "lnx"))
		return links && !strstr(links, "shm") ? 0 : -FI_EOPNOTSUPP;
	return strcmp(cf_target.provider, "shm") ? 0 : -FI_EOPNOTSUPP;
}

static void shared_memory_is_given_up_or_not(void)
{
	bool yes = true, no = false;
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	CHECK_OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED,
		&yes, sizeof(yes)));
	CHECK_EQ(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED,
			 &no, sizeof(no)),
		without_shared_memory());
	CHECK_EQ(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED,
			 &no, sizeof(no) + 1),
		-FI_EINVAL);
	CF_CLOSE(ep);
	cf_close(&env);
}

static void unknown_commands_are_absent(void)
{
	struct cf_env env;
	int value = 0;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	CHECK_EQ(fi_control(&env.side[0].ep->fid, 4711, &value), -FI_ENOSYS);
	CHECK_EQ(fi_control(&env.side[0].ep->fid, FI_GETWAIT, &value), -FI_ENOSYS);
	CHECK_EQ(fi_control(&env.side[0].tx_cq->fid, 4711, &value), -FI_ENOSYS);
	CHECK_EQ(fi_control(&env.side[0].av->fid, 4711, &value), -FI_ENOSYS);
	cf_close(&env);
}

CF_SUITE(option, CF_CASE(unknown_levels_and_names, "OPT-001 OPT-015", 0),
	CF_CASE(min_multi_recv_is_kept, "OPT-002 OPT-003 OPT-005", FI_MULTI_RECV),
	CF_CASE(options_after_enable, "OPT-004", FI_MSG | FI_MULTI_RECV),
	CF_CASE(a_larger_space_gets_the_true_length, "OPT-002", FI_MULTI_RECV),
	CF_CASE(cm_data_size_is_read_only, "OPT-006", 0),
	CF_CASE(size_options_stay_within_the_attributes, "OPT-010 OPT-011", 0),
	CF_CASE(device_memory_options_answer, "OPT-007", 0),
	CF_CASE(op_flags_can_be_read_and_replaced, "OPT-016 OPT-017", FI_MSG),
	CF_CASE(replaced_flags_take_effect, "OPT-017", FI_MSG),
	CF_CASE(shared_memory_is_given_up_or_not, "OPT-009", 0),
	CF_CASE(unknown_commands_are_absent, "OPT-018 OPT-021", FI_MSG));
