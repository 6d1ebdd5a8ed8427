/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive endpoints over a transport that only records its calls, and the requests that
 * arrive at them. */
#include "fake.h"

#include "objects/cm/cm.h"
#include "objects/cm/pep.h"

enum { DATA_SIZE = 20, PORT = 4711 };

/* ---- calls that fail ---- */

#define VISIBLE __attribute__((visibility("default")))

static bool no_info, no_event;
static unsigned int no_malloc_in; /* allocations until the one that fails; 0: none */

VISIBLE struct fi_info *__wrap_fi_dupinfo(const struct fi_info *info);
VISIBLE void *__wrap_malloc(size_t len);
VISIBLE ssize_t __wrap_wf_eq_write(
	struct wf_eq *eq, uint32_t event, const void *buf, size_t len);
struct fi_info *__real_fi_dupinfo(const struct fi_info *info);
void *__real_malloc(size_t len);
ssize_t __real_wf_eq_write(
	struct wf_eq *eq, uint32_t event, const void *buf, size_t len);

struct fi_info *__wrap_fi_dupinfo(const struct fi_info *info)
{
	return no_info ? NULL : __real_fi_dupinfo(info);
}

void *__wrap_malloc(size_t len)
{
	return no_malloc_in && !--no_malloc_in ? NULL : __real_malloc(len);
}

ssize_t __wrap_wf_eq_write(
	struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return no_event ? -FI_ENOMEM : __real_wf_eq_write(eq, event, buf, len);
}

struct sim_pep {
	struct wf_pep base;
	unsigned int binds, unbinds, listens, backlogs, runs;
	int bind_result, listen_result;
};

struct sim_request {
	struct wf_cm_request base;
	int number;
};

/* The last request that was rejected, and with what. */
static struct {
	unsigned int count;
	int number;
	enum wf_cm_reason reason;
	size_t len;
	uint8_t data[DATA_SIZE];
} rejected;

static unsigned int destroyed;
static int complete_result;

static struct sim_pep *sim_of(struct wf_pep *pep)
{
	return wf_container_of(pep, struct sim_pep, base);
}

static int sim_bind(struct wf_pep *pep)
{
	sim_of(pep)->binds++;
	if (!sim_of(pep)->bind_result)
		wf_sockaddr_set_port(&pep->name, PORT);
	return sim_of(pep)->bind_result;
}

static void sim_unbind(struct wf_pep *pep)
{
	sim_of(pep)->unbinds++;
}

static int sim_listen(struct wf_pep *pep)
{
	sim_of(pep)->listens++;
	return sim_of(pep)->listen_result;
}

static void sim_backlog_changed(struct wf_pep *pep)
{
	sim_of(pep)->backlogs++;
}

static void sim_reject(struct wf_cm_request *req, enum wf_cm_reason reason,
	const void *data, size_t len)
{
	struct sim_request *sim = wf_container_of(req, struct sim_request, base);

	rejected.count++;
	rejected.number = sim->number;
	rejected.reason = reason;
	rejected.len = len;
	assert_true(len <= sizeof(rejected.data));
	if (len)
		memcpy(rejected.data, data, len);
	free(sim);
}

static void other_reject(struct wf_cm_request *req, enum wf_cm_reason reason,
	const void *data, size_t len)
{
	fail();
}

static int sim_complete_info(const struct wf_cm_request *req, struct fi_info *info)
{
	assert_ptr_equal(info->handle, &req->handle);
	return complete_result;
}

static void sim_destroy(struct wf_pep *pep)
{
	destroyed++;
	wf_pep_done(pep);
	free(sim_of(pep));
}

static const struct wf_pep_ops sim_ops = {
	.prov = &fake_prov,
	.data_size = DATA_SIZE,
	.bind = sim_bind,
	.unbind = sim_unbind,
	.listen = sim_listen,
	.backlog_changed = sim_backlog_changed,
	.reject = sim_reject,
	.complete_info = sim_complete_info,
	.destroy = sim_destroy,
};

static const struct wf_pep_ops fixed_backlog_ops = {
	.prov = &fake_prov,
	.data_size = DATA_SIZE,
	.bind = sim_bind,
	.unbind = sim_unbind,
	.listen = sim_listen,
	.reject = sim_reject,
	.destroy = sim_destroy,
};

static struct fid_fabric *fabric;
static struct fid_eq *eq;
static struct fi_info *info;
static int context;

static void sim_run(struct wf_progress *item)
{
	wf_container_of(item, struct sim_pep, base.item)->runs++;
}

