/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_fake.h"

#include "providers/verbs/device/template.h"
#include "providers/verbs/param.h"

/* What fi_getinfo says of a device, from its limits: each field, for devices at each
 * side of the provider's own limits. */

enum { MTU = 2048, LONGEST = 1 << 30, INLINE = 200, UD_INLINE = 150 };

#define MSG_ORDER                                                                      \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS |    \
		FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |    \
		FI_ORDER_RMA_WAW)
#define ATOMIC_ORDER (FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW)

static struct verbs_device device_with(enum ibv_atomic_cap atomic)
{
	struct verbs_device device = {
		.port = 1,
		.inline_size = INLINE,
		.ud_inline_size = UD_INLINE,
		.attr = {
			.atomic_cap = atomic,
			.max_qp_wr = 100,
			.max_sge = 3,
			.max_srq = 7,
			.max_cq = 11,
			.max_qp = 12,
			.max_mr = 13,
		},
		.port_attr = { .active_mtu = IBV_MTU_2048, .max_msg_sz = LONGEST },
	};

	return device;
}

static void test_connections(void **state)
{
	static const enum ibv_atomic_cap caps[] = { IBV_ATOMIC_NONE, IBV_ATOMIC_HCA,
		IBV_ATOMIC_GLOB };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(caps); i++) {
		struct verbs_device device = device_with(caps[i]);
		bool atomics = caps[i] != IBV_ATOMIC_NONE;
		uint64_t atomic = atomics ? FI_ATOMIC : 0;
		uint64_t order = MSG_ORDER | (atomics ? ATOMIC_ORDER : 0);
		struct verbs_template t;

		verbs_template_msg(&device, FI_SOCKADDR_IN6, &t);
		assert_ptr_equal(t.list[0], &t.info);
		assert_null(t.list[1]);
		assert_int_equal(t.info.addr_format, FI_SOCKADDR_IN6);
		assert_int_equal(t.tx.caps, FI_MSG | FI_RMA | FI_SEND | FI_READ |
						    FI_WRITE | FI_FENCE | FI_TRIGGER |
						    atomic);
		assert_int_equal(t.rx.caps, FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ |
						    FI_REMOTE_WRITE | FI_TRIGGER |
						    atomic);
		assert_int_equal(t.info.caps, t.tx.caps | t.rx.caps | FI_LOCAL_COMM |
						      FI_REMOTE_COMM | FI_PEER);
		assert_int_equal(t.tx.msg_order, order);
		assert_int_equal(t.rx.msg_order, order);
		assert_int_equal(t.tx.inject_size, INLINE);
		assert_int_equal(t.tx.rma_iov_limit, 1);
		assert_true(t.tx.op_flags & FI_FENCE);
		assert_int_equal(t.rx.mode, FI_RX_CQ_DATA);
		assert_int_equal(t.ep.type, FI_EP_MSG);
		assert_int_equal(t.ep.protocol, FI_PROTO_RDMA_CM_IB_RC);
		assert_int_equal(t.ep.protocol_version, 1);
		assert_int_equal(t.ep.max_msg_size, LONGEST);
		assert_int_equal(t.ep.max_order_raw_size, LONGEST);
		assert_int_equal(t.ep.max_order_waw_size, LONGEST);
		assert_int_equal(t.ep.max_order_war_size, 0);
		assert_int_equal(t.domain.mr_key_size, 4);
		assert_int_equal(t.domain.cq_data_size, 4);
		assert_int_equal(t.domain.max_ep_srx_ctx, 7);
		assert_int_equal(t.domain.cq_cnt, 11);
		assert_int_equal(t.domain.ep_cnt, 12);
		assert_int_equal(t.domain.tx_ctx_cnt, 12);
		assert_int_equal(t.domain.rx_ctx_cnt, 12);
		assert_int_equal(t.domain.mr_cnt, 13);
		assert_int_equal(t.domain.mr_mode, FI_MR_LOCAL | FI_MR_VIRT_ADDR |
							   FI_MR_ALLOCATED |
							   FI_MR_PROV_KEY);
	}
}

