/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include "../../log_lines.h"
#include "../refuse.h"

/* Where the system refuses a call, the object is the provider's, nothing is left behind,
 * and the reason is told. */

REFUSE_CALL(int, "mkdirat", mkdirat, -1, (int dir, const char *name, mode_t mode),
	(dir, name, mode))

static uid_t other_user; /* what is added to the user's id where that is refused */

REFUSE_EXPORTED uid_t __real_geteuid(void);
REFUSE_EXPORTED uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return __real_geteuid() + (refuse_this("geteuid") ? other_user : 0);
}

static const char *host; /* NULL: that of the system */

REFUSE_EXPORTED int __real_gethostname(char *name, size_t len);
REFUSE_EXPORTED int __wrap_gethostname(char *name, size_t len);
int __wrap_gethostname(char *name, size_t len)
{
	if (!host)
		return __real_gethostname(name, len);
	(void)snprintf(name, len, "%s", host);
	return 0;
}

/* What the next open of a domain refuses, from the call of the provider on. */
static struct {
	const char *call;
	unsigned int nth;
	int code;
} planned;

static void refuse_planned(void)
{
	refuse_one(planned.call, planned.nth, planned.code);
}

static void plan(const char *call, unsigned int nth, int code)
{
	planned.call = call;
	planned.nth = nth;
	planned.code = code;
	played.in_domain = refuse_planned;
}

/* Open a domain with what was planned. True: it happened. */
static bool open_planned(void)
{
	log_lines_start();
	fx.fabric = monitor(new_fabric());
	assert_int_equal(fi_domain(fx.fabric, NULL, &fx.domain, NULL), 0);
	played.in_domain = NULL;
	return refuse_end();
}

static void close_planned(void)
{
	assert_int_equal(fi_close(&fx.domain->fid), 0);
	assert_int_equal(fi_close(&fx.fabric->fid), 0);
}

static void arguments(void **state)
{
	struct fi_fabric_attr attr = { 0 };
	struct fid_fabric *fabric = new_fabric(), *front = NULL;

	assert_int_equal(mon_fi.fabric(NULL, &front, NULL), -FI_EINVAL);
	assert_int_equal(mon_fi.fabric(&attr, &front, NULL), -FI_EINVAL);
	attr.fabric = fabric;
	fabric->fid.ops = NULL;
	assert_int_equal(mon_fi.fabric(&attr, &front, NULL), -FI_EINVAL);
	assert_null(front);
	fabric->fid.ops = &played_fid;
	fabric->ops = NULL;
	assert_int_equal(mon_fi.fabric(&attr, &front, NULL), 0);
	assert_ptr_equal(front, fabric);
	assert_ptr_equal(fabric->fid.ops, &played_fid);
	fabric->ops = &played_fabric;
	REFUSE_EACH("memory", ENOMEM, int err = mon_fi.fabric(&attr, &front, NULL), {
		assert_int_equal(err, -FI_ENOMEM);
		assert_ptr_equal(fabric->ops, &played_fabric);
		assert_ptr_equal(fabric->fid.ops, &played_fid);
	});
	assert_ptr_not_equal(fabric->ops, &played_fabric);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

static void files_that_are_not_made(void **state)
{
	static const struct {
		const char *call;
		unsigned int nth;
		int code;
		const char *why;
	} rows[] = {
		{ "memory", 1, ENOMEM, "memory: Cannot allocate memory" },
		{ "mkdirat", 1, EROFS, "base directory: Read-only file system" },
		{ "openat", 1, EMFILE, "base directory: Too many open files" },
		{ "mkdirat", 2, EACCES,
			"directory of the user, which must be safe from others: "
			"Permission denied" },
		{ "fchmod", 1, EIO,
			"directory of the user, which must be safe from others: "
			"Input" },
		{ "openat", 2, ENFILE,
			"directory of the user, which must be safe from others: Too "
			"many open files in system" },
		{ "fstat", 1, EOVERFLOW,
			"directory of the user, which must be safe from others: "
			"Value" },
		{ "geteuid", 2, 0,
			"directory of the user, which must be safe from others: "
			"Operation not permitted" },
		{ "fchmod", 1, EIO,
			"directory of the host, which must be safe from others: "
			"Input" },
		{ "openat", 3, EMFILE,
			"directory of the host, which must be safe from others: Too "
			"many open files" },
		{ "fstat", 2, EOVERFLOW,
			"directory of the host, which must be safe from others: "
			"Value" },
		{ "openat", 4, ENOSPC, "file: No space left on device" },
		{ "fchmod", 1, EPERM, "file: Operation not permitted" },
		{ "memory", 2, ENOMEM, "watching for fork: Cannot allocate memory" },
		{ "memory", 3, ENOMEM, "writing the file: Cannot allocate memory" },
		{ "pwrite", 1, EDQUOT, "writing the file: Disk quota exceeded" },
		{ "fcntl", 1, ENOLCK, "locking the file: No locks available" },
	};
	char wanted[256];

	other_user = 1;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		int next = refuse_next_fd();

		plan(rows[i].call, rows[i].nth, rows[i].code);
		assert_true(open_planned());
		(void)snprintf(wanted, sizeof(wanted), "played is not monitored: %s",
			rows[i].why);
		if (!strstr(log_lines, wanted))
			fail_msg("not logged: %s\nbut: %s", wanted, log_lines);
		assert_ptr_equal(fx.domain->ops, &played_domain);
		assert_int_equal(count_files(), 0);
		assert_int_equal(refuse_next_fd(), next);
		close_planned();
	}
	plan("memory", 4, ENOMEM);
	assert_true(open_planned());
	assert_true(log_lines_have("a domain is not monitored: out of memory"));
	assert_ptr_equal(fx.domain->ops, &played_domain);
	close_planned();
	assert_int_equal(count_files(), 0);
	plan("memory", 5, ENOMEM);
	assert_false(open_planned());
	assert_ptr_not_equal(fx.domain->ops, &played_domain);
	assert_int_equal(count_files(), 1);
	close_planned();
}

