/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include <arpa/inet.h>

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ud.h"

/* Every field of a datagram's request, of the handle of its address, and of the
 * endpoint's own address. */

enum { SUBNET = 8 /* bytes of a GID */, LID = 0x1234, SL = 3 };

/* The GID of the device, as discovery found it. */
static const uint8_t own_gid[16] = { 0xfe, 0x80 };

static fi_addr_t insert(struct env *env, const struct verbs_ud_name *name)
{
	fi_addr_t addr;

	assert_int_equal(fi_av_insert(env->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

static struct verbs_ud_name name_of(uint32_t qpn, uint16_t lid, bool same_subnet)
{
	struct verbs_ud_name name = { .qpn = qpn, .lid = lid, .pkey = 7, .sl = 5 };

	memcpy(name.gid, own_gid, SUBNET);
	name.gid[SUBNET - 1] = same_subnet ? 0 : 9;
	name.gid[SUBNET] = 0xaa;
	name.gid[15] = 0xbb;
	return name;
}

static void must_send(struct env *env, fi_addr_t to)
{
	fake_send_count = 0;
	assert_int_equal(fi_send(env->fid, env->buf, 1, NULL, to, NULL), 0);
	end_sends(env);
	assert_int_equal(take(env, &(struct fi_cq_data_entry){ 0 }), 1);
}

/* Use a device with this link from now on. */
static void use_link(uint8_t link)
{
	fake_link_layer = link;
	verbs_devices(true);
}

/* By GID over Ethernet, to other subnets and to ports without LID; else by LID. */
static void test_handle(void **state)
{
	static const struct {
		uint8_t link;
		bool same_subnet;
		uint16_t lid;
		bool global;
	} rows[] = {
		{ IBV_LINK_LAYER_ETHERNET, true, 9, true },
		{ IBV_LINK_LAYER_ETHERNET, true, 0, true },
		{ IBV_LINK_LAYER_ETHERNET, false, 9, true },
		{ IBV_LINK_LAYER_INFINIBAND, true, 9, false },
		{ IBV_LINK_LAYER_INFINIBAND, true, 0xffff, false },
		{ IBV_LINK_LAYER_INFINIBAND, true, 0, true },
		{ IBV_LINK_LAYER_INFINIBAND, false, 9, true },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct verbs_ud_name name =
			name_of(77, rows[i].lid, rows[i].same_subnet);
		const struct ibv_ah_attr *attr = &fake_ah_attr;
		struct env env;

		use_link(rows[i].link);
		OPEN(FI_EP_DGRAM, 0, false);
		must_send(&env, insert(&env, &name));
		assert_int_equal(attr->dlid, rows[i].lid);
		assert_int_equal(attr->sl, 5);
		assert_int_equal(attr->port_num, 1);
		assert_int_equal(attr->is_global, rows[i].global);
		if (rows[i].global) {
			assert_memory_equal(attr->grh.dgid.raw, name.gid, 16);
			assert_int_equal(attr->grh.sgid_index, verbs_params.gid_index);
			assert_true(attr->grh.hop_limit > 1);
		}
		close_env(&env);
	}
	use_link(IBV_LINK_LAYER_ETHERNET);
}

/* The queue pair of the destination, and one handle for all messages to an address,
 * which ends with the address. */
static void test_destination(void **state)
{
	enum { PEERS = 20 };
	struct verbs_ud_name name;
	fi_addr_t to[PEERS];
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	for (uint32_t i = 0; i < PEERS; i++) {
		name = name_of(0xfffff0 - i, 0, true);
		to[i] = insert(&env, &name);
	}
	assert_int_equal(fake_live[FAKE_AH], 0);
	for (unsigned int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < PEERS; i++) {
			must_send(&env, to[i]);
			assert_non_null(fake_sends[0].wr.ud.ah);
			assert_int_equal(fake_sends[0].wr.ud.remote_qpn, 0xfffff0 - i);
			assert_int_equal(
				fake_sends[0].wr.ud.remote_qkey, VERBS_UD_QKEY);
			assert_int_equal(fake_live[FAKE_AH], round ? PEERS : i + 1);
		}
	for (uint32_t i = 0; i < PEERS / 2; i++) {
		assert_int_equal(fi_av_remove(env.av, &to[i], 1, 0), 0);
		assert_int_equal(fake_live[FAKE_AH], PEERS - 1 - i);
		assert_int_equal(
			fi_send(env.fid, env.buf, 1, NULL, to[i], NULL), -FI_EINVAL);
	}
	/* Closing the AV ends the others. */
	close_env(&env);
}

/* No handle: the message is refused, and the next one tries again. */
static void test_no_handle(void **state)
{
	struct verbs_ud_name name = name_of(77, 0, true);
	struct env env;
	fi_addr_t to;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	to = insert(&env, &name);
	fake_successes = 0;
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, to, NULL), -FI_ENOMEM);
	assert_int_equal(fake_send_count, 0);
	must_send(&env, to);
	assert_int_equal(fake_live[FAKE_AH], 1);
	close_env(&env);
}

/* All requests tell their end, whether or not it is reported. */
static void test_signalled(void **state)
{
	struct verbs_ud_name name = name_of(77, 0, true);
	struct env env;
	fi_addr_t to;

	(void)state;
	OPEN(FI_EP_DGRAM, FI_SELECTIVE_COMPLETION, false);
	to = insert(&env, &name);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(fi_inject(env.fid, env.buf, 1, to), 0);
		assert_int_equal(
			fake_sends[i].send_flags, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	}
	close_env(&env);
}

/* The routing header is not part of the message, whatever the device says. */
static void test_length(void **state)
{
	static const uint32_t lens[] = { 0, 1, 39, 40, 41, 56 };
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		fake_recv_count = 0;
		assert_int_equal(fi_recv(env.fid, env.buf, 16, desc, 0, NULL), 0);
		fake_complete(
			fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, lens[i]);
		assert_int_equal(take(&env, &entry), 1);
		assert_int_equal(entry.len, lens[i] > 40 ? lens[i] - 40 : 0);
	}
	close_env(&env);
}

