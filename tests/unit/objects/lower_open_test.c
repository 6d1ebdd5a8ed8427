/* SPDX-License-Identifier: BSD-2-Clause */
#include "lower_fake.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/inbox.h"
#include "objects/lower/info.h"
#include "objects/lower/progress.h"
#include "objects/lower/region.h"

/* Opening, binding and closing a provider below: order, and what a failure leaves. */

static const struct fi_provider above_fi = { .name = "above" };

/* The layered provider: its endpoint, and all that it has below. */
struct layer {
	struct fk_around around;
	struct fk *fk;
	struct fid_peer_cq port;
	struct fid plain_av, plain_eq;
	struct wf_lower_domain domain;
	struct wf_lower_ep ep;
};

static struct layer *new_layer(struct domain_fixture *f)
{
	struct layer *layer = calloc(1, sizeof(*layer));

	assert_non_null(layer);
	memset(&lower, 0, sizeof(lower));
	layer->around = fk_open_around(f);
	layer->fk = fk_open_enabled(&layer->around, 0);
	layer->plain_av.fclass = FI_CLASS_AV;
	layer->plain_eq.fclass = FI_CLASS_EQ;
	wf_cq_export(
		wf_container_of(layer->around.cq, struct wf_cq, fid), &layer->port);
	return layer;
}

static struct wf_cntr *cntr_of(struct layer *layer)
{
	return wf_container_of(layer->around.cntr, struct wf_cntr, fid);
}

/* All steps, up to the first that fails. */
static int build_up(struct layer *layer)
{
	struct wf_domain *wf = layer->fk->ep.domain;
	struct wf_lower_ep *ep = &layer->ep;
	struct fi_info *info = fk_info(0);
	int ret = 0;

	if (!layer->domain.info)
		ret = wf_lower_domain_open(&layer->domain, &above_fi, "sim:net",
			wf_lower_domain_info(info, wf));
	fi_freeinfo(info);
	if (!ret && !ep->fid)
		ret = wf_lower_ep_open(
			ep, &layer->domain, fi_dupinfo(layer->domain.info), layer);
	layer->fk->ep.inject_size = 7;
	layer->fk->ep.max_msg_size = 77;
	if (!ret)
		ret = wf_lower_ep_set_limits(ep, &layer->fk->ep);
	if (!ret)
		ret = wf_lower_ep_bind(ep, &layer->plain_av, 0);
	if (!ret)
		ret = wf_lower_ep_bind(ep, &layer->plain_eq, 0);
	if (!ret)
		ret = wf_lower_ep_import_cq(ep, &layer->port, FI_CQ_FORMAT_TAGGED,
			FI_TRANSMIT | FI_SELECTIVE_COMPLETION, false);
	if (!ret)
		ret = wf_lower_ep_import_cq(
			ep, &layer->port, FI_CQ_FORMAT_TAGGED, FI_RECV, false);
	if (!ret)
		ret = wf_lower_ep_import_cntr(ep, WF_CNTR_RECV, cntr_of(layer), NULL);
	if (!ret)
		ret = wf_lower_ep_import_srx(ep, &layer->fk->ep, NULL);
	return ret ? ret : wf_lower_ep_enable(ep);
}

static void tear_down(struct layer *layer)
{
	wf_lower_ep_close(&layer->ep);
	wf_lower_domain_close(&layer->domain);
	assert_null(layer->ep.fid);
	assert_null(layer->domain.info);
	assert_int_equal(lower.opened, 0);
}

/* Nothing refers to the objects above any more: all of them can be closed. */
static void free_layer(struct layer *layer)
{
	wf_cq_unexport(&layer->port);
	fk_close(layer->fk);
	fk_close_around(&layer->around);
	free(layer);
}

static const char all_steps[] =
	"fabric domain ep inject_size msg_size bind:av bind:eq cq bind cq bind cntr "
	"bind srx bind enable";
enum { STEPS = 16 };

