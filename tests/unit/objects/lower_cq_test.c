/* SPDX-License-Identifier: BSD-2-Clause */
#include "domain_fixture.h"

#include "objects/lower/cq.h"
#include "objects/lower/wait.h"

/* A completion queue below, of this library and of another one. */

static unsigned int opened, no_fd, read_calls, closed;

static int close_foreign(struct fid *fid)
{
	(void)fid;
	closed++;
	return 0;
}

static int control_foreign(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

static ssize_t read_foreign(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_tagged_entry *entry = buf;

	(void)cq;
	assert_int_equal(count, 3);
	entry->len = 77;
	read_calls++;
	return 1;
}

static struct fi_ops foreign_fid_ops = {
	.size = sizeof(foreign_fid_ops),
	.close = close_foreign,
	.control = control_foreign,
};
static struct fi_ops_cq foreign_ops = {
	.size = sizeof(foreign_ops),
	.read = read_foreign,
};
static struct fid_cq foreign = {
	.fid = { .fclass = FI_CLASS_CQ, .ops = &foreign_fid_ops },
	.ops = &foreign_ops,
};

static int open_foreign(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	(void)domain;
	(void)context;
	assert_int_equal(attr->format, FI_CQ_FORMAT_TAGGED);
	opened++;
	if (attr->wait_obj == FI_WAIT_FD) {
		no_fd++;
		return -FI_ENOSYS;
	}
	assert_int_equal(attr->wait_obj, FI_WAIT_NONE);
	*ret_cq = &foreign;
	return 0;
}

static const struct fi_cq_attr with_fd = { .format = FI_CQ_FORMAT_TAGGED,
	.wait_obj = FI_WAIT_FD };

static void test_foreign(void **state)
{
	struct fi_ops_domain ops = { .size = sizeof(ops), .cq_open = open_foreign };
	struct fid_domain domain = { .ops = &ops };
	struct domain_fixture *f = *state;
	const struct wf_lower_domain below = {
		.above = &f->fi, .name = "sim", .domain = &domain
	};
	struct wf_lower_cq cq = { .fid = NULL };
	struct fi_cq_tagged_entry entry[3];

	/* It has no descriptors, so the second try is one without. */
	assert_int_equal(wf_lower_cq_open(&cq, &below, &with_fd), 0);
	assert_ptr_equal(cq.fid, &foreign);
	assert_null(cq.builtin);
	assert_false(cq.has_fd);
	assert_int_equal(opened, 2);
	assert_int_equal(no_fd, 1);
	assert_int_equal(wf_lower_cq_open(&cq, &below, &with_fd), 0);
	assert_int_equal(opened, 2);
	/* Only a read shows whether there is anything. */
	assert_true(wf_lower_cq_poll(&cq));
	assert_int_equal(read_calls, 0);
	assert_int_equal(wf_lower_cq_read(&cq, entry, 3), 1);
	assert_int_equal(entry[0].len, 77);
	assert_int_equal(read_calls, 1);
	assert_false(wf_lower_cq_moved(&cq));
	wf_lower_cq_close(&cq, &below);
	wf_lower_cq_close(&cq, &below);
	assert_int_equal(closed, 1);
	assert_null(cq.fid);
}

/* An endpoint below: each run reports one completion. */
static unsigned int runs;
static struct wf_lower_cq own;

static void run(struct wf_progress *item)
{
	runs++;
	assert_int_equal(wf_cq_write(own.builtin, item, FI_RECV, runs, NULL, 0, 0,
				 FI_ADDR_NOTAVAIL),
		0);
	wf_progress_found(item, true);
}

static void test_builtin(void **state)
{
	struct fi_ops_domain ops = { .size = sizeof(ops), .cq_open = wf_cq_open };
	struct domain_fixture *f = *state;
	const struct wf_lower_domain below = {
		.above = &f->fi, .name = "sim", .domain = &f->domain.fid
	};
	const struct fi_cq_err_entry err = { .err = FI_EIO };
	struct wf_progress item = { .run = run };
	struct fi_cq_tagged_entry entry[3];
	struct fi_cq_err_entry got = { 0 };

	f->domain.fid.ops = &ops;
	assert_int_equal(wf_lower_cq_open(&own, &below, &with_fd), 0);
	assert_ptr_equal(&own.builtin->fid, own.fid);
	assert_true(own.has_fd);
	assert_non_null(wf_wait_fds(&own.builtin->wait));
	assert_false(wf_lower_cq_poll(&own));
	assert_false(wf_lower_cq_moved(&own));
	assert_int_equal(wf_lower_cq_read(&own, entry, 3), -FI_EAGAIN);
	assert_int_equal(wf_progress_list_add(&own.builtin->progress, &item), 0);
	/* Progress is made once, because there is an entry then, and by no read. */
	assert_true(wf_lower_cq_poll(&own));
	assert_true(wf_lower_cq_poll(&own));
	assert_int_equal(runs, 1);
	assert_true(wf_lower_cq_moved(&own));
	assert_int_equal(wf_lower_cq_read(&own, entry, 3), 1);
	assert_int_equal(runs, 1);
	assert_ptr_equal(entry[0].op_context, &item);
	assert_int_equal(entry[0].len, 1);
	assert_true(wf_lower_cq_poll(&own));
	assert_int_equal(runs, 2);
	assert_int_equal(wf_lower_cq_read(&own, entry, 3), 1);
	assert_int_equal(entry[0].len, 2);
	wf_progress_list_del(&own.builtin->progress, &item);
	assert_int_equal(wf_cq_write_err(own.builtin, &err), 0);
	assert_true(wf_lower_cq_poll(&own));
	assert_int_equal(wf_lower_cq_read(&own, entry, 3), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(own.fid, &got, 0), 1);
	assert_int_equal(got.err, FI_EIO);
	assert_false(wf_lower_cq_poll(&own));
	wf_lower_cq_close(&own, &below);
	assert_null(own.builtin);
}

/* ---- the descriptor of a queue of another library ---- */

static int getwait_err, getwait_fd;
static unsigned int getwaits;

static int control_getwait(struct fid *fid, int command, void *arg)
{
	assert_int_equal(command, FI_GETWAIT);
	getwaits++;
	if (!getwait_err)
		*(int *)arg = getwait_fd;
	return getwait_err;
}

static int listed(struct wf_fds *fds)
{
	struct pollfd at[4];
	struct fi_wait_pollfd list = { .nfds = 4, .fd = at };

	assert_int_equal(wf_fds_list(fds, &list), 0);
	if (list.nfds)
		assert_int_equal(at[0].fd, getwait_fd);
	return (int)list.nfds;
}

static void test_foreign_wait(void **state)
{
	struct fi_ops fid_ops = { .size = sizeof(fid_ops), .control = control_getwait };
	struct fid_cq queue = { .fid = { .fclass = FI_CLASS_CQ, .ops = &fid_ops } };
	struct wf_lower_wait wait = { .fds = NULL };
	struct wf_fds fds = { 0 };

	wf_fds_init(&fds);
	getwait_fd = 1;
	getwait_err = -FI_ENODATA;
	assert_int_equal(wf_lower_wait_add(&wait, &queue.fid, &fds), -FI_ENODATA);
	assert_null(wait.fds);
	assert_int_equal(listed(&fds), 0);
	wf_lower_wait_del(&wait);
	getwait_err = 0;
	assert_int_equal(wf_lower_wait_add(&wait, &queue.fid, &fds), 0);
	assert_ptr_equal(wait.fds, &fds);
	assert_int_equal(wait.fd, 1);
	assert_int_equal(listed(&fds), 1);
	assert_int_equal(getwaits, 2);
	/* It is there already. */
	assert_int_equal(wf_lower_wait_add(&wait, &queue.fid, &fds), 0);
	assert_int_equal(getwaits, 2);
	wf_lower_wait_del(&wait);
	assert_null(wait.fds);
	assert_int_equal(listed(&fds), 0);
	wf_lower_wait_del(&wait);
	/* An event queue is asked in the same way. */
	queue.fid.fclass = FI_CLASS_EQ;
	assert_int_equal(wf_lower_wait_add(&wait, &queue.fid, &fds), 0);
	assert_int_equal(listed(&fds), 1);
	wf_lower_wait_del(&wait);
	assert_int_equal(listed(&fds), 0);
	wf_fds_done(&fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_foreign),
		DOMAIN_TEST(test_builtin),
		DOMAIN_TEST(test_foreign_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
