/* SPDX-License-Identifier: BSD-2-Clause */
/* What endpoints refuse, and what they do not have: codes, reasons, and what is left. */
#include "endpoint_fixture.h"

/* The calls that tell how many operations are possible are deprecated, and work. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>

#include "../../log_lines.h"

#include "objects/absent/absent.h"
#include "objects/endpoint/life/async.h"
#include "objects/eq/eq.h"
#include "objects/open/open.h"

static struct wf_xfer_ops ops;

static struct wf_ep *open_type(struct domain_fixture *f, enum fi_ep_type type)
{
	struct fi_info *info = new_info();
	struct wf_ep *ep;

	info->ep_attr->type = type;
	ep = &open_fake(f, info)->ep;
	ops = fake_ops;
	ep->xfer = &ops;
	return ep;
}

#define assert_refused(call, code, why)                                                \
	do {                                                                           \
		log_lines_start();                                                     \
		assert_int_equal(call, code);                                          \
		assert_true(log_lines_have(why));                                      \
	} while (0)

static void bindings(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct wf_ep *ep = open_type(f, FI_EP_MSG);
	struct around a = open_around(f);
	struct fid_eq *eq = NULL, *second = NULL, *foreign = NULL;
	struct wf_fabric fabric;

	memset(&fabric, 0, sizeof(fabric));
	fabric.prov = &f->prov;
	assert_int_equal(wf_eq_open(&f->fabric.fid, &eq_attr, &eq, NULL), 0);
	assert_int_equal(wf_eq_open(&f->fabric.fid, &eq_attr, &second, NULL), 0);
	assert_int_equal(wf_eq_open(&fabric.fid, &eq_attr, &foreign, NULL), 0);
	assert_refused(fi_ep_bind(&ep->fid, &a.av->fid, 0), -FI_EINVAL,
		"a connected endpoint has no AV (flags 0)");
	assert_refused(fi_ep_bind(&ep->fid, &eq->fid, FI_SEND), -FI_EBADFLAGS,
		"an EQ takes no flags (flags 0x800)");
	assert_refused(fi_ep_bind(&ep->fid, &foreign->fid, 0), -FI_EINVAL,
		"the EQ is of another fabric");
	assert_null(wf_ep_eq(ep));
	assert_int_equal(fi_ep_bind(&ep->fid, &eq->fid, 0), 0);
	assert_refused(fi_ep_bind(&ep->fid, &second->fid, 0), -FI_EINVAL,
		"an EQ is bound already");
	assert_ptr_equal(wf_ep_eq(ep), wf_eq_of(eq));
	assert_int_equal(fi_close(&second->fid), 0);
	assert_int_equal(fi_close(&foreign->fid), 0);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	close_ep(&ep->fid);
	assert_int_equal(fi_close(&eq->fid), 0);
	close_around(&a);
}

/* A counter alone may run an endpoint that neither sends nor receives. */
static void who_runs_a_target(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_info *info = new_info();
	struct around a = open_around(f);
	struct fid_ep *ep;

	info->caps = FI_RMA | FI_REMOTE_READ | FI_RMA_EVENT;
	ep = &open_fake(f, info)->ep.fid;
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_refused(fi_enable(ep), -FI_ENOCQ,
		"fi_enable: a CQ with FI_RECV, or a counter, must be bound first");
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_REMOTE_READ), 0);
	assert_int_equal(fi_enable(ep), 0);
	close_ep(ep);
	close_around(&a);
}

/* ---- counters that come late ---- */

static int bound_result, bounds;

static int cntr_bound(struct wf_ep *ep)
{
	bounds++;
	assert_non_null(ep->cntr[WF_CNTR_SEND]);
	/* No thread runs it meanwhile. */
	assert_int_equal(ep->tx_cq->progress.count, 0);
	return bound_result;
}

static void late_counters(void **state)
{
	struct around a;
	struct fid_ep *fid = open_enabled(*state, &a, new_info(), 0);
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_cntr *cntr = wf_cntr_of(a.cntr);

	ops = fake_ops;
	ops.cntr_bound = cntr_bound;
	ep->xfer = &ops;
	bounds = 0;
	bound_result = -FI_ENOMEM;
	assert_refused(fi_ep_bind(fid, &a.cntr->fid, FI_SEND | FI_WRITE), -FI_ENOMEM,
		"too late for that counter");
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		assert_null(ep->cntr[i]);
	assert_int_equal(cntr->refs, 0);
	assert_int_equal(cntr->progress.count, 0);
	assert_int_equal(wf_cq_of(a.cq)->progress.count, 1);
	bound_result = 0;
	assert_int_equal(fi_ep_bind(fid, &a.cntr->fid, FI_SEND | FI_WRITE), 0);
	assert_ptr_equal(ep->cntr[WF_CNTR_SEND], cntr);
	assert_ptr_equal(ep->cntr[WF_CNTR_WRITE], cntr);
	assert_null(ep->cntr[WF_CNTR_READ]);
	assert_int_equal(cntr->refs, 2);
	assert_int_equal(cntr->progress.count, 1);
	assert_int_equal(bounds, 2);
	close_ep(fid);
	assert_int_equal(cntr->refs, 0);
	close_around(&a);
}

