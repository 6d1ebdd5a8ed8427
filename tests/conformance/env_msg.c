/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs of connected endpoints inside one process. */
#include "conformance.h"

void cf_need_connected(void)
{
	if (cf_target.type != FI_EP_MSG)
		SKIP("needs connected endpoints");
}

size_t cf_listen(struct cf_env *env, void *name, size_t size)
{
	size_t len = size;

	CHECK_OK(fi_passive_ep(env->fabric, env->info, &env->pep, NULL));
	CHECK_OK(fi_pep_bind(env->pep, &env->eq->fid, 0));
	CHECK_OK(fi_listen(env->pep));
	CHECK_OK(fi_getname(&env->pep->fid, name, &len));
	return len;
}

/* The result of fi_eq_read that ends the wait. Queues are read on the way, since with
 * manual progress any of them may be what drives the connection. */
static ssize_t next_event(struct cf_env *env, uint32_t *event, struct cf_cm_event *cm)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	do {
		ret = fi_eq_read(env->eq, event, cm, sizeof(*cm), 0);
		if (ret != -FI_EAGAIN)
			return ret;
		for (int i = 0; i < 2; i++) {
			if (env->side[i].tx_cq)
				(void)fi_cq_read(env->side[i].tx_cq, NULL, 0);
			if (env->side[i].rx_cq)
				(void)fi_cq_read(env->side[i].rx_cq, NULL, 0);
		}
	} while (cf_now_ms() < deadline);
	cf_fail(__FILE__, __LINE__, "no event came");
}

size_t cf_eq_wait(struct cf_env *env, uint32_t wanted, struct cf_cm_event *event)
{
	struct fi_eq_err_entry err = { 0 };
	uint32_t kind = 0;
	ssize_t ret = next_event(env, &kind, event);

	if (ret == -FI_EAVAIL) {
		(void)fi_eq_readerr(env->eq, &err, 0);
		cf_fail(__FILE__, __LINE__, "event is an error: %s",
			fi_strerror(err.err));
	}
	if (kind != wanted)
		cf_fail(__FILE__, __LINE__, "event is %u, wanted %u", kind, wanted);
	CHECK(ret >= (ssize_t)sizeof(event->entry));
	return (size_t)ret - sizeof(event->entry);
}

void cf_eq_wait_err(struct cf_env *env, struct fi_eq_err_entry *err)
{
	struct cf_cm_event event;
	uint32_t kind = 0;

	CHECK_EQ(next_event(env, &kind, &event), -FI_EAVAIL);
	CHECK_EQ(fi_eq_readerr(env->eq, err, 0), sizeof(*err));
}

void cf_eq_quiet(struct cf_env *env)
{
	struct cf_cm_event event;
	uint32_t kind;

	for (int i = 0; i < 100; i++) {
		CHECK_EQ(fi_eq_read(env->eq, &kind, &event, sizeof(event), 0),
			-FI_EAGAIN);
		cf_progress();
	}
}

void cf_connect_pair(struct cf_env *env, const struct cf_options *options)
{
	struct cf_cm_event event;
	struct fi_info *request;
	bool connected[2] = { false, false };
	char name[256];

	(void)cf_listen(env, name, sizeof(name));
	cf_open_side(env, &env->side[0], env->info, options);
	CHECK_OK(fi_connect(env->side[0].ep, name, NULL, 0));
	(void)cf_eq_wait(env, FI_CONNREQ, &event);
	request = event.entry.info;
	CHECK(event.entry.fid == &env->pep->fid && request);
	cf_open_other_side(env, request, options);
	CHECK_OK(fi_accept(env->side[1].ep, NULL, 0));
	fi_freeinfo(request);
	for (int i = 0; i < 2; i++) {
		int side;

		(void)cf_eq_wait(env, FI_CONNECTED, &event);
		side = event.entry.fid == &env->side[1].ep->fid;
		CHECK(event.entry.fid == &env->side[side].ep->fid);
		CHECK(!connected[side]);
		connected[side] = true;
	}
}
