/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_ext.h>

#include "device_fake.h"
#include "providers/verbs/param.h"

/* Each variable that implementations of the provider have is followed, or refused with
 * one line in the log. */

static struct {
	unsigned int count;
	char text[512]; /* of the last warning */
} warnings;

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	(void)subsys;
	(void)flags;
	return prov == &verbs_fi && level == FI_LOG_WARN;
}

static int log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	(void)showtime;
	return log_enabled(prov, level, subsys, flags);
}

static void keep_warning(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)prov;
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	warnings.count++;
	(void)snprintf(warnings.text, sizeof(warnings.text), "%s", msg);
}

static struct fi_ops_log log_ops = {
	.enabled = log_enabled,
	.ready = log_ready,
	.log = keep_warning,
};
static struct fid_logging logger = { .ops = &log_ops };

/* Number variables: a value that is followed, where it goes, and one out of range. */
#define NUMBER(name_, good_, member_, bad_)                                            \
	{                                                                              \
		name_, #good_, bad_, good_, &verbs_params.member_                      \
	}
static const struct number {
	const char *name, *good, *bad;
	size_t value;
	const size_t *at;
} numbers[] = {
	NUMBER("FI_VERBS_TX_SIZE", 17, tx_size, "0"),
	NUMBER("FI_VERBS_RX_SIZE", 18, rx_size, "0"),
	NUMBER("FI_VERBS_TX_IOV_LIMIT", 3, tx_iov_limit, "0"),
	NUMBER("FI_VERBS_RX_IOV_LIMIT", 2, rx_iov_limit, "1000"),
	NUMBER("FI_VERBS_INLINE_SIZE", 64, inline_size, "1000000"),
	NUMBER("FI_VERBS_MIN_RNR_TIMER", 31, min_rnr_timer, "32"),
	NUMBER("FI_VERBS_CQREAD_BUNCH_SIZE", 16, cq_bunch, "0"),
	NUMBER("FI_VERBS_GID_IDX", 255, gid_index, "256"),
	NUMBER("FI_VERBS_NAME_SERVER_PORT", 4000, name_server_port, "0"),
	NUMBER("FI_VERBS_DGRAM_NAME_SERVER_PORT", 4001, name_server_port, "65536"),
};

/* Truth values, with the one that is not the default. */
static const struct truth {
	const char *name, *other;
	const int *at;
} truths[] = {
	{ "FI_VERBS_USE_ODP", "1", &verbs_params.use_odp },
	{ "FI_VERBS_DGRAM_USE_NAME_SERVER", "0", &verbs_params.use_name_server },
};

static const struct text {
	const char *name;
	const char **at;
} texts[] = {
	{ "FI_VERBS_DEVICE_NAME", &verbs_params.device_names },
	{ "FI_VERBS_IFACE", &verbs_params.ifaces },
};

/* Refused, but for the value that says what happens anyhow. */
static const struct refused {
	const char *name, *value, *only;
} refused[] = {
	{ "FI_VERBS_PREFER_XRC", "1", "0" },
	{ "FI_VERBS_XRCD_FILENAME", "/tmp/verbs_xrcd", NULL },
	{ "FI_VERBS_USE_DMABUF", "1", "0" },
	{ "FI_VERBS_NIC_AFFINITY_POLICY", "auto", "none" },
	{ "FI_VERBS_AFFINITY_DEVICE", "0000:01:00.0", NULL },
	{ "FI_VERBS_NIC_AFFINITY_CONFIG", "/etc/nics", NULL },
	{ "FI_DISENABLE_PROF", "1", NULL },
	{ "FI_PROF_DATA_SIZE", "1", NULL },
};

/* The parameters, read from an environment with that one variable. */
static void read_with(const char *name, const char *value)
{
	static struct verbs_params defaults;
	static bool kept;

	if (!kept)
		defaults = verbs_params;
	kept = true;
	verbs_params = defaults;
	warnings.count = 0;
	if (name)
		assert_int_equal(setenv(name, value, 1), 0);
	verbs_params_init();
	if (name)
		unsetenv(name);
}