/* ---- names and groups ---- */

static int joins;

static int set_name(struct wf_ep *ep, const void *addr, size_t len)
{
	(void)ep;
	return addr && len == 3 ? 0 : -FI_EINVAL;
}

static int get_name(struct wf_ep *ep, void *addr, size_t *len)
{
	(void)ep;
	(void)addr;
	*len = 5;
	return -FI_ETOOSMALL;
}

static int join(struct wf_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
	void *context)
{
	(void)ep;
	(void)addr;
	(void)mc;
	(void)context;
	joins++;
	return flags == 7 ? 0 : -FI_EBADFLAGS;
}

static void names_and_groups(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_ep *ep = open_type(f, FI_EP_DGRAM);
	struct fid_ep *fid = &ep->fid;
	struct around a = open_around(f);
	struct fid_mc *mc;
	size_t len = 9;
	char name[9];

	assert_int_equal(fi_setname(&fid->fid, name, 3), -FI_ENOSYS);
	assert_int_equal(fi_getname(&fid->fid, name, &len), -FI_ENOSYS);
	assert_int_equal(fi_join(fid, name, 7, &mc, NULL), -FI_ENOSYS);
	assert_int_equal(fi_join(fid, name, FI_COLLECTIVE, &mc, NULL), -FI_ENOSYS);
	ops.setname = set_name;
	ops.getname = get_name;
	ops.join = join;
	assert_int_equal(fi_join(fid, name, FI_COLLECTIVE, &mc, NULL), -FI_ENOSYS);
	ops.collective = &wf_absent_collective;
	assert_int_equal(fi_setname(&fid->fid, name, 3), 0);
	assert_int_equal(fi_getname(&fid->fid, name, NULL), -FI_EINVAL);
	assert_int_equal(fi_getname(&fid->fid, name, &len), -FI_ETOOSMALL);
	assert_int_equal(len, 5);
	joins = 0;
	assert_refused(fi_join(fid, name, 7, &mc, NULL), -FI_EOPBADSTATE,
		"fi_join: the endpoint is not enabled");
	assert_refused(fi_join(fid, name, FI_COLLECTIVE, &mc, NULL), -FI_EOPBADSTATE,
		"fi_join_collective: the endpoint is not enabled");
	assert_int_equal(joins, 0);
	assert_int_equal(fi_ep_bind(fid, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(fid, &a.av->fid, 0), 0);
	assert_int_equal(fi_enable(fid), 0);
	assert_refused(fi_setname(&fid->fid, name, 3), -FI_EOPBADSTATE,
		"fi_setname: the endpoint is enabled already");
	assert_int_equal(fi_join(fid, name, 7, &mc, NULL), 0);
	assert_int_equal(fi_join(fid, name, FI_COLLECTIVE, &mc, NULL), -FI_EBADFLAGS);
	assert_int_equal(joins, 2);
	close_ep(fid);
	close_around(&a);
}

/* ---- options, sizes, cancelling ---- */

static int get_option(struct wf_ep *ep, int name, void *val, size_t *len)
{
	(void)ep;
	(void)val;
	(void)len;
	return name == FI_OPT_CM_DATA_SIZE ? -FI_EBADF : -FI_ENOPROTOOPT;
}

static int set_option(struct wf_ep *ep, int name, const void *val, size_t len)
{
	(void)ep;
	(void)val;
	(void)len;
	return name == FI_OPT_CM_DATA_SIZE ? -FI_EBADF : -FI_ENOPROTOOPT;
}

static void options(void **state)
{
	struct wf_ep *ep = open_type(*state, FI_EP_DGRAM);
	struct fid *fid = &ep->fid.fid;
	size_t value = 9, len = sizeof(value);
	int p2p = -1, other = FI_OPT_ENDPOINT + 1;

	assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, 1, NULL, &len), -FI_EINVAL);
	assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, 1, &value, NULL), -FI_EINVAL);
	assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, 1, NULL, 8), -FI_EINVAL);
	assert_int_equal(
		fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &len), 0);
	assert_int_equal(p2p, FI_HMEM_P2P_DISABLED);
	assert_int_equal(len, sizeof(int));
	ops.getopt = get_option;
	ops.setopt = set_option;
	len = sizeof(value);
	assert_int_equal(
		fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &len),
		-FI_EBADF);
	assert_int_equal(
		fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, len),
		-FI_EBADF);
	/* The transport is asked for options of endpoints only. */
	assert_int_equal(fi_getopt(fid, other, FI_OPT_CM_DATA_SIZE, &value, &len),
		-FI_ENOPROTOOPT);
	assert_int_equal(fi_setopt(fid, other, FI_OPT_CM_DATA_SIZE, &value, len),
		-FI_ENOPROTOOPT);
	assert_int_equal(
		fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, len), 0);
	value = 0;
	assert_int_equal(
		fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len),
		0);
	assert_int_equal(value, 9);
	close_ep(&ep->fid);
}

