/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <limits.h>
#include <wchar.h>
#include <rdma/fi_domain.h>

#include "../refuse.h"
#include "core/log/file.h"
#include "core/log/filter.h"
#include "core/params/conf.h"
#include "core/params/param.h"
#include "core/prov_filter.h"
#include "core/strings/strbuf.h"
#include "core/strings/strings.h"
#include "sys/compiler.h"

/* Parameters, log and handles of the core, where the system refuses a call; and the
 * calls of older programs, with their smaller structs. */

const struct wf_known_prov wf_known_provs[] = { { NULL } };
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

static bool secure;

REFUSE_EXPORTED unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type)
{
	return secure;
}

static int setup(void **state)
{
	struct fi_provider *const none[] = { NULL };

	fake_start(NULL, none);
	return 0;
}

static void no_memory_for_the_filter(void **state)
{
	struct wf_prov_filter filter;

	REFUSE_EACH("memory", ENOMEM, int err = wf_prov_filter_init(&filter, "^a,b"), {
		assert_int_equal(err, -FI_ENOMEM);
		assert_false(filter.active);
		assert_null(filter.text);
		assert_true(wf_prov_filter_admits(&filter, "a"));
	});
	assert_false(wf_prov_filter_admits(&filter, "a"));
	wf_prov_filter_done(&filter);
}

static void no_memory_for_the_settings(void **state)
{
	(void)setenv("FI_PROVIDER", "^a", 1);
	wf_settings_done();
	refuse_one("memory", 1, ENOMEM);
	wf_settings_load();
	assert_true(refuse_end());
	assert_logged("warning core: FI_PROVIDER is ignored: out of memory");
	assert_true(wf_prov_filter_admits(&wf_settings.providers, "a"));
	wf_settings_done();
	wf_settings_load();
	assert_false(wf_prov_filter_admits(&wf_settings.providers, "a"));
	(void)unsetenv("FI_PROVIDER");
}

static void no_memory_for_parameters(void **state)
{
	static struct fi_provider prov = { .name = "prov" };
	struct fi_param *params = NULL;
	int count = -1, err;
	char *value;

	REFUSE_EACH("memory", ENOMEM,
		err = fi_param_define(&prov, "knob", FI_PARAM_STRING, "a %s", "knob"), {
			assert_int_equal(err, -FI_ENOMEM);
			assert_int_equal(
				fi_param_get(&prov, "knob", &value), -FI_ENOENT);
		});
	assert_int_equal(err, 0);
	assert_int_equal(fi_param_get(&prov, "knob", &value), -FI_ENODATA);
	REFUSE_EACH("memory", ENOMEM, err = fi_getparams(&params, &count), {
		assert_int_equal(err, -FI_ENOMEM);
		assert_null(params);
		assert_int_equal(count, -1);
	});
	assert_int_equal(err, 0);
	fi_freeparams(params);
	wf_params_forget(&prov);
}

/* Make the library read @text as its configuration file. */
static void use_conf(const char *text)
{
	char path[] = "/tmp/weft-conf-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
	wf_conf_use_file(path);
	assert_int_equal(unlink(path), 0);
}

static void configuration_file(void **state)
{
	enum { MOST = 4096 };
	static char text[MOST * 16];
	size_t len = 0;

	for (unsigned int nth = 1; nth <= 2; nth++) {
		refuse_one("memory", nth, ENOMEM);
		use_conf("FI_A=1\nFI_B=2\n");
		assert_true(refuse_end());
		assert_null(wf_conf_value("FI_A"));
		assert_string_equal(wf_conf_value("FI_B"), "2");
		assert_string_equal(wf_conf_file_var(0), "FI_B");
		assert_null(wf_conf_file_var(1));
		wf_log_forget_notices();
		fake_logged[0] = '\0';
		wf_conf_report();
		assert_logged(" line 1 is not VAR=value, ignored");
	}
	for (int i = 0; i <= MOST; i++)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "FI_V%d=%d\n", i, i);
	use_conf(text);
	assert_string_equal(wf_conf_value("FI_V4095"), "4095");
	assert_null(wf_conf_value("FI_V4096"));
	wf_log_forget_notices();
	wf_conf_report();
	assert_logged(" line 4097 is not VAR=value, ignored");
	refuse_one("fopen", 1, EACCES);
	wf_conf_use_file("/tmp");
	assert_true(refuse_end());
	wf_conf_report();
	assert_logged("/libfabric.conf: Permission denied");
	wf_conf_use_file("/nonexistent");
}