/* The objects of a domain without memory for their tables. */
static void objects_without_memory(void **state)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fid_cq *cq;
	struct fid_ep *ep;

	open_all();
	log_lines_start();
	refuse_one("memory", 2, ENOMEM);
	assert_int_equal(fi_cq_open(fx.domain, &attr, &cq, NULL), 0);
	assert_true(refuse_end());
	assert_ptr_equal(cq->ops, &played_cq);
	assert_ptr_equal(cq->fid.ops, &played_fid);
	assert_true(
		log_lines_have("a completion queue is not monitored: out of memory"));
	assert_int_equal(fi_close(&cq->fid), 0);
	refuse_one("memory", 2, ENOMEM);
	assert_int_equal(fi_endpoint(fx.domain, NULL, &ep, NULL), 0);
	assert_true(refuse_end());
	assert_ptr_equal(ep->fid.ops, &played_ep_fid);
	assert_true(log_lines_have("an endpoint is not monitored: out of memory"));
	assert_int_equal(fi_close(&ep->fid), 0);
	/* A call that cannot be counted is made all the same. */
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	assert_true(refuse_end());
	assert_string_equal(played.call, "send");
	assert_int_equal(fi_send(fx.ep, NULL, 200, NULL, 0, NULL), 0);
	assert_cell(sample(), MON_SEND, 1, 1, 200);
	close_all();
}

/* What could not be written is part of the next sample. */
static void samples_that_are_not_written(void **state)
{
	open_all();
	for (unsigned int nth = 1; nth <= 2; nth++) {
		want(7);
		log_lines_start();
		refuse_one("pwrite", nth, ENOSPC);
		assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
		assert_true(refuse_end());
		read_file();
		assert_int_equal(fx.layout.answered, 0);
		if (nth == 1)
			assert_true(log_lines_have("no sample was written to "));
	}
	refuse_one("pread", 1, EIO);
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	assert_true(refuse_end());
	read_file();
	assert_int_equal(fx.layout.answered, 0);
	/* The call with which this is reached is part of it. */
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	read_file();
	assert_int_equal(fx.layout.answered, 7);
	assert_cell(newest(), MON_SEND, 1, 4, 400);
	close_all();
}

/* Neither hidden nor empty, without slashes and controls. */
static void names_of_hosts(void **state)
{
	static const char *const rows[][2] = {
		{ "", "_" },
		{ ".", "_" },
		{ "..", "_." },
		{ ".a/b\nc", "_a_b_c" },
		{ "a.b-c", "a.b-c" },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		host = rows[i][0];
		(void)snprintf(fx.dir, sizeof(fx.dir), "%s/%u/%s", fx.base,
			(unsigned int)geteuid(), rows[i][1]);
		(void)setenv("SLURM_JOB_ID", "4/7\x01", 1);
		open_all();
		assert_non_null(strstr(fx.path, "_4_7__played"));
		(void)close(fx.fd);
		fx.fd = -1;
		close_all();
	}
	(void)unsetenv("SLURM_JOB_ID");
	host = NULL;
}

int main(void)
{
#define TEST(name)                                                                     \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(arguments),
		TEST(files_that_are_not_made),
		TEST(objects_without_memory),
		TEST(samples_that_are_not_written),
		TEST(names_of_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
