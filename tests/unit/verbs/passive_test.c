/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include <rdma/fi_cm.h>

#include "../refuse.h"
#include "providers/verbs/cm/pep.h"

/* Passive endpoints, and the endpoints for their requests, over a librdmacm that the
 * test plays: identifiers and channels are counted. */

static struct {
	int channels, ids;   /* that live */
	const char *refused; /* the call that fails; NULL: none */
	int code;            /* errno of that */
	int backlog;
	struct rdma_event_channel *migrated_to;
	unsigned int rejected;
	uint8_t reject_data[64];
	unsigned int reject_len;
	struct rdma_cm_event event; /* the next one */
	bool has_event;
	unsigned int acked;
} cm;

static int answer(const char *call)
{
	if (!cm.refused || strcmp(cm.refused, call) != 0)
		return 0;
	errno = cm.code;
	return -1;
}

static struct rdma_event_channel *cm_create_event_channel(void)
{
	struct rdma_event_channel *channel;

	if (answer("create_event_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->fd = eventfd(0, EFD_CLOEXEC);
	cm.channels++;
	return channel;
}

static void cm_destroy_event_channel(struct rdma_event_channel *channel)
{
	(void)close(channel->fd);
	free(channel);
	cm.channels--;
}

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id = calloc(1, sizeof(*id));

	id->port_num = 1;
	cm.ids++;
	return id;
}

static int cm_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret,
	void *ctx, enum rdma_port_space ps)
{
	assert_int_equal(ps, RDMA_PS_TCP);
	if (answer("create_id"))
		return -1;
	*ret = new_id();
	(*ret)->channel = channel;
	return 0;
}

static int cm_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	cm.ids--;
	return 0;
}

static void give_addr(struct sockaddr_storage *to, const char *host, uint16_t port)
{
	union wf_sockaddr sa;

	assert_int_equal(wf_sockaddr_from_host(host, &sa), 0);
	wf_sockaddr_set_port(&sa, port);
	memcpy(to, &sa, wf_sockaddr_len(&sa));
}

static int cm_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (answer("bind_addr"))
		return -1;
	fake_context.device = &fake_device;
	id->verbs = &fake_context;
	give_addr(&id->route.addr.src_storage, "192.168.77.1", 4242);
	return 0;
}

static int cm_listen(struct rdma_cm_id *id, int backlog)
{
	cm.backlog = backlog;
	return answer("listen");
}

static int cm_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	if (answer("migrate_id"))
		return -1;
	cm.migrated_to = id->channel = channel;
	return 0;
}

static int cm_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	cm.rejected++;
	cm.reject_len = len;
	if (len)
		memcpy(cm.reject_data, data, len);
	return 0;
}

static int cm_get_cm_event(
	struct rdma_event_channel *channel, struct rdma_cm_event **ret)
{
	if (!cm.has_event) {
		errno = EAGAIN;
		return -1;
	}
	cm.has_event = false;
	*ret = &cm.event;
	return 0;
}

static int cm_ack_cm_event(struct rdma_cm_event *event)
{
	cm.acked++;
	return 0;
}

static int cm_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *dest, int ms)
{
	return answer("resolve_addr");
}

/* ---- the fixture ------------------------------------------------------------------ */

static struct env env;
static struct fid_eq *eq;
static struct fid_pep *pep;

static int setup(void **state)
{
	memset(&cm, 0, sizeof(cm));

	verbs_lib.rdma.create_event_channel = cm_create_event_channel;
	verbs_lib.rdma.destroy_event_channel = cm_destroy_event_channel;
	verbs_lib.rdma.create_id = cm_create_id;
	verbs_lib.rdma.destroy_id = cm_destroy_id;
	verbs_lib.rdma.bind_addr = cm_bind_addr;
	verbs_lib.rdma.listen = cm_listen;
	verbs_lib.rdma.migrate_id = cm_migrate_id;
	verbs_lib.rdma.reject = cm_reject;
	verbs_lib.rdma.get_cm_event = cm_get_cm_event;
	verbs_lib.rdma.ack_cm_event = cm_ack_cm_event;
	verbs_lib.rdma.resolve_addr = cm_resolve_addr;
	env = (struct env){ .info = NULL };
	if (!get_info(&env, FI_EP_MSG))
		skip();
	open_domain(&env, FI_EP_MSG);
	return fi_eq_open(env.fabric, &(struct fi_eq_attr){ .wait_obj = FI_WAIT_NONE },
		&eq, NULL);
}

