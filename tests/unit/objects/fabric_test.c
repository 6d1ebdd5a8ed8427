/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include "shortage.h"

#include "objects/eq/eq.h"

static void fabric_open_checks_its_arguments(void **state)
{
	struct fi_fabric_attr attr = { .prov_name = (char *)"fake" };
	struct fid_fabric *fabric = NULL;

	/* FAB-001 */
	assert_int_equal(wf_fabric_open(&fake_prov, NULL, &fabric, NULL), -FI_EINVAL);
	assert_int_equal(wf_fabric_open(&fake_prov, &attr, &fabric, NULL), -FI_EINVAL);
	assert_null(fabric);
}

static void fabric_keeps_version_and_context(void **state)
{
	struct fi_fabric_attr attr = { .name = (char *)"net",
		.api_version = FI_VERSION(1, 4) };
	struct fid_fabric *fabric;
	int context;

	assert_int_equal(wf_fabric_open(&fake_prov, &attr, &fabric, &context), 0);
	/* FAB-004, VER-015 */
	assert_int_equal(fabric->api_version, FI_VERSION(1, 4));
	assert_int_equal(fabric->fid.fclass, FI_CLASS_FABRIC);
	assert_ptr_equal(fabric->fid.context, &context);
	assert_closed(fabric);
}

static void fabric_close_waits_for_its_objects(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_eq_attr eq_attr = { 0 };
	struct fi_wait_attr wait_attr = { .wait_obj = FI_WAIT_FD };
	struct fid_eq *eq;
	struct fid_wait *wait;

	/* FAB-006, VER-018 */
	assert_busy(fabric);
	assert_closed(domain);
	assert_int_equal(fi_eq_open(fabric, &eq_attr, &eq, NULL), 0);
	assert_busy(fabric);
	assert_closed(eq);
	assert_int_equal(fabric->ops->wait_open(fabric, &wait_attr, &wait), 0);
	assert_busy(fabric);
	assert_closed(wait);
	assert_closed(fabric);
}

static void the_first_open_instance_is_found(void **state)
{
	struct fid_fabric *first, *second;
	struct fid_domain *one, *two;

	assert_null(wf_fabric_find(&fake_prov, "net"));
	first = fake_fabric(FI_VERSION(2, 6));
	second = fake_fabric(FI_VERSION(2, 6));
	/* GI-052 */
	assert_ptr_equal(wf_fabric_find(&fake_prov, "net"), first);
	assert_null(wf_fabric_find(&fake_prov, "other"));

	/* GI-053 */
	assert_null(wf_domain_find(&fake_prov, "net", "fake0"));
	one = fake_domain(second);
	two = fake_domain(first);
	assert_ptr_equal(wf_domain_find(&fake_prov, "net", "fake0"), one);
	assert_null(wf_domain_find(&fake_prov, "net", "fake1"));
	assert_null(wf_domain_find(&fake_prov, "other", "fake0"));
	assert_closed(one);
	assert_ptr_equal(wf_domain_find(&fake_prov, "net", "fake0"), two);
	assert_closed(two);

	assert_closed(first);
	assert_ptr_equal(wf_fabric_find(&fake_prov, "net"), second);
	assert_closed(second);
}

