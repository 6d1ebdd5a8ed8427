/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of endpoints that connect, over a transport that only records its calls:
 * their arguments, their order, and the events. */
#include "endpoint_fixture.h"

#include "objects/cm/cm.h"
#include "objects/eq/eq.h"

enum { DATA_SIZE = 20, PORT = 4711, CODE = 77 };

struct sim_cm {
	struct wf_cm base;
	unsigned int runs, connects, accepts, shutdowns;
	int run_result, begin_result;
	size_t len;
	uint8_t data[DATA_SIZE];
};

static struct sim_cm *sim_of(struct wf_cm *cm)
{
	return wf_container_of(cm, struct sim_cm, base);
}

static int sim_run(struct wf_cm *cm, struct wf_eq *eq)
{
	assert_non_null(eq);
	sim_of(cm)->runs++;
	return sim_of(cm)->run_result;
}

static int begin(struct sim_cm *sim, const void *data, size_t len)
{
	assert_int_equal(sim->base.state, WF_CM_CONNECTING);
	assert_true(len <= sizeof(sim->data));
	sim->len = len;
	if (len)
		memcpy(sim->data, data, len);
	return sim->begin_result;
}

static int sim_connect(struct wf_cm *cm, const void *data, size_t len)
{
	sim_of(cm)->connects++;
	return begin(sim_of(cm), data, len);
}

static int sim_accept(struct wf_cm *cm, const void *data, size_t len)
{
	sim_of(cm)->accepts++;
	return begin(sim_of(cm), data, len);
}

static int sim_shutdown(struct wf_cm *cm)
{
	sim_of(cm)->shutdowns++;
	return cm->state == WF_CM_CONNECTED ? 0 : -FI_ENOTCONN;
}

static const struct wf_cm_ops sim_ops = {
	.data_size = DATA_SIZE,
	.run = sim_run,
	.connect = sim_connect,
	.accept = sim_accept,
	.shutdown = sim_shutdown,
};

struct env {
	struct fid_eq *eq;
	struct around around;
	struct fid_ep *ep;
	struct wf_lock lock;
	struct sim_cm sim;
};

static void open_env(struct env *env, struct domain_fixture *f, enum wf_cm_state state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_info *info = new_info();

	memset(env, 0, sizeof(*env));
	info->ep_attr->type = FI_EP_MSG;
	f->fabric.fid.api_version = f->domain.api_version;
	assert_int_equal(wf_eq_open(&f->fabric.fid, &attr, &env->eq, NULL), 0);
	env->around = open_around(f);
	env->ep = &open_fake(f, info)->ep.fid;
	assert_int_equal(
		fi_ep_bind(env->ep, &env->around.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	wf_lock_init(&env->lock, WF_LOCK_MUTEX);
	env->sim.base.state = state;
	wf_cm_init(&env->sim.base, &sim_ops, wf_ep_of(env->ep), &env->lock, AF_INET);
}

static void bind_eq(struct env *env)
{
	assert_int_equal(fi_ep_bind(env->ep, &env->eq->fid, 0), 0);
}

static void close_env(struct env *env)
{
	close_ep(env->ep);
	close_around(&env->around);
	assert_int_equal(fi_close(&env->eq->fid), 0);
	wf_lock_done(&env->lock);
}

static struct sockaddr_in somewhere(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void nothing_is_told(struct env *env)
{
	uint8_t bytes[512];
	uint32_t event;

	assert_int_equal(
		fi_eq_read(env->eq, &event, bytes, sizeof(bytes), 0), -FI_EAGAIN);
}

static void error_is_told(struct env *env, int err, const char *data)
{
	uint8_t seen[WF_CM_DATA_MAX];
	struct fi_eq_err_entry entry = { .err_data = seen,
		.err_data_size = sizeof(seen) };

	assert_int_equal(fi_eq_readerr(env->eq, &entry, 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &env->ep->fid);
	assert_ptr_equal(entry.context, env->ep->fid.context);
	assert_int_equal(entry.err, err);
	assert_int_equal(entry.err_data_size, strlen(data));
	assert_memory_equal(seen, data, strlen(data));
	assert_int_equal(env->sim.base.state, WF_CM_DOWN);
	nothing_is_told(env);
}

/* CM-008: an endpoint is enabled on the way. */
static void connecting_needs_an_event_queue(void **state)
{
	struct sockaddr_in to = somewhere();
	struct env env;

	open_env(&env, *state, WF_CM_NEW);
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), -FI_ENOEQ);
	assert_int_equal(of(env.ep)->enables, 0);
	bind_eq(&env);
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), 0);
	assert_int_equal(of(env.ep)->enables, 1);
	assert_int_equal(env.sim.runs, 1);
	assert_ptr_equal(env.sim.base.eq, wf_eq_of(env.eq));
	close_env(&env);
}