/* All is given back. */
static int teardown(void **state)
{
	assert_int_equal(fi_close(&eq->fid), 0);
	close_env(&env);
	assert_int_equal(cm.ids, 0);
	assert_int_equal(cm.channels, 0);
	return 0;
}

static void open_pep(void)
{
	assert_int_equal(fi_passive_ep(env.fabric, env.info, &pep, &cm), 0);
	assert_int_equal(fi_pep_bind(pep, &eq->fid, 0), 0);
}

static void run_pep(void)
{
	struct wf_progress *item =
		&wf_container_of(pep, struct verbs_pep, base.fid)->base.item;

	item->run(item);
}

static bool arm_memory; /* the next request finds none */

/* A request for a connection, with these private data, in the form of the wire. */
static struct rdma_cm_id *ask(const void *data, uint8_t len)
{
	struct rdma_cm_id *id = new_id();

	id->verbs = &fake_context;
	give_addr(&id->route.addr.src_storage, "192.168.77.1", 4242);
	give_addr(&id->route.addr.dst_storage, "192.168.77.2", 4343);
	cm.event = (struct rdma_cm_event){ .id = id,
		.event = RDMA_CM_EVENT_CONNECT_REQUEST,
		.param.conn = { .private_data = data, .private_data_len = len } };
	cm.has_event = true;
	if (arm_memory)
		refuse_one("memory", 1, ENOMEM);
	arm_memory = false;
	run_pep();
	assert_false(cm.has_event);
	return id;
}

static struct fi_info *read_request(const void *data, size_t len)
{
	_Alignas(struct fi_eq_cm_entry) uint8_t out[sizeof(struct fi_eq_cm_entry) + 64];
	struct fi_eq_cm_entry *entry = (void *)out;
	uint32_t event = 0;

	assert_int_equal(fi_eq_read(eq, &event, out, sizeof(out), 0),
		(ssize_t)(sizeof(*entry) + len));
	assert_int_equal(event, FI_CONNREQ);
	assert_ptr_equal(entry->fid, &pep->fid);
	assert_memory_equal(entry->data, data, len);
	return entry->info;
}

/* ---- tests -------------------------------------------------------------------------- */

static struct sockaddr_in own = { .sin_family = AF_INET };

static void opening(void **state)
{
	int err;

	pep = NULL;
	refuse_one("memory", 1, ENOMEM);
	err = fi_passive_ep(env.fabric, env.info, &pep, NULL);
	assert_true(refuse_end());
	assert_int_equal(err, -FI_ENOMEM);
	assert_null(pep);
	assert_int_equal(cm.channels, 0);
	err = fi_passive_ep(env.fabric, env.info, &pep, NULL);
	assert_int_equal(err, 0);
	assert_int_equal(cm.channels, 1);
	assert_int_equal(fi_close(&pep->fid), 0);
	pep = NULL;
	cm.refused = "create_event_channel";
	cm.code = ENFILE;
	assert_int_equal(fi_passive_ep(env.fabric, env.info, &pep, NULL), -ENFILE);
	cm.refused = NULL;
	verbs_lib.has_rdma = false;
	assert_int_equal(fi_passive_ep(env.fabric, env.info, &pep, NULL), -FI_ENODATA);
	verbs_lib.has_rdma = true;
	for (unsigned int nth = 1; nth <= 3; nth++) {
		refuse_one("fcntl", nth, EPERM);
		assert_int_equal(
			fi_passive_ep(env.fabric, env.info, &pep, NULL), -FI_EPERM);
		assert_true(refuse_end());
		assert_int_equal(cm.channels, 0);
	}
	assert_null(pep);
}