static void test_datagrams(void **state)
{
	struct verbs_device device = device_with(IBV_ATOMIC_HCA);
	struct verbs_template t;

	(void)state;
	verbs_template_dgram(&device, &t);
	assert_int_equal(t.info.addr_format, FI_ADDR_IB_UD);
	assert_int_equal(t.tx.caps, FI_MSG | FI_SEND);
	assert_int_equal(t.rx.caps, FI_MSG | FI_RECV);
	assert_int_equal(t.info.caps,
		FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(t.domain.caps, FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(t.tx.msg_order | t.rx.msg_order, 0);
	assert_false(t.tx.op_flags & FI_FENCE);
	assert_int_equal(t.tx.rma_iov_limit, 0);
	assert_int_equal(t.tx.inject_size, UD_INLINE);
	assert_int_equal(t.rx.mode, 0);
	assert_int_equal(t.domain.max_ep_srx_ctx, 0);
	assert_int_equal(t.ep.type, FI_EP_DGRAM);
	assert_int_equal(t.ep.protocol, FI_PROTO_IB_UD);
	assert_int_equal(t.ep.max_msg_size, MTU);
	assert_int_equal(t.ep.max_order_raw_size, 0);
	assert_int_equal(t.ep.max_order_waw_size, 0);
	/* A message that can be injected is one that can be sent. */
	device.ud_inline_size = MTU + 1;
	verbs_template_dgram(&device, &t);
	assert_int_equal(t.tx.inject_size, MTU);
}

/* The least of what the parameters say and the device has, where it has a limit. */
static void test_limits(void **state)
{
	static const struct {
		int max_wr;
		size_t size;
	} queues[] = { { 383, 383 }, { 384, 384 }, { 385, 384 }, { 0, 384 }, { 1, 1 } };
	static const struct {
		int max_sge;
		size_t msg, ud;
	} lists[] = { { 3, 3, 2 }, { 4, 4, 3 }, { 5, 4, 4 }, { 6, 4, 4 }, { 2, 2, 1 } };
	static const size_t mtus[] = { 256, 512, 1024, 2048, 4096 };
	struct verbs_device device = device_with(IBV_ATOMIC_NONE);
	struct verbs_template t;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(queues); i++) {
		device.attr.max_qp_wr = queues[i].max_wr;
		verbs_template_msg(&device, FI_SOCKADDR_IN, &t);
		assert_int_equal(t.tx.size, queues[i].size);
		assert_int_equal(t.rx.size, queues[i].size);
	}
	for (size_t i = 0; i < WF_ARRAY_SIZE(lists); i++) {
		device.attr.max_sge = lists[i].max_sge;
		verbs_template_msg(&device, FI_SOCKADDR_IN, &t);
		assert_int_equal(t.tx.iov_limit, lists[i].msg);
		assert_int_equal(t.rx.iov_limit, lists[i].msg);
		/* The routing header takes an entry. */
		verbs_template_dgram(&device, &t);
		assert_int_equal(t.tx.iov_limit, lists[i].msg);
		assert_int_equal(t.rx.iov_limit, lists[i].ud);
	}
	for (size_t i = 0; i < WF_ARRAY_SIZE(mtus); i++) {
		device.port_attr.active_mtu = (enum ibv_mtu)(IBV_MTU_256 + i);
		verbs_template_dgram(&device, &t);
		assert_int_equal(t.ep.max_msg_size, mtus[i]);
	}
	device.attr.max_srq = -1;
	verbs_template_msg(&device, FI_SOCKADDR_IN, &t);
	assert_int_equal(t.domain.max_ep_srx_ctx, 0);
	device.iwarp = true;
	verbs_template_msg(&device, FI_SOCKADDR_IN, &t);
	assert_int_equal(t.ep.protocol, FI_PROTO_IWARP);
}

/* ---- the NIC ---- */

static const uint64_t giga = 1000000000;

static struct fid_nic *nic_of(const struct verbs_device *device)
{
	struct fid_nic *nic = verbs_nic_new(device, &fake_device);

	assert_non_null(nic);
	return nic;
}

static void test_speed(void **state)
{
	static const struct {
		uint8_t speed;
		uint64_t bps;
	} speeds[] = { { 1, 2500000000 }, { 2, 5 * giga }, { 4, 10 * giga },
		{ 8, 10 * giga }, { 16, 14 * giga }, { 32, 25 * giga },
		{ 64, 50 * giga }, { 128, 100 * giga }, { 0, 0 }, { 3, 0 } };
	static const struct {
		uint8_t width;
		unsigned int lanes;
	} widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 }, { 0, 0 },
		{ 3, 0 } };
	struct verbs_device device = device_with(IBV_ATOMIC_NONE);

	(void)state;
	device.name = fake_device.name;
	for (size_t s = 0; s < WF_ARRAY_SIZE(speeds); s++)
		for (size_t w = 0; w < WF_ARRAY_SIZE(widths); w++) {
			struct fid_nic *nic;

			device.port_attr.active_speed = speeds[s].speed;
			device.port_attr.active_width = widths[w].width;
			nic = nic_of(&device);
			assert_int_equal(
				nic->link_attr->speed, speeds[s].bps * widths[w].lanes);
			assert_int_equal(fi_close(&nic->fid), 0);
		}
}