static struct fid_pep *open_as(const struct wf_pep_ops *ops)
{
	struct sim_pep *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	assert_int_equal(wf_pep_init(&sim->base, ops, fabric, info, &context), 0);
	sim->base.item.run = sim_run;
	return &sim->base.fid;
}

static struct fid_pep *open_pep(void)
{
	return open_as(&sim_ops);
}

static struct fid_pep *open_listening(void)
{
	struct fid_pep *pep = open_pep();

	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	assert_int_equal(fi_listen(pep), 0);
	return pep;
}

static struct sim_pep *sim(struct fid_pep *pep)
{
	return wf_container_of(pep, struct sim_pep, base.fid);
}

static int setup(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };

	memset(&rejected, 0, sizeof(rejected));
	destroyed = 0;
	complete_result = 0;
	fake_check_answer = 0;
	fabric = fake_fabric(FI_VERSION(2, 0));
	info = fi_allocinfo();
	assert_non_null(info);
	info->addr_format = FI_SOCKADDR_IN;
	info->ep_attr->type = FI_EP_MSG;
	return fi_eq_open(fabric, &attr, &eq, NULL);
}

/* Nothing is left open on the fabric. */
static int teardown(void **state)
{
	fi_freeinfo(info);
	assert_closed(eq);
	assert_closed(fabric);
	return 0;
}

static void nothing_is_told(void)
{
	uint8_t bytes[512];
	uint32_t event;

	assert_int_equal(fi_eq_read(eq, &event, bytes, sizeof(bytes), 0), -FI_EAGAIN);
}

/* ---- opening and closing ---- */

static void opening_checks_the_info(void **state)
{
	struct sim_pep sim = { .binds = 0 };

	fake_check_answer = -FI_EINVAL;
	assert_int_equal(
		wf_pep_init(&sim.base, &sim_ops, fabric, info, NULL), -FI_EINVAL);
	fake_check_answer = 0;
	info->ep_attr->type = FI_EP_RDM;
	assert_int_equal(
		wf_pep_init(&sim.base, &sim_ops, fabric, info, NULL), -FI_EINVAL);
	info->ep_attr->type = FI_EP_MSG;
	info->src_addr = calloc(1, 1);
	info->src_addrlen = 1;
	assert_int_equal(
		wf_pep_init(&sim.base, &sim_ops, fabric, info, NULL), -FI_EINVAL);
}

/* What fails leaves the fabric unused, as the teardown sees. */
static void opening_fails(void **state)
{
	struct sim_pep sim = { .binds = 0 };

	no_info = true;
	assert_int_equal(
		wf_pep_init(&sim.base, &sim_ops, fabric, info, NULL), -FI_ENOMEM);
	no_info = false;
}

/* CM-001, CM-036 */
static void a_passive_endpoint_is_of_the_fabric(void **state)
{
	struct fid_pep *pep = open_pep();

	assert_int_equal(pep->fid.fclass, FI_CLASS_PEP);
	assert_ptr_equal(pep->fid.context, &context);
	assert_busy(fabric);
	assert_closed(pep);
	assert_int_equal(destroyed, 1);
}

/* CM-002 */
static void one_event_queue_is_bound(void **state)
{
	struct fid_pep *pep = open_pep();
	struct fid other = { .fclass = FI_CLASS_CQ };

	assert_int_equal(fi_listen(pep), -FI_ENOEQ);
	assert_int_equal(fi_pep_bind(pep, &other, 0), -FI_EINVAL);
	assert_int_equal(fi_pep_bind(pep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, FI_SEND), -FI_EBADFLAGS);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	assert_busy(eq);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), -FI_EINVAL);
	assert_closed(pep);
}

static void the_queue_of_another_fabric_is_refused(void **state)
{
	struct fid_fabric *other = fake_fabric(FI_VERSION(2, 0));
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_pep *pep = open_pep();
	struct fid_eq *foreign;

	assert_int_equal(fi_eq_open(other, &attr, &foreign, NULL), 0);
	assert_int_equal(fi_pep_bind(pep, &foreign->fid, 0), -FI_EINVAL);
	assert_closed(foreign);
	assert_closed(other);
	assert_closed(pep);
}

/* ---- names ---- */