static void test_order(void **state)
{
	struct layer *layer = new_layer(*state);

	assert_int_equal(build_up(layer), 0);
	assert_string_equal(lower.trace, all_steps);
	assert_int_equal(lower.calls, STEPS);
	assert_ptr_equal(layer->ep.fid->fid.context, layer);
	assert_null(layer->ep.builtin);
	assert_ptr_equal(layer->ep.cq, layer->ep.rx_cq);
	lower.trace[0] = '\0';
	/* What is done is not done again. */
	assert_int_equal(build_up(layer), 0);
	assert_string_equal(lower.trace, "inject_size msg_size");
	lower.trace[0] = '\0';
	tear_down(layer);
	assert_string_equal(lower.trace, "-ep -srx -cq -cq -cntr -domain -fabric");
	assert_int_equal(lower.lines, 0);
	/* Closing what is closed is nothing. */
	lower.trace[0] = '\0';
	tear_down(layer);
	assert_string_equal(lower.trace, "");
	free_layer(layer);
}

/* Each step fails once: one log line, and everything that was opened is closed. */
static void test_each_step_fails(void **state)
{
	for (unsigned int n = 1; n <= STEPS; n++) {
		struct layer *layer = new_layer(*state);

		lower.failed = n;
		assert_int_equal(build_up(layer), -FI_EIO);
		assert_int_equal(lower.calls, n);
		assert_int_equal(lower.lines, 1);
		assert_non_null(strstr(lower.line, "sim:net: "));
		assert_non_null(strstr(lower.line, fi_strerror(FI_EIO)));
		tear_down(layer);
		assert_int_equal(lower.lines, 1);
		free_layer(layer);
	}
}

/* Each step fails once, and the next attempt continues from there. */
static void test_each_step_is_repeated(void **state)
{
	for (unsigned int n = 1; n <= STEPS; n++) {
		struct layer *layer = new_layer(*state);

		lower.failed = n;
		assert_int_equal(build_up(layer), -FI_EIO);
		assert_int_equal(build_up(layer), 0);
		assert_true(layer->ep.enabled);
		assert_non_null(layer->ep.tx_cq);
		assert_non_null(layer->ep.rx_cq);
		assert_non_null(layer->ep.srx);
		assert_non_null(layer->ep.cntr[WF_CNTR_RECV].fid);
		/* Fabric, domain, endpoint, receive context, two queues, a counter. */
		assert_int_equal(lower.opened, 7);
		/* The AV, the EQ, two queues, the counter and the receive context, each
		 * of them once. */
		assert_int_equal(lower.bound, 6);
		tear_down(layer);
		free_layer(layer);
	}
}

/* What a provider below counts is counted above (fi_peer(3)), by the caller's
 * operations if it has some. */
static unsigned int own_counts;

static void own_inc(struct fid_peer_cntr *fid)
{
	assert_non_null(fid->fid.context);
	own_counts++;
}

static struct fi_ops_cntr_owner own_ops = {
	.size = sizeof(own_ops),
	.inc = own_inc,
};

static void test_counting(void **state)
{
	struct layer *layer = new_layer(*state);
	struct fid_peer_cntr *port;

	assert_int_equal(build_up(layer), 0);
	port = &layer->ep.cntr[WF_CNTR_RECV].port;
	port->owner_ops->inc(port);
	assert_int_equal(fi_cntr_read(layer->around.cntr), 1);
	assert_int_equal(wf_lower_ep_import_cntr(
				 &layer->ep, WF_CNTR_SEND, cntr_of(layer), &own_ops),
		0);
	port = &layer->ep.cntr[WF_CNTR_SEND].port;
	own_counts = 0;
	port->owner_ops->inc(port);
	assert_int_equal(own_counts, 1);
	assert_int_equal(fi_cntr_read(layer->around.cntr), 1);
	tear_down(layer);
	free_layer(layer);
}

/* A foreign endpoint is polled by its queue, never asked for a descriptor, and does not
 * keep a thread awake. */
static void test_foreign_progress(void **state)
{
	struct layer *layer = new_layer(*state);
	int ret;

	assert_int_equal(build_up(layer), 0);
	wf_lower_ep_close(&layer->ep);
	ret = wf_lower_ep_open(
		&layer->ep, &layer->domain, fi_dupinfo(layer->domain.info), NULL);
	assert_int_equal(ret, 0);
	assert_int_equal(wf_lower_ep_import_cq(&layer->ep, &layer->port,
				 FI_CQ_FORMAT_TAGGED, FI_RECV | FI_TRANSMIT, true),
		0);
	assert_int_equal(lower.cq_attr.wait_obj, FI_WAIT_NONE);
	assert_int_equal(lower.cq_attr.format, FI_CQ_FORMAT_TAGGED);
	assert_false(layer->ep.has_fd);
	assert_null(layer->ep.tx_cq);
	wf_lower_ep_poll(&layer->ep);
	assert_int_equal(lower.reads, 1);
	assert_int_equal(wf_lower_ep_watch(&layer->ep, NULL), 0);
	lower.trace[0] = '\0';
	assert_true(wf_lower_ep_may_sleep(&layer->ep));
	assert_string_equal(lower.trace, "");
	tear_down(layer);
	free_layer(layer);
}