static void place_of_the_log(void **state)
{
	char path[PATH_MAX + 1];
	int err = 1;

	memset(path, 'x', sizeof(path));
	path[PATH_MAX] = '\0';
	assert_int_equal(wf_log_file_open(path, 0600, &err), STDERR_FILENO);
	assert_int_equal(err, -ENAMETOOLONG);
	refuse_one("openat", 1, EROFS);
	assert_int_equal(wf_log_file_open("/tmp/x", 0600, &err), STDERR_FILENO);
	assert_int_equal(err, -EROFS);
	assert_true(refuse_end());
	secure = true;
	assert_int_equal(wf_log_file_open("/tmp/x", 0600, &err), STDERR_FILENO);
	assert_int_equal(err, -EPERM);
	assert_int_equal(wf_log_file_open("stdout", 0600, &err), STDOUT_FILENO);
	assert_int_equal(err, 0);
	assert_int_equal(wf_log_file_open(NULL, 0600, &err), STDERR_FILENO);
	assert_int_equal(err, 0);
	secure = false;
}

/* A signal interrupts no line; where a device is full, the line is lost. */
static void writing_the_log(void **state)
{
	char got[16] = "";
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	refuse_one("write", 1, EINTR);
	wf_log_file_write(ends[1], "a line\n", 7);
	assert_int_equal(refuse.calls, 2);
	assert_true(refuse_end());
	assert_int_equal(read(ends[0], got, sizeof(got)), 7);
	assert_string_equal(got, "a line\n");
	refuse_one("write", 1, ENOSPC);
	wf_log_file_write(ends[1], "a line\n", 7);
	assert_int_equal(refuse.calls, 1);
	assert_true(refuse_end());
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void no_memory_for_the_filter_of_the_log(void **state)
{
	struct wf_log_filter filter;

	refuse_one("memory", 1, ENOMEM);
	wf_log_filter_init(&filter, "warn", "tcp", "cq");
	assert_true(refuse_end());
	assert_true(wf_log_filter_pass(&filter, "shm", FI_LOG_WARN, FI_LOG_CQ));
	assert_false(wf_log_filter_pass(&filter, "shm", FI_LOG_WARN, FI_LOG_AV));
	wf_log_filter_done(&filter);
	wf_log_filter_init(&filter, "warn", "tcp", "cq");
	assert_false(wf_log_filter_pass(&filter, "shm", FI_LOG_WARN, FI_LOG_CQ));
	wf_log_filter_done(&filter);
}

/* There is an end to what is remembered, and told. */
static void many_notices(void **state)
{
	wf_log_forget_notices();
	for (int i = 0; i < 66; i++)
		wf_log_notice(&wf_core_prov, "notice %d of many", i);
	assert_logged("notice 63 of many");
	assert_null(strstr(fake_logged, "notice 64 of many"));
	wf_log_forget_notices();
	wf_log_notice(&wf_core_prov, "notice 64 of many");
	assert_logged("notice 64 of many");
	wf_log_forget_notices();
}

static void handles(void **state)
{
	static const char *const names[] = { "logging", "mr_cache" };
	struct fid *fid = NULL, other = { .fclass = FI_CLASS_EP };
	void *ops;
	char text[8];

	for (size_t i = 0; i < WF_ARRAY_SIZE(names); i++) {
		refuse_one("memory", 1, ENOMEM);
		assert_int_equal(
			fi_open(FAKE_VERSION, names[i], NULL, 0, 0, &fid, NULL),
			-FI_ENOMEM);
		assert_true(refuse_end());
		assert_null(fid);
		assert_int_equal(
			fi_open(FAKE_VERSION, names[i], NULL, 0, 0, &fid, NULL), 0);
		assert_int_equal(fid->ops->bind(fid, NULL, 0), -FI_EINVAL);
		assert_int_equal(fid->ops->bind(fid, &other, 0), -FI_EINVAL);
		assert_int_equal(fid->ops->control(fid, FI_DUP, NULL), -FI_ENOSYS);
		assert_int_equal(
			fid->ops->ops_open(fid, "none", 0, &ops, NULL), -FI_ENOSYS);
		assert_int_equal(fid->ops->tostr(fid, text, sizeof(text)), -FI_ENOSYS);
		assert_int_equal(
			fid->ops->ops_set(fid, "none", 0, &ops, NULL), -FI_ENOSYS);
		assert_int_equal(fi_close(fid), 0);
		fid = NULL;
	}
}

/* What is bound can only be closed. */
static void bound_objects(void **state)
{
	static struct fi_ops_log ops = { .size = sizeof(ops),
		.enabled = fake_log_enabled,
		.ready = fake_log_ready,
		.log = fake_log };
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	struct fid *fid = &log.fid;
	char text[8];
	void *any;

	wf_log_reset();
	assert_int_equal(fi_import(FAKE_VERSION, "logging", NULL, 0, 0, fid, NULL), 0);
	assert_int_equal(fid->ops->bind(fid, fid, 0), -FI_ENOSYS);
	assert_int_equal(fid->ops->control(fid, FI_DUP, NULL), -FI_ENOSYS);
	assert_int_equal(fid->ops->ops_open(fid, "none", 0, &any, NULL), -FI_ENOSYS);
	assert_int_equal(fid->ops->tostr(fid, text, sizeof(text)), -FI_ENOSYS);
	assert_int_equal(fid->ops->ops_set(fid, "none", 0, &any, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(fid), 0);
}

static void texts(void **state)
{
	struct fid_nic nic = { .fid.fclass = FI_CLASS_NIC };
	char by_fid[2048], by_nic[2048], small[8] = "xxxxxxx";
	struct wf_strbuf sb;
	const wchar_t wide[] = { (wchar_t)0x7fffffff, 0 };

	wf_strbuf_init(&sb, by_fid, sizeof(by_fid));
	wf_fid_print(&sb, &nic.fid);
	wf_strbuf_init(&sb, by_nic, sizeof(by_nic));
	wf_nic_print(&sb, &nic, 0);
	assert_true(sb.len > 0);
	assert_string_equal(by_fid, by_nic);
	/* A text that cannot be converted ends where it was. */
	wf_strbuf_init(&sb, small, sizeof(small));
	wf_strbuf_printf(&sb, "ab");
	wf_strbuf_printf(&sb, "c%ls", wide);
	assert_true(sb.cut);
	assert_int_equal(sb.len, 2);
	assert_string_equal(small, "ab");
}

/* ---- older programs -------------------------------------------------------------- */

#define EACH_NODE(X) X(V1_0) X(V1_1) X(V1_2) X(V1_3) X(V1_7) X(V1_8) X(V1_9) X(V1_10)
#define DECLARE(node)                                                                  \
	int wf_getinfo_##node(uint32_t version, const char *node_name,                 \
		const char *service, uint64_t flags, const struct fi_info *hints,      \
		struct fi_info **info);                                                \
	struct fi_info *wf_dupinfo_##node(const struct fi_info *info);                 \
	void wf_freeinfo_##node(struct fi_info *info);
EACH_NODE(DECLARE)
int wf_fabric_V1_0(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

static const struct fi_info
	*expected; /* what getinfo gets, besides what it completes */
static unsigned int asked;

static struct fi_fabric_attr opened;

static int keep_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	opened = *attr;
	return -FI_EACCES;
}

static int compare_hints(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	assert_int_equal(version, FI_VERSION(1, 1));
	assert_string_equal(node, "node");
	assert_string_equal(service, "service");
	assert_int_equal(flags, FI_SOURCE);
	assert_memory_equal(hints->tx_attr, expected->tx_attr, sizeof(*hints->tx_attr));
	assert_memory_equal(hints->rx_attr, expected->rx_attr, sizeof(*hints->rx_attr));
	assert_memory_equal(hints->ep_attr, expected->ep_attr, sizeof(*hints->ep_attr));
	assert_memory_equal(
		hints->domain_attr, expected->domain_attr, sizeof(*hints->domain_attr));
	asked++;
	return -FI_ENODATA;
}

static struct fi_provider echo = { .name = "echo",
	.version = FI_VERSION(1, 0),
	.fi_version = FAKE_VERSION,
	.getinfo = compare_hints,
	.fabric = keep_fabric };

static const struct node {
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints, struct fi_info **info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	void (*freeinfo)(struct fi_info *info);
	size_t info, tx, ep, domain; /* bytes of its structs */
} nodes[] = {
#define CALLS(node) wf_getinfo_##node, wf_dupinfo_##node, wf_freeinfo_##node
	{ CALLS(V1_0), 112, 72, 80, 120 },
	{ CALLS(V1_1), 112, 72, 96, 184 },
	{ CALLS(V1_2), 120, 72, 96, 184 },
	{ CALLS(V1_3), 120, 80, 96, 192 },
	{ CALLS(V1_7), 120, 80, 96, 200 },
	{ CALLS(V1_8), 120, 80, 96, 208 },
	{ CALLS(V1_9), 120, 80, 96, 224 },
	{ CALLS(V1_10), 120, 80, 104, 232 },
};

/* Each byte of the structs is set, besides those of pointers and of what has a meaning
 * for a copy. */
static struct fi_info *full_info(void)
{
	struct fi_info *info = fi_allocinfo();
	struct fi_domain_attr *domain = info->domain_attr;
	struct fi_ep_attr *ep = info->ep_attr;

	memset(info->tx_attr, 0x5a, sizeof(*info->tx_attr));
	memset(info->rx_attr, 0x5a, sizeof(*info->rx_attr));
	memset(ep, 0x5a, offsetof(struct fi_ep_attr, auth_key_size));
	memset(&domain->threading, 0x5a,
		sizeof(*domain) - offsetof(struct fi_domain_attr, threading));
	domain->auth_key = NULL;
	domain->auth_key_size = 0;
	return info;
}

#define CUT(attr, size) memset((char *)(attr) + (size), 0, sizeof(*(attr)) - (size))

static void structs_of_older_programs(void **state)
{
	struct fi_provider *const provs[] = { &echo, NULL };
	struct fi_info *hints = full_info(), *list, *copy;

	for (size_t i = 0; i < WF_ARRAY_SIZE(nodes); i++) {
		struct fi_info *cut = full_info();

		fake_start(NULL, provs);
		if (nodes[i].tx < sizeof(*cut->tx_attr))
			CUT(cut->tx_attr, nodes[i].tx);
		if (nodes[i].ep < sizeof(*cut->ep_attr))
			CUT(cut->ep_attr, nodes[i].ep);
		if (nodes[i].domain < sizeof(*cut->domain_attr))
			CUT(cut->domain_attr, nodes[i].domain);
		expected = cut;
		asked = 0;
		assert_int_equal(nodes[i].getinfo(FI_VERSION(1, 1), "node", "service",
					 FI_SOURCE, hints, &list),
			-FI_ENODATA);
		assert_int_equal(asked, 1);
		copy = nodes[i].dupinfo(hints);
		assert_non_null(copy);
		assert_memory_equal(
			copy->tx_attr, cut->tx_attr, sizeof(*copy->tx_attr));
		assert_memory_equal(
			copy->ep_attr, cut->ep_attr, sizeof(*copy->ep_attr));
		assert_memory_equal(copy->domain_attr, cut->domain_attr,
			sizeof(*copy->domain_attr));
		nodes[i].freeinfo(copy);
		copy = nodes[i].dupinfo(NULL);
		assert_non_null(copy->fabric_attr);
		nodes[i].freeinfo(copy);
		fi_freeinfo(cut);
	}
	fi_freeinfo(hints);
}

/* At 1.0 the attributes of a fabric have no version. */
static void fabrics_of_older_programs(void **state)
{
	struct fi_provider *const provs[] = { &echo, NULL };
	struct fi_fabric_attr attr = { .name = "net",
		.prov_name = "echo",
		.prov_version = 7,
		.api_version = FI_VERSION(1, 9) };
	struct fid_fabric *fabric = NULL;

	fake_start(NULL, provs);
	assert_int_equal(wf_fabric_V1_0(NULL, &fabric, NULL), -FI_EINVAL);
	assert_int_equal(wf_fabric_V1_0(&attr, NULL, NULL), -FI_EINVAL);
	assert_int_equal(wf_fabric_V1_0(&attr, &fabric, NULL), -FI_EACCES);
	assert_int_equal(opened.api_version, FI_VERSION(1, 0));
	assert_int_equal(opened.prov_version, 7);
	assert_string_equal(opened.name, "net");
	assert_int_equal(fi_fabric(&attr, &fabric, NULL), -FI_EACCES);
	assert_int_equal(opened.api_version, FI_VERSION(1, 9));
	assert_null(fabric);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, setup)
	const struct CMUnitTest tests[] = {
		TEST(no_memory_for_the_filter),
		TEST(no_memory_for_the_settings),
		TEST(no_memory_for_parameters),
		TEST(configuration_file),
		TEST(place_of_the_log),
		TEST(writing_the_log),
		TEST(no_memory_for_the_filter_of_the_log),
		TEST(many_notices),
		TEST(handles),
		TEST(texts),
		TEST(structs_of_older_programs),
		TEST(fabrics_of_older_programs),
		TEST(bound_objects),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