/* CM-006, CM-024, CM-025 */
static void names_are_set_until_it_listens(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct fid_pep *pep = open_pep();
	struct sockaddr_in out;
	size_t len = sizeof(out);

	assert_int_equal(fi_setname(&pep->fid, &in, 1), -FI_EINVAL);
	assert_int_equal(fi_setname(&pep->fid, &in, sizeof(in)), 0);
	assert_int_equal(sim(pep)->unbinds, 1);
	assert_int_equal(sim(pep)->binds, 1);
	assert_int_equal(fi_getname(&pep->fid, &out, &len), 0);
	assert_int_equal(len, sizeof(out));
	assert_int_equal(ntohs(out.sin_port), PORT);
	assert_int_equal(ntohl(out.sin_addr.s_addr), INADDR_LOOPBACK);
	len = 1;
	assert_int_equal(fi_getname(&pep->fid, &out, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(out));
	assert_int_equal(fi_getname(&pep->fid, NULL, &len), -FI_EINVAL);
	assert_int_equal(fi_getname(&pep->fid, &out, NULL), -FI_EINVAL);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	assert_int_equal(fi_listen(pep), 0);
	assert_int_equal(fi_setname(&pep->fid, &in, sizeof(in)), -FI_EOPBADSTATE);
	assert_int_equal(sim(pep)->unbinds, 1);
	assert_closed(pep);
}

/* ---- listening ---- */

static void it_listens_once(void **state)
{
	struct fid_pep *pep = open_listening();

	assert_int_equal(sim(pep)->binds, 1);
	assert_int_equal(sim(pep)->listens, 1);
	assert_int_equal(fi_listen(pep), -FI_EOPBADSTATE);
	assert_int_equal(sim(pep)->listens, 1);
	/* CM-005 */
	assert_int_equal(sim(pep)->runs, 0);
	nothing_is_told();
	assert_int_equal(sim(pep)->runs, 1);
	assert_closed(pep);
}

static void a_failure_to_listen_can_be_repeated(void **state)
{
	struct fid_pep *pep = open_pep();

	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	sim(pep)->bind_result = -FI_EADDRINUSE;
	assert_int_equal(fi_listen(pep), -FI_EADDRINUSE);
	assert_int_equal(sim(pep)->listens, 0);
	sim(pep)->bind_result = 0;
	sim(pep)->listen_result = -FI_ENOMEM;
	assert_int_equal(fi_listen(pep), -FI_ENOMEM);
	sim(pep)->listen_result = 0;
	assert_int_equal(fi_listen(pep), 0);
	assert_closed(pep);
}

/* CM-004 */
static void the_backlog_is_told(void **state)
{
	struct fid_pep *pep = open_pep();
	int wrong = -1, five = 5, six = 6;

	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &wrong), -FI_EINVAL);
	assert_int_equal(fi_control(&pep->fid, FI_GETWAIT, &five), -FI_ENOSYS);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &five), 0);
	assert_int_equal(sim(pep)->base.backlog, five);
	assert_int_equal(sim(pep)->backlogs, 0);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	assert_int_equal(fi_listen(pep), 0);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &six), 0);
	assert_int_equal(sim(pep)->base.backlog, six);
	assert_int_equal(sim(pep)->backlogs, 1);
	assert_closed(pep);
}

static void a_fixed_backlog_is_refused(void **state)
{
	struct fid_pep *pep = open_as(&fixed_backlog_ops);
	int five = 5, six = 6;

	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &five), 0);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	assert_int_equal(fi_listen(pep), 0);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &six), -FI_EOPBADSTATE);
	assert_int_equal(sim(pep)->base.backlog, five);
	assert_closed(pep);
}

/* OPT-006 */
static void the_size_of_data_is_an_option(void **state)
{
	struct fid_pep *pep = open_pep();
	size_t size = 0, len = 1;

	assert_int_equal(
		fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len),
		-FI_ETOOSMALL);
	assert_int_equal(len, sizeof(size));
	assert_int_equal(
		fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len),
		0);
	assert_int_equal(size, DATA_SIZE);
	assert_int_equal(
		fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, NULL, &len),
		-FI_EINVAL);
	assert_int_equal(
		fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_MSG_SIZE, &size, &len),
		-FI_ENOPROTOOPT);
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT + 1, FI_OPT_CM_DATA_SIZE,
				 &size, &len),
		-FI_ENOPROTOOPT);
	assert_closed(pep);
}

/* ---- requests ---- */

static struct sim_request *arrive(struct fid_pep *pep, int number)
{
	struct sim_request *req = calloc(1, sizeof(*req));
	union wf_sockaddr own = wf_sockaddr_any(AF_INET), peer = own;

	assert_non_null(req);
	req->number = number;
	wf_sockaddr_set_port(&own, PORT);
	wf_sockaddr_set_port(&peer, PORT + 1);
	wf_pep_report(&sim(pep)->base, &req->base,
		&(struct wf_cm_arrival){ &own, &peer, "abc", 3 });
	return req;
}