static void listening(void **state)
{
	static const struct {
		const char *call;
		int code;
	} rows[] = { { "create_id", ENODEV }, { "bind_addr", EADDRNOTAVAIL },
		{ "listen", EADDRINUSE } };
	struct sockaddr_in name;
	size_t len = sizeof(name);
	int backlog = 7;

	open_pep();
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &backlog), 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		cm.refused = rows[i].call;
		cm.code = rows[i].code;
		assert_int_equal(fi_listen(pep), -rows[i].code);
		assert_int_equal(cm.ids, i == 2);
	}
	cm.refused = NULL;
	assert_int_equal(fi_listen(pep), 0);
	assert_int_equal(cm.ids, 1);
	assert_int_equal(cm.backlog, 7);
	assert_int_equal(fi_getname(&pep->fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 4242);
	assert_int_equal(fi_close(&pep->fid), 0);
}

static void requests_that_are_rejected(void **state)
{
	static const uint8_t wire[] = { 3, 'a', 's', 'k', 0, 0 };
	struct fi_info *info;

	open_pep();
	assert_int_equal(fi_listen(pep), 0);
	(void)ask(wire, sizeof(wire));
	assert_int_equal(cm.acked, 1);
	info = read_request("ask", 3);
	assert_string_equal(info->domain_attr->name, env.info->domain_attr->name);
	assert_non_null(info->handle);
	assert_int_equal(fi_reject(pep, info->handle, "no", 2), 0);
	assert_int_equal(cm.rejected, 1);
	assert_int_equal(cm.reject_len, 3);
	assert_memory_equal(cm.reject_data, "\002no", 3);
	assert_int_equal(cm.ids, 1);
	assert_int_equal(fi_reject(pep, info->handle, NULL, 0), -FI_EINVAL);
	fi_freeinfo(info);
	/* Nobody has space for this one: the peer is told. */
	cm.reject_len = 7;
	arm_memory = true;
	(void)ask(wire, sizeof(wire));
	assert_true(refuse_end());
	assert_int_equal(cm.rejected, 2);
	assert_int_equal(cm.reject_len, 0);
	assert_int_equal(cm.ids, 1);
	/* Those that wait when it is closed are rejected. */
	(void)ask(wire, sizeof(wire));
	assert_int_equal(fi_close(&pep->fid), 0);
	assert_int_equal(cm.rejected, 3);
}

static void requests_that_become_endpoints(void **state)
{
	struct sockaddr_in name;
	size_t len = sizeof(name);
	struct rdma_cm_id *id;
	struct fi_info *info;

	open_pep();
	assert_int_equal(fi_listen(pep), 0);
	id = ask(NULL, 0);
	info = read_request(NULL, 0);
	assert_int_equal(fi_endpoint(env.domain, info, &env.fid, NULL), 0);
	assert_ptr_equal(cm.migrated_to, id->channel);
	assert_int_equal(cm.rejected, 0);
	assert_int_equal(fi_getname(&env.fid->fid, &name, &len), 0);
	assert_int_equal(len, sizeof(name));
	assert_int_equal(ntohs(name.sin_port), 4242);
	assert_int_equal(fi_getpeer(env.fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 4343);
	assert_int_equal(fi_setname(&env.fid->fid, &name, len), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&env.fid->fid), 0);
	env.fid = NULL;
	assert_int_equal(cm.ids, 1);
	fi_freeinfo(info);
	/* One that cannot be taken is rejected. */
	(void)ask(NULL, 0);
	info = read_request(NULL, 0);
	cm.refused = "migrate_id";
	cm.code = ENOTCONN;
	assert_int_equal(fi_endpoint(env.domain, info, &env.fid, NULL), -FI_ENOTCONN);
	cm.refused = NULL;
	assert_int_equal(cm.rejected, 1);
	assert_int_equal(cm.ids, 1);
	fi_freeinfo(info);
	id = ask(NULL, 0);
	info = read_request(NULL, 0);
	id->verbs = NULL;
	assert_int_equal(fi_endpoint(env.domain, info, &env.fid, NULL), -FI_ENODEV);
	assert_int_equal(cm.rejected, 2);
	fi_freeinfo(info);
	env.fid = NULL;
	assert_int_equal(fi_close(&pep->fid), 0);
}