/* The endpoint's own address is that of its port and queue pair; a service that was
 * asked for stays. */
static void test_own_name(void **state)
{
	struct verbs_ud_name asked = { .service = 321, .qpn = 5 }, name;
	size_t len = sizeof(name);
	struct fid_ep *fid;
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	assert_int_equal(fi_getname(&env.fid->fid, &name, &len), 0);
	assert_int_equal(len, sizeof(name));
	assert_memory_equal(name.gid, own_gid, sizeof(own_gid));
	assert_int_equal(name.qpn, FAKE_QP_NUM);
	assert_int_equal(name.lid, LID);
	assert_int_equal(name.sl, SL);
	assert_int_equal(name.pkey, 0xffff);
	assert_int_equal(name.service, 0);
	len = sizeof(name) - 1;
	assert_int_equal(fi_getname(&env.fid->fid, &name, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(name));

	assert_int_equal(fi_endpoint(env.domain, env.info, &fid, NULL), 0);
	assert_int_equal(fi_getname(&fid->fid, &name, &len), -FI_EOPBADSTATE);
	assert_int_equal(fi_setname(&fid->fid, &asked, sizeof(asked) - 1), -FI_EINVAL);
	assert_int_equal(fi_setname(&fid->fid, &asked, sizeof(asked)), 0);
	assert_int_equal(fi_ep_bind(fid, &env.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(fid, &env.av->fid, 0), 0);
	assert_int_equal(fi_enable(fid), 0);
	assert_int_equal(fi_getname(&fid->fid, &name, &len), 0);
	assert_int_equal(name.service, 321);
	assert_int_equal(name.qpn, FAKE_QP_NUM);
	assert_int_equal(fi_close(&fid->fid), 0);
	close_env(&env);
}

/* Numbers of queue pairs that an endpoint can have: of 24 bits, but not those of the
 * subnet's management. */
static void test_queue_pairs(void **state)
{
	static const struct {
		uint32_t qpn;
		int inserted;
	} rows[] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 0xffffff, 1 }, { 0x1000000, 0 },
		{ UINT32_MAX, 0 } };
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct verbs_ud_name name = name_of(rows[i].qpn, 0, true);
		fi_addr_t addr = 0;

		assert_int_equal(fi_av_insert(env.av, &name, 1, &addr, 0, NULL),
			rows[i].inserted);
		assert_int_equal(addr == FI_ADDR_NOTAVAIL, !rows[i].inserted);
	}
	close_env(&env);
}

static int setup(void **state)
{
	verbs_params.use_name_server = false;
	return fake_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handle),
		cmocka_unit_test(test_destination),
		cmocka_unit_test(test_no_handle),
		cmocka_unit_test(test_signalled),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_own_name),
		cmocka_unit_test(test_queue_pairs),
	};

	return cmocka_run_group_tests(tests, setup, fake_teardown);
}