/* An endpoint of this library is recognised, and its queue has a descriptor where a
 * thread may sleep and the queue can have one. */
static void test_builtin(void **state)
{
	for (int no_fd = 0; no_fd < 2; no_fd++) {
		struct layer *layer = new_layer(*state);
		struct fk *fk = fk_open(*state, fk_info(0));

		lower.ep = &fk->ep.fid;
		lower.no_fd = no_fd;
		assert_int_equal(wf_lower_domain_open(
					 &layer->domain, &above_fi, "fk", fk_info(0)),
			0);
		assert_int_equal(
			wf_lower_ep_open(&layer->ep, &layer->domain, fk_info(0), NULL),
			0);
		assert_ptr_equal(layer->ep.builtin, &fk->ep);
		/* It refuses a queue of another library, so the import fails. */
		assert_true(wf_lower_ep_import_cq(&layer->ep, &layer->port,
				    FI_CQ_FORMAT_MSG, FI_RECV, true) < 0);
		assert_int_equal(
			lower.cq_attr.wait_obj, no_fd ? FI_WAIT_NONE : FI_WAIT_FD);
		assert_null(layer->ep.cq);
		assert_false(layer->ep.has_fd);
		lower.ep = NULL;
		tear_down(layer);
		free_layer(layer);
	}
}

static unsigned int polls;

static void count_poll(struct wf_ep *ep)
{
	(void)ep;
	polls++;
}

/* Queues of this library, endpoints of the simulated provider. */
static struct fi_ops_domain mixed_ops = {
	.size = sizeof(mixed_ops),
	.endpoint = lower_endpoint,
	.cq_open = wf_cq_open,
};

/* The imported queue of an endpoint of this library has a descriptor if a thread may
 * sleep; the endpoint is run without a read of the queue. */
static void test_builtin_progress(void **state)
{
	struct domain_fixture *f = *state;

	for (int sleeps = 0; sleeps < 2; sleeps++) {
		struct layer *layer = new_layer(f);
		struct fk *fk = fk_open(f, fk_info(0));
		struct wf_xfer_ops xfer = fk_xfer_ops;
		struct epoll_event event;
		struct wf_fds fds;

		xfer.progress = count_poll;
		fk->ep.xfer = &xfer;
		lower.ep = &fk->ep.fid;
		f->domain.fid.ops = &mixed_ops;
		layer->domain = (struct wf_lower_domain){
			.above = &above_fi, .name = "fk", .domain = &f->domain.fid
		};
		assert_int_equal(
			wf_lower_ep_open(&layer->ep, &layer->domain, fk_info(0), NULL),
			0);
		assert_int_equal(wf_lower_ep_import_cq(&layer->ep, &layer->port,
					 FI_CQ_FORMAT_TAGGED, FI_RECV, sleeps),
			0);
		assert_int_equal(layer->ep.has_fd, sleeps);
		wf_fds_init(&fds);
		/* Twice: it is added once. */
		assert_int_equal(wf_lower_ep_watch(&layer->ep, &fds), 0);
		assert_int_equal(wf_lower_ep_watch(&layer->ep, &fds), 0);
		assert_int_equal(fds.count, sleeps);
		/* The descriptor is in the set, and quiet. */
		assert_int_equal(epoll_wait(wf_fds_open(&fds), &event, 1, 0), 0);
		polls = 0;
		wf_lower_ep_poll(&layer->ep);
		assert_int_equal(polls, 1);
		assert_int_equal(lower.reads, 0);
		wf_lower_ep_close(&layer->ep);
		assert_int_equal(fds.count, 0);
		wf_fds_done(&fds);
		free_layer(layer);
		f->domain.fid.ops = &wf_domain_ops;
	}
}

static int foreign_fd, foreign_ret;

static int foreign_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	assert_int_equal(command, FI_GETWAIT);
	*(int *)arg = foreign_fd;
	return foreign_ret;
}