static void what_a_provider_lacks_is_refused(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_atomic_attr attr;
	struct fid_pep *pep;
	struct fid_ep *ep;
	void *ops;

	/* VER-017 */
	assert_int_equal(fi_passive_ep(fabric, info, &pep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_passive_ep(fabric, NULL, &pep, NULL), -FI_EINVAL);
	assert_int_equal(fi_endpoint(domain, info, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_scalable_ep(domain, info, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(domain->ops->query_atomic(domain, FI_INT8, FI_SUM, &attr, 0),
		-FI_ENOSYS);
	/* FAB-015, FAB-020, OPT-018 */
	assert_int_equal(
		fi_open_ops(&domain->fid, "nothing", 0, &ops, NULL), -FI_ENOSYS);
	assert_int_equal(fi_control(&domain->fid, FI_ALIAS, NULL), -FI_ENOSYS);
	assert_int_equal(fi_control(&fabric->fid, 4711, NULL), -FI_ENOSYS);
	fi_freeinfo(info);
	assert_closed(domain);
	assert_closed(fabric);
}

static void domain_open_checks_its_arguments(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fi_peer_domain_context peer = { .size = sizeof(peer) };
	struct fid_domain *domain = NULL, *imported = NULL;

	assert_int_equal(fi_domain(fabric, NULL, &domain, NULL), -FI_EINVAL);
	/* FAB-009, FAB-010 */
	assert_int_equal(fi_domain2(fabric, info, &domain, FI_PEER, &peer), -FI_EINVAL);
	assert_int_equal(
		fi_domain2(fabric, info, &domain, FI_WRITE, &peer), -FI_EINVAL);
	/* FAB-008: attributes that the provider does not offer. */
	fake_check_answer = -FI_ENODATA;
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), -FI_ENODATA);
	fake_check_answer = 0;
	assert_null(domain);

	assert_int_equal(fi_domain2(fabric, info, &domain, 0, &peer), 0);
	assert_ptr_equal(domain->fid.context, &peer);
	assert_int_equal(domain->fid.fclass, FI_CLASS_DOMAIN);

	/* P-02 to P-04, P-45 */
	peer.domain = domain;
	peer.size--;
	assert_int_equal(
		fi_domain2(fabric, info, &imported, FI_PEER, &peer), -FI_EINVAL);
	assert_int_equal(
		fi_domain2(fabric, info, &imported, FI_PEER, NULL), -FI_EINVAL);
	peer.size = sizeof(peer);
	assert_int_equal(fi_domain2(fabric, info, &imported, FI_PEER | FI_WRITE, &peer),
		-FI_EINVAL);
	assert_int_equal(fi_domain2(fabric, info, &imported, FI_PEER, &peer), 0);
	memset(&peer, 0xee, sizeof(peer));
	assert_ptr_equal(imported->fid.context, domain);
	assert_ptr_equal(wf_domain_of(imported)->peer, domain);
	/* P-08: the owner's is not touched. */
	assert_closed(imported);
	fi_freeinfo(info);
	assert_closed(domain);
	assert_closed(fabric);
}

static void lock_follows_threading_and_progress(void **state)
{
	static const struct {
		enum fi_threading threading;
		enum fi_progress progress;
		enum fi_threading became;
		bool serialised; /* by the application: no locks */
	} rows[] = {
		{ FI_THREAD_UNSPEC, FI_PROGRESS_MANUAL, FI_THREAD_SAFE, false },
		{ FI_THREAD_SAFE, FI_PROGRESS_MANUAL, FI_THREAD_SAFE, false },
		{ FI_THREAD_FID, FI_PROGRESS_MANUAL, FI_THREAD_SAFE, false },
		{ FI_THREAD_ENDPOINT, FI_PROGRESS_MANUAL, FI_THREAD_SAFE, false },
		{ FI_THREAD_DOMAIN, FI_PROGRESS_MANUAL, FI_THREAD_DOMAIN, true },
		{ FI_THREAD_DOMAIN, FI_PROGRESS_CONTROL_UNIFIED, FI_THREAD_DOMAIN,
			true },
		{ FI_THREAD_COMPLETION, FI_PROGRESS_CONTROL_UNIFIED,
			FI_THREAD_COMPLETION, false },
		{ FI_THREAD_DOMAIN, FI_PROGRESS_AUTO, FI_THREAD_DOMAIN, false },
	};
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fid_domain *fid = fake_domain_of(
			fabric, fake_info(rows[i].threading, rows[i].progress));
		struct wf_domain *domain = wf_domain_of(fid);

		/* THR-001..004 */
		assert_int_equal(domain->threading, rows[i].became);
		assert_ptr_equal(domain->gate, rows[i].serialised && wf_gate_supported()
						       ? &domain->own_gate
						       : NULL);
		/* THR-006 */
		assert_int_equal(
			!!domain->thread, rows[i].progress == FI_PROGRESS_AUTO);
		/* THR-005: registration is a control call. */
		assert_ptr_equal(domain->mr_map.lock.gate,
			rows[i].progress == FI_PROGRESS_CONTROL_UNIFIED ? domain->gate
									: NULL);
		assert_int_equal(
			wf_domain_need_thread(domain), domain->gate ? -FI_ENOSYS : 0);
		assert_closed(fid);
	}
	assert_closed(fabric);
}

static void an_event_queue_binds_once(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_fabric *other = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_eq_attr attr = { 0 };
	struct fid_eq *eq, *foreign;

	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_eq_open(other, &attr, &foreign, NULL), 0);
	/* FAB-013 */
	assert_int_equal(fi_domain_bind(domain, &domain->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(domain, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(domain, &foreign->fid, 0), -FI_EINVAL);
	/* FAB-012: FI_REG_MR */
	assert_int_equal(fi_domain_bind(domain, &eq->fid, 1ull << 59), -FI_EBADFLAGS);
	/* FAB-011 */
	assert_int_equal(fi_domain_bind(domain, &eq->fid, 0), 0);
	assert_ptr_equal(wf_domain_of(domain)->eq, wf_eq_of(eq));
	assert_int_equal(fi_domain_bind(domain, &eq->fid, 0), -FI_EINVAL);
	/* EQ-024 */
	assert_busy(eq);
	assert_closed(domain);
	assert_closed(eq);
	assert_closed(foreign);
	assert_closed(other);
	assert_closed(fabric);
}

static ssize_t from_hmem(void *dest, size_t size, enum fi_hmem_iface iface,
	uint64_t device, const struct iovec *iov, size_t count, uint64_t offset)
{
	return (ssize_t)size;
}

static ssize_t to_hmem(enum fi_hmem_iface iface, uint64_t device,
	const struct iovec *iov, size_t count, uint64_t offset, const void *src,
	size_t size)
{
	return (ssize_t)size;
}

static void hmem_override_is_kept(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_hmem_override_ops ops = { .size = sizeof(ops),
		.copy_from_hmem_iov = from_hmem };
	const char *name = FI_SET_OPS_HMEM_OVERRIDE;

	/* FAB-017 */
	assert_int_equal(fi_set_ops(&domain->fid, "x", 0, &ops, NULL), -FI_ENOSYS);
	assert_int_equal(fi_set_ops(&fabric->fid, name, 0, &ops, NULL), -FI_ENOSYS);
	/* FAB-016 */
	assert_int_equal(fi_set_ops(&domain->fid, name, 0, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_set_ops(&domain->fid, name, 0, &ops, NULL), -FI_EINVAL);
	ops.copy_to_hmem_iov = to_hmem;
	ops.size = 8;
	assert_int_equal(fi_set_ops(&domain->fid, name, 0, &ops, NULL), -FI_EINVAL);
	ops.size = sizeof(ops);
	assert_int_equal(fi_set_ops(&domain->fid, name, 1, &ops, NULL), -FI_EINVAL);
	assert_int_equal(fi_set_ops(&domain->fid, name, 0, &ops, NULL), 0);
	/* FAB-018, FAB-019 */
	assert_ptr_equal(
		wf_domain_of(domain)->hmem_override.copy_from_hmem_iov, from_hmem);
	assert_ptr_equal(wf_domain_of(domain)->hmem_override.copy_to_hmem_iov, to_hmem);
	assert_closed(domain);
	assert_closed(fabric);
}

static void domain_close_waits_for_its_objects(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fi_poll_attr poll_attr = { 0 };
	struct fid_cntr *cntr;
	struct fid_poll *poll;
	struct fid_mr *mr;
	char byte;

	/* FAB-014, VER-018 */
	assert_int_equal(fi_cntr_open(domain, &cntr_attr, &cntr, NULL), 0);
	assert_busy(domain);
	assert_closed(cntr);
	assert_int_equal(domain->ops->poll_open(domain, &poll_attr, &poll), 0);
	assert_busy(domain);
	assert_closed(poll);
	assert_int_equal(fi_mr_reg(domain, &byte, 1, FI_SEND, 0, 0, 0, &mr, NULL), 0);
	assert_busy(domain);
	/* VER-019 */
	assert_closed(mr);
	assert_closed(domain);
	assert_closed(fabric);
}

static uint64_t ep_flags;

static int fake_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	ep_flags = flags;
	*ep = NULL;
	return 0;
}

static void endpoint_flags_are_checked(void **state)
{
	static const struct wf_prov prov = {
		.fi = &fake_fi, .default_domain = "fake0", .endpoint = fake_endpoint
	};
	struct fid_fabric *fabric = fake_fabric_of(&prov, FI_VERSION(2, 6));
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_domain *domain = fake_domain(fabric);
	struct fid_ep *ep;

	ep_flags = 1;
	assert_int_equal(fi_endpoint(domain, info, &ep, NULL), 0);
	assert_int_equal(ep_flags, 0);
	/* EP-003 */
	assert_int_equal(fi_endpoint2(domain, info, &ep, 0, NULL), 0);
	assert_int_equal(fi_endpoint2(domain, info, &ep, FI_PEER, NULL), -FI_EINVAL);
	assert_int_equal(fi_endpoint2(domain, info, &ep, FI_XPU, NULL), -FI_EINVAL);
	/* EP-002 */
	fake_check_answer = -FI_EINVAL;
	assert_int_equal(fi_endpoint(domain, info, &ep, NULL), -FI_EINVAL);
	fake_check_answer = 0;
	assert_closed(domain);

	/* EP-004 */
	info->caps |= FI_XPU;
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	assert_int_equal(fi_endpoint2(domain, info, &ep, FI_XPU, NULL), -FI_EINVAL);
	info->ep_attr->xpu_ctx = (struct fid_xpu_ctx *)info;
	assert_int_equal(fi_endpoint2(domain, info, &ep, FI_XPU, NULL), 0);
	assert_int_equal(ep_flags, FI_XPU);
	info->ep_attr->xpu_ctx = NULL;
	fi_freeinfo(info);
	assert_closed(domain);
	assert_closed(fabric);
}

static struct fi_info *ep_info;
static uint64_t ep_caps;
static int ep_result, ep_calls;

static int fake_endpoint_with_caps(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	ep_calls++;
	ep_info = info;
	ep_caps = info->caps;
	return ep_result;
}

/* With collectives the provider gets a copy of the attributes, with FI_COLLECTIVE. */
static void endpoints_keep_collectives(void **state)
{
	static const struct wf_prov prov = { .fi = &fake_fi,
		.default_domain = "fake0",
		.av_sets = true,
		.endpoint = fake_endpoint_with_caps };
	struct fid_fabric *fabric = fake_fabric_of(&prov, FI_VERSION(2, 6));
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_domain *domain;
	struct fid_ep *ep = NULL;

	info->ep_attr->type = FI_EP_RDM;
	info->caps = FI_MSG | FI_COLLECTIVE;
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	info->caps = FI_MSG;
	shortage_begin();
	assert_int_equal(fi_endpoint(domain, info, &ep, NULL), -FI_ENOMEM);
	(void)refuse_end();
	assert_int_equal(ep_calls, 0);
	ep_result = -FI_ENOSPC;
	assert_int_equal(fi_endpoint(domain, info, &ep, NULL), -FI_ENOSPC);
	assert_int_equal(ep_calls, 1);
	assert_int_equal(ep_caps, FI_MSG | FI_COLLECTIVE);
	assert_int_equal(info->caps, FI_MSG);
	assert_null(ep);
	/* Only reliable datagram endpoints have them. */
	info->ep_attr->type = FI_EP_DGRAM;
	assert_int_equal(fi_endpoint(domain, info, &ep, NULL), -FI_ENOSPC);
	assert_ptr_equal(ep_info, info);
	assert_int_equal(ep_caps, FI_MSG);
	ep_result = 0;
	fi_freeinfo(info);
	assert_closed(domain);
	assert_closed(fabric);
}

static int fake_scalable_ep(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **sep, void *context)
{
	ep_calls++;
	return -FI_ENOSPC;
}

static int fake_query_atomic(struct wf_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	attr->count = 7;
	return flags ? -FI_EBADFLAGS : 0;
}

static void missing_arguments_are_refused(void **state)
{
	static const struct wf_prov prov = { .fi = &fake_fi,
		.default_domain = "fake0",
		.endpoint = fake_endpoint,
		.scalable_ep = fake_scalable_ep,
		.query_atomic = fake_query_atomic };
	struct fid_fabric *fabric = fake_fabric_of(&prov, FI_VERSION(2, 6));
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_info bare = { .ep_attr = NULL };
	struct fi_atomic_attr attr = { 0 };
	struct fid_ep *ep;

	ep_calls = 0;
	assert_int_equal(fi_endpoint(domain, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_endpoint(domain, &bare, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_endpoint(domain, info, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_scalable_ep(domain, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_scalable_ep(domain, &bare, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_scalable_ep(domain, info, NULL, NULL), -FI_EINVAL);
	fake_check_answer = -FI_ENODATA;
	assert_int_equal(fi_scalable_ep(domain, info, &ep, NULL), -FI_ENODATA);
	fake_check_answer = 0;
	assert_int_equal(ep_calls, 0);
	assert_int_equal(fi_scalable_ep(domain, info, &ep, NULL), -FI_ENOSPC);
	assert_int_equal(ep_calls, 1);
	assert_int_equal(domain->ops->query_atomic(domain, FI_INT8, FI_SUM, NULL, 0),
		-FI_EINVAL);
	assert_int_equal(
		domain->ops->query_atomic(domain, FI_INT8, FI_SUM, &attr, 0), 0);
	assert_int_equal(attr.count, 7);
	assert_int_equal(fi_set_ops(&domain->fid, NULL, 0, &attr, NULL), -FI_EINVAL);
	assert_int_equal(fi_set_ops(&domain->fid, "other", 0, &attr, NULL), -FI_ENOSYS);
	fi_freeinfo(info);
	assert_closed(domain);
	assert_closed(fabric);
}

static int inits, dones;

static int fake_init(struct wf_domain *domain, const struct fi_info *info)
{
	inits++;
	return inits == 1 ? -FI_ENODEV : 0;
}

static void fake_done(struct wf_domain *domain)
{
	dones++;
}

static void provider_sees_opening_and_closing(void **state)
{
	static const struct wf_prov prov = {
		.fi = &fake_fi, .domain_init = fake_init, .domain_done = fake_done
	};
	struct fid_fabric *fabric = fake_fabric_of(&prov, FI_VERSION(2, 6));
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_AUTO);
	struct fid_domain *domain;

	assert_int_equal(fi_domain(fabric, info, &domain, NULL), -FI_ENODEV);
	assert_int_equal(dones, 0);
	domain = fake_domain_of(fabric, info);
	assert_closed(domain);
	assert_int_equal(inits, 2);
	assert_int_equal(dones, 1);
	assert_closed(fabric);
}

static ssize_t open_domain(void *arg)
{
	struct fid_fabric *fabric = arg;
	struct fid_domain *domain = NULL;
	struct fi_info *info;
	ssize_t ret;

	PREPARE(info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_AUTO));
	ret = fi_domain(fabric, info, &domain, NULL);
	(void)refuse_end();
	fi_freeinfo(info);
	assert_int_equal(atomic_load(&wf_fabric_of(fabric)->refs), !ret);
	if (!ret)
		assert_closed(domain);
	else
		assert_null(domain);
	return ret;
}

static ssize_t open_fabric(void *arg)
{
	struct fi_fabric_attr *attr = arg;
	struct fid_fabric *fabric = NULL;
	ssize_t ret = wf_fabric_open(&fake_prov, attr, &fabric, NULL);

	(void)refuse_end();
	if (!ret)
		assert_closed(fabric);
	else
		assert_null(fabric);
	return ret;
}

static void opening_without_memory(void **state)
{
	struct fi_fabric_attr attr = { .name = (char *)"net",
		.prov_name = (char *)"fake",
		.api_version = FI_VERSION(2, 6) };
	struct fid_fabric *fabric;

	(void)state;
	assert_int_equal(shortage_each(open_fabric, &attr), 2);
	fabric = fake_fabric(FI_VERSION(2, 6));
	assert_true(shortage_each(open_domain, fabric) >= 9);
	assert_true(shortage_each_short(open_domain, fabric) >= 9);
	assert_int_equal(shortage_each_short(open_fabric, &attr), 2);
	assert_closed(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fabric_open_checks_its_arguments),
		cmocka_unit_test(fabric_keeps_version_and_context),
		cmocka_unit_test(fabric_close_waits_for_its_objects),
		cmocka_unit_test(the_first_open_instance_is_found),
		cmocka_unit_test(what_a_provider_lacks_is_refused),
		cmocka_unit_test(domain_open_checks_its_arguments),
		cmocka_unit_test(lock_follows_threading_and_progress),
		cmocka_unit_test(an_event_queue_binds_once),
		cmocka_unit_test(hmem_override_is_kept),
		cmocka_unit_test(domain_close_waits_for_its_objects),
		cmocka_unit_test(endpoint_flags_are_checked),
		cmocka_unit_test(endpoints_keep_collectives),
		cmocka_unit_test(missing_arguments_are_refused),
		cmocka_unit_test(provider_sees_opening_and_closing),
		cmocka_unit_test(opening_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