static void what_cannot_run_does_not_begin(void **state)
{
	struct sockaddr_in to = somewhere();
	struct env env;

	open_env(&env, *state, WF_CM_NEW);
	bind_eq(&env);
	env.sim.run_result = -FI_ENOMEM;
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), -FI_ENOMEM);
	assert_null(env.sim.base.eq);
	assert_int_equal(env.sim.connects, 0);
	of(env.ep)->enable_result = -FI_ENOMEM;
	env.sim.run_result = 0;
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), 0);
	assert_int_equal(env.sim.runs, 2);
	close_env(&env);
}

/* CM-007, CM-015, CM-027 */
static void an_endpoint_connects_once(void **state)
{
	struct sockaddr_in to = somewhere(), peer;
	size_t len = sizeof(peer);
	uint8_t data[DATA_SIZE + 1];
	struct env env;

	memset(data, 3, sizeof(data));
	open_env(&env, *state, WF_CM_NEW);
	bind_eq(&env);
	assert_int_equal(fi_getpeer(env.ep, &peer, &len), -FI_ENOTCONN);
	assert_int_equal(fi_accept(env.ep, NULL, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_connect(env.ep, &to, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_connect(env.ep, &to, data, sizeof(data)), -FI_EINVAL);
	assert_int_equal(env.sim.base.state, WF_CM_NEW);
	assert_int_equal(fi_connect(env.ep, &to, data, DATA_SIZE), 0);
	assert_true(env.sim.base.active);
	assert_int_equal(env.sim.base.state, WF_CM_CONNECTING);
	assert_int_equal(env.sim.len, DATA_SIZE);
	assert_memory_equal(env.sim.data, data, DATA_SIZE);
	assert_int_equal(fi_connect(env.ep, &to, data, 1), -FI_EOPBADSTATE);
	assert_int_equal(env.sim.connects, 1);
	assert_int_equal(env.sim.runs, 1);
	assert_int_equal(fi_getpeer(env.ep, &peer, &len), 0);
	assert_int_equal(len, sizeof(peer));
	assert_int_equal(ntohs(peer.sin_port), PORT);
	assert_int_equal(fi_getpeer(env.ep, NULL, &len), -FI_EINVAL);
	nothing_is_told(&env);
	close_env(&env);
}

static void set_dest(struct fid_ep *ep, const void *addr, size_t len)
{
	struct fi_info *info = of(ep)->ep.info;

	free(info->dest_addr);
	info->dest_addr = malloc(len);
	assert_non_null(info->dest_addr);
	info->dest_addrlen = len;
	memcpy(info->dest_addr, addr, len);
}

/* CM-009 */
static void a_wrong_address_changes_nothing(void **state)
{
	struct sockaddr_in6 other = { .sin6_family = AF_INET6 };
	struct sockaddr_in to = somewhere();
	struct env env;

	open_env(&env, *state, WF_CM_NEW);
	bind_eq(&env);
	assert_int_equal(fi_connect(env.ep, &other, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_connect(env.ep, NULL, NULL, 0), -FI_EINVAL);
	assert_int_equal(env.sim.base.state, WF_CM_NEW);
	assert_int_equal(of(env.ep)->enables, 0);
	set_dest(env.ep, &other, sizeof(other));
	assert_int_equal(fi_connect(env.ep, NULL, NULL, 0), -FI_EINVAL);
	set_dest(env.ep, &to, sizeof(to));
	assert_int_equal(fi_connect(env.ep, NULL, NULL, 0), 0);
	assert_int_equal(wf_sockaddr_port(&env.sim.base.peer), PORT);
	close_env(&env);
}

/* CM-010 */
static void a_request_is_accepted_once(void **state)
{
	struct sockaddr_in to = somewhere();
	struct env env;

	open_env(&env, *state, WF_CM_ASKED);
	assert_int_equal(fi_accept(env.ep, "a", 1), -FI_ENOEQ);
	bind_eq(&env);
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_accept(env.ep, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_accept(env.ep, "ab", 2), 0);
	assert_false(env.sim.base.active);
	assert_int_equal(env.sim.len, 2);
	assert_memory_equal(env.sim.data, "ab", 2);
	assert_int_equal(fi_accept(env.ep, "ab", 2), -FI_EOPBADSTATE);
	assert_int_equal(env.sim.accepts, 1);
	assert_int_equal(env.sim.connects, 0);
	assert_int_equal(env.sim.runs, 1);
	close_env(&env);
}

/* CM-014 */
static void a_failure_at_once_is_an_event(void **state)
{
	struct sockaddr_in to = somewhere();
	struct env env;

	open_env(&env, *state, WF_CM_NEW);
	bind_eq(&env);
	env.sim.begin_result = -FI_ENETUNREACH;
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), 0);
	error_is_told(&env, FI_ENETUNREACH, "");
	assert_int_equal(fi_connect(env.ep, &to, NULL, 0), -FI_EOPBADSTATE);
	close_env(&env);
}

/* CM-013 */
static void a_reject_has_its_data(void **state)
{
	struct env env;

	open_env(&env, *state, WF_CM_CONNECTING);
	wf_cm_failed(&env.sim.base, FI_ECONNREFUSED, CODE, "why", 3);
	bind_eq(&env);
	nothing_is_told(&env);
	wf_cm_failed(&env.sim.base, FI_ECONNREFUSED, CODE, "why", 3);
	error_is_told(&env, FI_ECONNREFUSED, "why");
	close_env(&env);
}

/* CM-012, CM-016 */
static void events_name_the_endpoint(void **state)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + WF_CM_DATA_MAX];
	} out;
	uint32_t event = 0;
	struct env env;

	open_env(&env, *state, WF_CM_CONNECTED);
	bind_eq(&env);
	wf_cm_tell(&env.sim.base, FI_CONNECTED, "abc", 3);
	wf_cm_tell(&env.sim.base, FI_SHUTDOWN, NULL, 0);
	assert_int_equal(fi_eq_read(env.eq, &event, &out, sizeof(out), 0),
		sizeof(out.entry) + 3);
	assert_int_equal(event, FI_CONNECTED);
	assert_ptr_equal(out.entry.fid, &env.ep->fid);
	assert_null(out.entry.info);
	assert_memory_equal(out.entry.data, "abc", 3);
	assert_int_equal(
		fi_eq_read(env.eq, &event, &out, sizeof(out), 0), sizeof(out.entry));
	assert_int_equal(event, FI_SHUTDOWN);
	close_env(&env);
}