/* An endpoint takes over the address of a passive endpoint, or leaves it there. */
static void address_that_is_taken_over(void **state)
{
	struct fi_info *info = fi_dupinfo(env.info);
	struct sockaddr_in name;
	size_t len = sizeof(name);
	struct fid_ep *another;

	open_pep();
	assert_int_equal(fi_setname(&pep->fid, &own, sizeof(own)), 0);
	assert_int_equal(cm.ids, 1);
	info->handle = &pep->fid;
	cm.refused = "migrate_id";
	cm.code = ENOMEM;
	assert_int_equal(fi_endpoint(env.domain, info, &env.fid, NULL), -FI_ENOMEM);
	assert_int_equal(cm.ids, 1);
	cm.refused = NULL;
	/* It can be taken then, once. */
	assert_int_equal(fi_endpoint(env.domain, info, &env.fid, NULL), 0);
	assert_int_equal(fi_endpoint(env.domain, info, &another, NULL), -FI_EINVAL);
	assert_int_equal(fi_getname(&env.fid->fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 4242);
	assert_int_equal(fi_close(&pep->fid), 0);
	assert_int_equal(cm.ids, 1);
	assert_int_equal(fi_close(&env.fid->fid), 0);
	env.fid = NULL;
	info->handle = NULL;
	fi_freeinfo(info);
}

static void other_events(void **state)
{
	struct fi_eq_err_entry entry = { 0 };
	uint8_t bytes[64];
	uint32_t event;

	open_pep();
	assert_int_equal(fi_listen(pep), 0);
	/* Of a request that waits: its answer will fail. */
	cm.event = (struct rdma_cm_event){ .event = RDMA_CM_EVENT_DEVICE_REMOVAL };
	cm.has_event = true;
	run_pep();
	assert_int_equal(cm.acked, 1);
	assert_int_equal(fi_eq_read(eq, &event, bytes, sizeof(bytes), 0), -FI_EAGAIN);
	cm.event.id = wf_container_of(pep, struct verbs_pep, base.fid)->id;
	cm.event.event = RDMA_CM_EVENT_DISCONNECTED;
	cm.has_event = true;
	run_pep();
	assert_int_equal(fi_eq_read(eq, &event, bytes, sizeof(bytes), 0), -FI_EAGAIN);
	cm.event.event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	cm.has_event = true;
	run_pep();
	assert_int_equal(cm.acked, 3);
	assert_int_equal(fi_eq_readerr(eq, &entry, 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &pep->fid);
	assert_ptr_equal(entry.context, &cm);
	assert_int_equal(entry.err, FI_ENODEV);
	assert_int_equal(entry.prov_errno, FI_ENODEV);
	assert_int_equal(fi_close(&pep->fid), 0);
}

static void names_of_endpoints(void **state)
{
	struct sockaddr_in name;
	size_t len = sizeof(name), size = 0, size_len = sizeof(size);

	assert_int_equal(fi_endpoint(env.domain, env.info, &env.fid, NULL), 0);
	cm.refused = "bind_addr";
	cm.code = EADDRINUSE;
	assert_int_equal(fi_setname(&env.fid->fid, &own, sizeof(own)), -FI_EADDRINUSE);
	assert_int_equal(cm.ids, 0);
	cm.refused = NULL;
	assert_int_equal(fi_setname(&env.fid->fid, &own, 3), -FI_EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fi_setname(&env.fid->fid, &own, sizeof(own)), 0);
		assert_int_equal(cm.ids, 1);
	}
	assert_int_equal(fi_getname(&env.fid->fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 4242);
	len = 2;
	assert_int_equal(fi_getname(&env.fid->fid, &name, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(name));
	assert_int_equal(fi_getopt(&env.fid->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE,
				 &size, &size_len),
		0);
	assert_int_equal(size, VERBS_CM_DATA_SIZE);
	assert_int_equal(fi_close(&env.fid->fid), 0);
	env.fid = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(opening),
		TEST(listening),
		TEST(requests_that_are_rejected),
		TEST(requests_that_become_endpoints),
		TEST(address_that_is_taken_over),
		TEST(other_events),
		TEST(names_of_endpoints),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