/* The descriptor of a queue of another library, or why it has none. */
static void test_foreign_wait(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .control = foreign_control };
	struct fid_cq cq = { .fid = { .fclass = FI_CLASS_CQ, .ops = &ops } };
	struct wf_lower_wait wait = { .fds = NULL };
	struct epoll_event event;
	struct wf_fds fds;

	(void)state;
	wf_fds_init(&fds);
	foreign_fd = eventfd(1, EFD_CLOEXEC);
	foreign_ret = -FI_ENODATA;
	assert_int_equal(wf_lower_wait_add(&wait, &cq.fid, &fds), -FI_ENODATA);
	assert_int_equal(fds.count, 0);
	foreign_ret = 0;
	/* Twice: it is added once. */
	assert_int_equal(wf_lower_wait_add(&wait, &cq.fid, &fds), 0);
	assert_int_equal(wf_lower_wait_add(&wait, &cq.fid, &fds), 0);
	assert_int_equal(fds.count, 1);
	assert_int_equal(epoll_wait(wf_fds_open(&fds), &event, 1, 0), 1);
	assert_int_equal(event.data.fd, foreign_fd);
	wf_lower_wait_del(&wait);
	assert_int_equal(fds.count, 0);
	wf_lower_wait_del(&wait);
	assert_int_equal(close(foreign_fd), 0);
	wf_fds_done(&fds);
}

static void test_domain_info(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_info *below = fk_info(0), *info;
	struct fid_domain opened;

	below->domain_attr->domain = &opened;
	f->domain.threading = FI_THREAD_DOMAIN;
	f->domain.progress = FI_PROGRESS_MANUAL;
	f->domain_attr.mr_mode = FI_MR_ENDPOINT | FI_MR_PROV_KEY;
	info = wf_lower_domain_info(below, &f->domain);
	assert_int_equal(info->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(info->domain_attr->progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->control_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_ENDPOINT | FI_MR_PROV_KEY);
	assert_null(info->domain_attr->domain);
	fi_freeinfo(info);
	/* The progress thread is one more. */
	f->domain.progress = FI_PROGRESS_AUTO;
	f->domain_attr.mr_mode = 1;
	info = wf_lower_domain_info(below, &f->domain);
	assert_int_equal(info->domain_attr->threading, FI_THREAD_SAFE);
	assert_int_equal(info->domain_attr->progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->mr_mode,
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	fi_freeinfo(info);
	below->domain_attr->domain = NULL;
	fi_freeinfo(below);
	assert_int_equal(wf_lower_mr_mode(2), 0);
}

/* Limits are the smaller of both; what applies above is cleared. */
static void test_endpoint_info(void **state)
{
	struct fi_info *info = fk_info(0), *above = fk_info(0);

	(void)state;
	info->tx_attr->caps = info->rx_attr->caps = FI_MSG;
	info->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	info->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_RAW;
	above->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAW;
	above->mode = FI_CONTEXT;
	above->tx_attr->inject_size = 5;
	above->ep_attr->max_msg_size = 2000;
	wf_lower_info_fit(info, above);
	assert_int_equal(info->mode, FI_CONTEXT);
	assert_int_equal(info->tx_attr->caps | info->rx_attr->caps, 0);
	assert_int_equal(info->tx_attr->op_flags, 0);
	assert_int_equal(info->tx_attr->msg_order, FI_ORDER_SAS);
	assert_int_equal(info->tx_attr->inject_size, 5);
	assert_int_equal(info->ep_attr->max_msg_size, 1000);

	assert_true(wf_lower_info_set_source(info, "fi_ns://a-tail", 9, FI_ADDR_STR));
	assert_string_equal(info->src_addr, "fi_ns://a");
	assert_int_equal(info->src_addrlen, 10);
	assert_true(wf_lower_info_set_source(info, "\1\2\3", 3, FI_SOCKADDR_IN));
	assert_int_equal(info->src_addrlen, 3);
	fi_freeinfo(info);
	fi_freeinfo(above);
}

/* The fewest elements of all; what one of them cannot do is not offered (ATM-014). */
static void test_query_atomic(void **state)
{
	struct wf_lower_domain domains[3];
	struct fi_atomic_attr attr = { .count = 99 };

	(void)state;
	memset(&lower, 0, sizeof(lower));
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			wf_lower_domain_open(&domains[i], &above_fi, "sim", fk_info(0)),
			0);
	lower.atomic_count = 6;
	assert_int_equal(
		wf_lower_query_atomic(domains, 3, FI_UINT64, FI_SUM, &attr, 0), 0);
	assert_int_equal(attr.count, 4);
	lower.failed = lower.calls + 2;
	assert_int_equal(wf_lower_query_atomic(domains, 3, FI_UINT64, FI_SUM, &attr, 0),
		-FI_EIO);
	assert_int_equal(attr.count, 4);
	assert_int_equal(wf_lower_query_atomic(domains, 0, FI_UINT64, FI_SUM, &attr, 0),
		-FI_ENOSYS);
	for (int i = 0; i < 3; i++)
		wf_lower_domain_close(&domains[i]);
	assert_int_equal(lower.opened, 0);
}

/* A registration, its counter, a part of it, and each step that fails. */
static void test_region(void **state)
{
	struct iovec iov = { &lower, 1 };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .requested_key = 17, .context = &iov
	};

	for (unsigned int n = 0; n <= 3; n++) {
		struct layer *layer = new_layer(*state);
		struct wf_lower_region region = { .fid = NULL }, part = region;
		struct wf_cntr *cntr = cntr_of(layer);
		int ret;

		assert_int_equal(wf_lower_domain_open(
					 &layer->domain, &above_fi, "sim", fk_info(0)),
			0);
		lower.failed = n ? lower.calls + n : 0;
		ret = wf_lower_region_open(&region, &layer->domain, NULL, &attr, 0);
		assert_int_equal(ret, n == 1 ? -FI_EIO : 0);
		if (!ret)
			ret = wf_lower_region_bind_cntr(
				&region, &layer->domain, cntr, FI_REMOTE_WRITE);
		assert_int_equal(ret, n ? -FI_EIO : 0);
		assert_int_equal(lower.lines, n > 1);
		if (!n) {
			assert_int_equal(region.fid->key, 17);
			assert_null(lower.mr_attr.context);
			assert_int_equal(wf_lower_region_bind_cntr(&region,
						 &layer->domain, cntr, FI_REMOTE_READ),
				-FI_EBUSY);
			ret = wf_lower_region_open(
				&part, &layer->domain, &region, &attr, 0);
			assert_int_equal(ret, 0);
			assert_ptr_equal(lower.mr_attr.base_mr, region.fid);
			assert_string_equal(
				lower.trace, "fabric domain mr cntr bind mr");
		}
		lower.trace[0] = '\0';
		wf_lower_region_close(&part, &layer->domain);
		wf_lower_region_close(&region, &layer->domain);
		assert_string_equal(lower.trace, n == 0   ? "-mr -mr -cntr"
						 : n == 1 ? ""
							  : "-mr");
		tear_down(layer);
		free_layer(layer);
	}
}