static size_t six(struct wf_ep *ep)
{
	assert_false(wf_trylock(&ep->lock));
	return 6;
}

static int get_fd(struct wf_ep *ep, int *ret_fd)
{
	assert_false(wf_trylock(&ep->lock));
	*ret_fd = 17;
	return 0;
}

static void sizes_and_controls(void **state)
{
	struct wf_ep *ep = open_type(*state, FI_EP_DGRAM);
	struct fid *fid = &ep->fid.fid;
	uint64_t flags = FI_COMPLETION;
	int fd = -1;

	assert_int_equal(fi_rx_size_left(&ep->fid), -FI_ENOSYS);
	assert_int_equal(fi_tx_size_left(&ep->fid), -FI_ENOSYS);
	ops.rx_left = ops.tx_left = six;
	assert_int_equal(fi_rx_size_left(&ep->fid), -FI_EOPBADSTATE);
	assert_int_equal(fi_tx_size_left(&ep->fid), -FI_EOPBADSTATE);
	ep->enabled = true;
	assert_int_equal(fi_rx_size_left(&ep->fid), 6);
	assert_int_equal(fi_tx_size_left(&ep->fid), 6);
	ep->inherited = true;
	assert_int_equal(fi_tx_size_left(&ep->fid), -FI_EOPBADSTATE);
	assert_int_equal(fi_cancel(fid, ep), -FI_EOPBADSTATE);
	assert_int_equal(fi_enable(&ep->fid), -FI_EOPBADSTATE);
	ep->enabled = ep->inherited = false;
	ops.cancel = NULL;
	assert_int_equal(fi_cancel(fid, ep), -FI_ENOSYS);

	assert_int_equal(fi_control(fid, FI_GET_FD, NULL), -FI_EINVAL);
	assert_refused(fi_control(fid, FI_GET_FD, &fd), -FI_ENOSYS,
		"FI_GET_FD: no one descriptor carries the data of such an endpoint");
	ops.get_fd = get_fd;
	assert_int_equal(fi_control(fid, FI_GET_FD, &fd), 0);
	assert_int_equal(fd, 17);
	assert_true(wf_trylock(&ep->lock));
	wf_unlock(&ep->lock);
	assert_refused(fi_control(fid, FI_GETOPSFLAG, &flags), -FI_EINVAL,
		"exactly one of FI_TRANSMIT and FI_RECV is needed (0x1000000)");
	assert_int_equal(fi_control(fid, FI_GETOPSFLAG, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(fid, FI_SETOPSFLAG, NULL), -FI_EINVAL);
	flags = FI_RECV | FI_COMPLETION;
	assert_int_equal(fi_control(fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(ep->rx_op_flags, FI_COMPLETION);
	assert_int_equal(ep->tx_op_flags, 0);
	flags = FI_RECV;
	assert_int_equal(fi_control(fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_COMPLETION);
	assert_int_equal(fi_control(fid, FI_ALIAS, NULL), -FI_EINVAL);
	close_ep(&ep->fid);
}

static void alias_flags(void **state)
{
	struct wf_ep *ep = open_type(*state, FI_EP_DGRAM);
	struct fid_ep *alias = NULL;
	uint64_t flags = FI_COMPLETION;
	struct fi_alias open = { NULL, FI_TRANSMIT };

	assert_int_equal(fi_control(&ep->fid.fid, FI_ALIAS, &open), -FI_EINVAL);
	assert_int_equal(fi_ep_alias(&ep->fid, &alias, FI_RECV), 0);
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, &flags), -FI_EINVAL);
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, NULL), -FI_EINVAL);
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_RECV | FI_MORE;
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, &flags), 0);
	flags = FI_RECV;
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_MORE);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, 0);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_ep(&ep->fid);
}

/* ---- the background thread ---- */

static bool unfinished_result;

static bool unfinished(struct wf_ep *ep)
{
	assert_false(wf_trylock(&ep->lock));
	return unfinished_result;
}

static void what_is_unfinished(void **state)
{
	struct wf_ep *ep = open_type(*state, FI_EP_DGRAM);

	assert_false(wf_ep_unfinished(ep));
	ops.unfinished = unfinished;
	unfinished_result = true;
	assert_true(wf_ep_unfinished(ep));
	unfinished_result = false;
	assert_false(wf_ep_unfinished(ep));
	assert_true(wf_trylock(&ep->lock));
	wf_unlock(&ep->lock);
	close_ep(&ep->fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(bindings),
		DOMAIN_TEST(who_runs_a_target),
		DOMAIN_TEST(late_counters),
		DOMAIN_TEST(names_and_groups),
		DOMAIN_TEST(options),
		DOMAIN_TEST(sizes_and_controls),
		DOMAIN_TEST(alias_flags),
		DOMAIN_TEST(what_is_unfinished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