/* CM-019, CM-037 */
static void shutdown_takes_no_flags(void **state)
{
	struct env env;

	open_env(&env, *state, WF_CM_CONNECTED);
	bind_eq(&env);
	assert_int_equal(fi_enable(env.ep), 0);
	assert_int_equal(fi_shutdown(env.ep, 1), -FI_EINVAL);
	assert_int_equal(env.sim.shutdowns, 0);
	assert_int_equal(fi_shutdown(env.ep, 0), 0);
	assert_int_equal(env.sim.shutdowns, 1);
	env.sim.base.state = WF_CM_DOWN;
	assert_int_equal(fi_shutdown(env.ep, 0), -FI_ENOTCONN);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(connecting_needs_an_event_queue),
		DOMAIN_TEST(what_cannot_run_does_not_begin),
		DOMAIN_TEST(an_endpoint_connects_once),
		DOMAIN_TEST(a_wrong_address_changes_nothing),
		DOMAIN_TEST(a_request_is_accepted_once),
		DOMAIN_TEST(a_failure_at_once_is_an_event),
		DOMAIN_TEST(a_reject_has_its_data),
		DOMAIN_TEST(events_name_the_endpoint),
		DOMAIN_TEST(shutdown_takes_no_flags),
	};

	return cmocka_run_group_tests_name("cm_calls", tests, NULL, NULL);
}