/* Only an endpoint of this library whose transport has inboxes gets one. */
static void test_inbox(void **state)
{
	struct layer *layer = new_layer(*state);
	struct wf_xfer_ops xfer = *layer->fk->ep.xfer;
	struct wf_inbox_feed feed = { .inbox = NULL };
	struct wf_lower_ep own = { .builtin = &layer->fk->ep };

	assert_int_equal(build_up(layer), 0);
	assert_false(wf_lower_ep_use_inbox(&layer->ep, &feed));
	tear_down(layer);
	assert_false(wf_lower_ep_use_inbox(&own, &feed));
	assert_null(layer->fk->ep.inbox);
	xfer.inbox = true;
	layer->fk->ep.xfer = &xfer;
	assert_true(wf_lower_ep_use_inbox(&own, &feed));
	assert_ptr_equal(layer->fk->ep.inbox, &feed);
	free_layer(layer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_order),
		DOMAIN_TEST(test_each_step_fails),
		DOMAIN_TEST(test_each_step_is_repeated),
		DOMAIN_TEST(test_counting),
		DOMAIN_TEST(test_foreign_progress),
		DOMAIN_TEST(test_builtin),
		DOMAIN_TEST(test_builtin_progress),
		DOMAIN_TEST(test_foreign_wait),
		DOMAIN_TEST(test_domain_info),
		DOMAIN_TEST(test_endpoint_info),
		DOMAIN_TEST(test_query_atomic),
		DOMAIN_TEST(test_region),
		DOMAIN_TEST(test_inbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