static void test_link(void **state)
{
	static const struct {
		enum ibv_port_state state;
		enum fi_link_state said;
	} states[] = { { IBV_PORT_NOP, FI_LINK_UNKNOWN },
		{ IBV_PORT_DOWN, FI_LINK_DOWN }, { IBV_PORT_INIT, FI_LINK_DOWN },
		{ IBV_PORT_ARMED, FI_LINK_DOWN }, { IBV_PORT_ACTIVE, FI_LINK_UP },
		{ IBV_PORT_ACTIVE_DEFER, FI_LINK_UNKNOWN } };
	static const struct {
		uint8_t layer;
		const char *name;
	} layers[] = { { IBV_LINK_LAYER_UNSPECIFIED, "Unknown" },
		{ IBV_LINK_LAYER_INFINIBAND, "InfiniBand" },
		{ IBV_LINK_LAYER_ETHERNET, "Ethernet" } };
	struct verbs_device device = device_with(IBV_ATOMIC_NONE);
	struct fid_nic *nic;

	(void)state;
	device.name = fake_device.name;
	for (size_t i = 0; i < WF_ARRAY_SIZE(states); i++) {
		device.port_attr.state = states[i].state;
		nic = nic_of(&device);
		assert_int_equal(nic->link_attr->state, states[i].said);
		assert_int_equal(nic->link_attr->mtu, MTU);
		assert_int_equal(fi_close(&nic->fid), 0);
	}
	for (size_t i = 0; i < WF_ARRAY_SIZE(layers); i++) {
		device.port_attr.link_layer = layers[i].layer;
		nic = nic_of(&device);
		assert_string_equal(nic->link_attr->network_type, layers[i].name);
		assert_int_equal(fi_close(&nic->fid), 0);
	}
}

static void test_texts(void **state)
{
	static const uint8_t gid[] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0,
		0, 0x34 };
	struct verbs_device device = device_with(IBV_ATOMIC_NONE);
	struct fid_nic *nic;

	(void)state;
	device.name = fake_device.name;
	device.attr.vendor_id = 0x2c9;
	device.attr.vendor_part_id = 4119;
	device.attr.hw_ver = 3;
	(void)snprintf(device.attr.fw_ver, sizeof(device.attr.fw_ver), "16.1");
	memcpy(device.gid.raw, gid, sizeof(gid));
	nic = nic_of(&device);
	assert_string_equal(nic->device_attr->name, "fake0");
	assert_string_equal(nic->device_attr->vendor_id, "0x02c9");
	assert_string_equal(nic->device_attr->device_id, "4119");
	assert_string_equal(nic->device_attr->device_version, "3");
	assert_string_equal(nic->device_attr->firmware, "16.1");
	assert_string_equal(
		nic->link_attr->address, "fe80000000000001:0002000000000034");
	assert_int_equal(fi_close(&nic->fid), 0);
}

/* ---- discovery ---- */

/* The largest payload that the device takes in a request: what it is asked for, if that
 * is possible; else what is found by search, exactly. */
static void test_inline(void **state)
{
	static const struct {
		size_t asked;
		uint32_t found;
	} rows[] = { { 1, 1 }, { FAKE_INLINE - 1, FAKE_INLINE - 1 },
		{ FAKE_INLINE, FAKE_INLINE }, { FAKE_INLINE + 1, FAKE_INLINE },
		{ 2 * FAKE_INLINE, FAKE_INLINE }, { 0, FAKE_INLINE } };
	size_t before = verbs_params.inline_size;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const struct verbs_device *device;

		verbs_params.inline_size = rows[i].asked;
		(void)verbs_devices(true);
		device = verbs_device_at("fake0", 1);
		assert_non_null(device);
		assert_int_equal(device->inline_size, rows[i].found);
		assert_int_equal(device->ud_inline_size, rows[i].found);
		for (int kind = 0; kind < FAKE_KINDS; kind++)
			assert_int_equal(fake_live[kind], 0);
	}
	verbs_params.inline_size = before;
	(void)verbs_devices(true);
}

/* A device whose context or objects cannot be opened leaves none of them behind. */
static void test_discovery_fails(void **state)
{
	(void)state;
	for (int n = 0; n < 6; n++) {
		fake_successes = n;
		(void)verbs_devices(true);
		fake_successes = -1;
		assert_int_equal(fake_opened, 0);
		for (int kind = 0; kind < FAKE_KINDS; kind++)
			assert_int_equal(fake_live[kind], 0);
	}
	(void)verbs_devices(true);
	assert_non_null(verbs_device_at("fake0", 1));
	assert_int_equal(verbs_device_at("fake0", 1)->inline_size, FAKE_INLINE);
	assert_null(verbs_device_at("fake0", 2));
	assert_null(verbs_device_at("fake", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_discovery_fails),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