static struct fi_info *read_request(struct fid_pep *pep)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + WF_CM_DATA_MAX];
	} out;
	uint32_t event = 0;

	assert_int_equal(
		fi_eq_read(eq, &event, &out, sizeof(out), 0), sizeof(out.entry) + 3);
	assert_int_equal(event, FI_CONNREQ);
	assert_ptr_equal(out.entry.fid, &pep->fid);
	assert_memory_equal(out.entry.data, "abc", 3);
	return out.entry.info;
}

static uint16_t port_of(const void *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/* CM-003, CM-011, CM-016 */
static void a_request_is_an_event(void **state)
{
	struct fid_pep *pep = open_listening();
	struct sim_request *req = arrive(pep, 1);
	struct fi_info *asked = read_request(pep);

	assert_ptr_equal(asked->handle, &req->base.handle);
	assert_int_equal(asked->handle->fclass, FI_CLASS_CONNREQ);
	assert_int_equal(asked->src_addrlen, sizeof(struct sockaddr_in));
	assert_int_equal(asked->dest_addrlen, sizeof(struct sockaddr_in));
	assert_int_equal(port_of(asked->src_addr), PORT);
	assert_int_equal(port_of(asked->dest_addr), PORT + 1);
	/* CM-010: another transport has no such request. */
	assert_null(wf_cm_request_take(asked->handle, other_reject));
	assert_ptr_equal(wf_cm_request_take(asked->handle, sim_reject), &req->base);
	assert_null(wf_cm_request_take(asked->handle, sim_reject));
	free(req);
	fi_freeinfo(asked);
	assert_closed(pep);
	assert_int_equal(rejected.count, 0);
}

/* CM-013, CM-015 */
static void a_request_is_rejected_once(void **state)
{
	struct fid_pep *pep = open_listening();
	struct fi_info *asked;
	uint8_t why[DATA_SIZE + 5];

	(void)arrive(pep, 7);
	asked = read_request(pep);
	memset(why, 9, sizeof(why));
	assert_int_equal(fi_reject(pep, asked->handle, NULL, 2), -FI_EINVAL);
	assert_int_equal(fi_reject(pep, &pep->fid, why, 2), -FI_EINVAL);
	assert_int_equal(fi_reject(pep, NULL, why, 2), -FI_EINVAL);
	assert_int_equal(fi_reject(pep, asked->handle, why, sizeof(why)), -FI_EINVAL);
	assert_int_equal(rejected.count, 0);
	assert_int_equal(fi_reject(pep, asked->handle, why, DATA_SIZE), 0);
	assert_int_equal(rejected.count, 1);
	assert_int_equal(rejected.number, 7);
	assert_int_equal(rejected.reason, WF_CM_REFUSED);
	assert_int_equal(rejected.len, DATA_SIZE);
	assert_memory_equal(rejected.data, why, DATA_SIZE);
	assert_int_equal(fi_reject(pep, asked->handle, NULL, 0), -FI_EINVAL);
	fi_freeinfo(asked);
	assert_closed(pep);
	assert_int_equal(rejected.count, 1);
}

static void closing_rejects_what_waits(void **state)
{
	struct fid_pep *pep = open_listening(), *other = open_listening();
	struct fi_info *asked[3];

	for (int i = 0; i < 3; i++) {
		(void)arrive(i == 1 ? other : pep, i);
		asked[i] = read_request(i == 1 ? other : pep);
	}
	assert_closed(pep);
	assert_int_equal(rejected.count, 2);
	assert_int_equal(fi_reject(other, asked[0]->handle, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_reject(other, asked[1]->handle, NULL, 0), 0);
	assert_int_equal(rejected.number, 1);
	for (int i = 0; i < 3; i++)
		fi_freeinfo(asked[i]);
	assert_closed(other);
}

static void a_request_that_cannot_be_reported_is_rejected(void **state)
{
	struct fid_pep *pep = open_listening();

	complete_result = -FI_ENODEV;
	(void)arrive(pep, 1);
	assert_int_equal(rejected.count, 1);
	assert_int_equal(rejected.reason, WF_CM_BUSY);
	nothing_is_told();
	assert_closed(pep);
	assert_int_equal(rejected.count, 1);
}

/* Each is memory that a peer can take. */
static void rejected_as_busy(struct fid_pep *pep, int number)
{
	(void)arrive(pep, number);
	assert_int_equal(rejected.count, number);
	assert_int_equal(rejected.number, number);
	assert_int_equal(rejected.reason, WF_CM_BUSY);
	assert_int_equal(rejected.len, 0);
	nothing_is_told();
}

/* No info, no address in it, and an event queue that takes no more. */
static void a_request_without_memory_is_rejected(void **state)
{
	struct fid_pep *pep = open_listening();

	no_info = true;
	rejected_as_busy(pep, 1);
	no_info = false;
	for (unsigned int i = 1; i <= 2; i++) {
		no_malloc_in = i;
		rejected_as_busy(pep, (int)i + 1);
		assert_int_equal(no_malloc_in, 0);
	}
	no_event = true;
	rejected_as_busy(pep, 4);
	no_event = false;
	assert_closed(pep);
	assert_int_equal(rejected.count, 4);
}

static void waiting_requests_are_limited(void **state)
{
	struct sim_request *reqs = calloc(WF_CM_REQUESTS_MAX, sizeof(*reqs));
	struct fid_pep *pep = open_listening();

	assert_non_null(reqs);
	for (int i = 0; i < WF_CM_REQUESTS_MAX; i++)
		assert_true(wf_cm_request_add(
			&reqs[i].base, &sim(pep)->base, other_reject));
	(void)arrive(pep, 1);
	assert_int_equal(rejected.count, 1);
	assert_int_equal(rejected.reason, WF_CM_BUSY);
	nothing_is_told();
	for (int i = 0; i < WF_CM_REQUESTS_MAX; i++)
		assert_ptr_equal(
			wf_cm_request_take_any(&sim(pep)->base), &reqs[i].base);
	assert_null(wf_cm_request_take_any(&sim(pep)->base));
	(void)arrive(pep, 2);
	fi_freeinfo(read_request(pep));
	free(reqs);
	assert_closed(pep);
	assert_int_equal(rejected.number, 2);
}

/* ---- an address that is taken over ---- */

/* CM-035 */
static void an_address_is_taken_over_once(void **state)
{
	struct fid_pep *pep = open_pep();
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct wf_pep *taken = NULL;
	struct fid stranger = { .fclass = FI_CLASS_PEP };

	assert_int_equal(wf_pep_take(&stranger, &sim_ops, AF_INET, &taken), -FI_EINVAL);
	assert_int_equal(wf_pep_take(&pep->fid, &fixed_backlog_ops, AF_INET, &taken),
		-FI_EINVAL);
	assert_int_equal(
		wf_pep_take(&pep->fid, &sim_ops, AF_INET6, &taken), -FI_EINVAL);
	assert_null(taken);
	assert_int_equal(wf_pep_take(&pep->fid, &sim_ops, AF_INET, &taken), 0);
	assert_ptr_equal(taken, &sim(pep)->base);
	assert_int_equal(wf_pep_take(&pep->fid, &sim_ops, AF_INET, &taken), -FI_EINVAL);
	assert_int_equal(fi_setname(&pep->fid, &in, sizeof(in)), -FI_EOPBADSTATE);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
	assert_int_equal(fi_listen(pep), -FI_EOPBADSTATE);
	assert_int_equal(sim(pep)->binds, 0);
	assert_closed(pep);
}

static void one_that_listens_is_not_taken_over(void **state)
{
	struct fid_pep *pep = open_listening();
	struct wf_pep *taken;

	assert_int_equal(wf_pep_take(&pep->fid, &sim_ops, AF_INET, &taken), -FI_EINVAL);
	assert_closed(pep);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(opening_checks_the_info),
		TEST(opening_fails),
		TEST(a_passive_endpoint_is_of_the_fabric),
		TEST(one_event_queue_is_bound),
		TEST(the_queue_of_another_fabric_is_refused),
		TEST(names_are_set_until_it_listens),
		TEST(it_listens_once),
		TEST(a_failure_to_listen_can_be_repeated),
		TEST(the_backlog_is_told),
		TEST(a_fixed_backlog_is_refused),
		TEST(the_size_of_data_is_an_option),
		TEST(a_request_is_an_event),
		TEST(a_request_is_rejected_once),
		TEST(closing_rejects_what_waits),
		TEST(a_request_that_cannot_be_reported_is_rejected),
		TEST(a_request_without_memory_is_rejected),
		TEST(waiting_requests_are_limited),
		TEST(an_address_is_taken_over_once),
		TEST(one_that_listens_is_not_taken_over),
	};

	return cmocka_run_group_tests_name("cm_pep", tests, NULL, NULL);
}