/* One line, which names the variable. */
static void assert_refused(const char *name)
{
	const char *prefix = "FI_VERBS_";

	if (!strncmp(name, prefix, strlen(prefix)))
		name += strlen(prefix);
	if (warnings.count != 1 || !strcasestr(warnings.text, name))
		fail_msg("%s: %u warnings, the last: %s", name, warnings.count,
			warnings.text);
}

static void test_numbers(void **state)
{
	size_t before;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(numbers); i++) {
		const struct number *row = &numbers[i];

		read_with(NULL, NULL);
		before = *row->at;
		read_with(row->name, row->good);
		assert_int_equal(*row->at, row->value);
		assert_int_not_equal(before, row->value);
		assert_int_equal(warnings.count, 0);
		read_with(row->name, row->bad);
		assert_int_equal(*row->at, before);
		assert_refused(row->name);
	}
}

static void test_truths(void **state)
{
	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(truths); i++) {
		int before;

		read_with(NULL, NULL);
		before = *truths[i].at;
		read_with(truths[i].name, truths[i].other);
		assert_int_equal(*truths[i].at, !before);
		assert_int_equal(warnings.count, 0);
	}
}

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(texts); i++) {
		read_with(texts[i].name, "some");
		assert_string_equal(*texts[i].at, "some");
		assert_int_equal(warnings.count, 0);
		read_with(NULL, NULL);
		assert_null(*texts[i].at);
	}
}

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(refused); i++) {
		const struct refused *row = &refused[i];

		read_with(row->name, row->value);
		assert_refused(row->name);
		if (!row->only)
			continue;
		read_with(row->name, row->only);
		assert_int_equal(warnings.count, 0);
	}
}

/* In a job, processes learn addresses from its launcher, unless the user says more. */
static void test_job(void **state)
{
	(void)state;
	read_with("OMPI_COMM_WORLD_RANK", "0");
	assert_false(verbs_params.use_name_server);
	read_with("PMI_RANK", "3");
	assert_false(verbs_params.use_name_server);
	assert_int_equal(setenv("PMI_RANK", "3", 1), 0);
	read_with("FI_VERBS_DGRAM_USE_NAME_SERVER", "1");
	unsetenv("PMI_RANK");
	assert_true(verbs_params.use_name_server);
	read_with(NULL, NULL);
	assert_true(verbs_params.use_name_server);
}

static bool is_listed(const char *name)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(numbers); i++)
		if (!strcmp(name, numbers[i].name))
			return true;
	for (size_t i = 0; i < WF_ARRAY_SIZE(truths); i++)
		if (!strcmp(name, truths[i].name))
			return true;
	for (size_t i = 0; i < WF_ARRAY_SIZE(texts); i++)
		if (!strcmp(name, texts[i].name))
			return true;
	for (size_t i = 0; i < WF_ARRAY_SIZE(refused); i++)
		if (!strcmp(name, refused[i].name))
			return true;
	return false;
}

/* No variable is left out above. */
static void test_all(void **state)
{
	struct fi_param *params;
	unsigned int found = 0;
	int count;

	(void)state;
	read_with(NULL, NULL);
	assert_int_equal(fi_getparams(&params, &count), 0);
	for (int i = 0; i < count; i++) {
		if (strncmp(params[i].name, "FI_VERBS_", 9))
			continue;
		found++;
		if (!is_listed(params[i].name))
			fail_msg("%s is not tested", params[i].name);
	}
	fi_freeparams(params);
	assert_true(found > 0);
}

static int setup(void **state)
{
	(void)fake_setup(state);
	for (size_t i = 0; i < WF_ARRAY_SIZE(refused); i++)
		unsetenv(refused[i].name);
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("PMI_RANK");
	return fi_import_log(fi_version(), 0, &logger);
}

static int teardown(void **state)
{
	(void)fake_teardown(state);
	return fi_close(&logger.fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_truths),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
