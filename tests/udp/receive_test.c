/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp_fixture.h"

/* What becomes of datagrams of every size in buffers of every shape. */

/* MSG-017, MSG-004, MSG-005: to self, from nothing to the largest. */
static void test_sizes(void **state)
{
	for (int f = 0; f < 2; f++) {
		struct net net;
		struct node node;
		size_t max;
		uint8_t *tx, *rx;

		net_open(&net, (struct net_options){
				       .caps = FI_MSG, .addr_format = formats[f] });
		node_open(&node, &net);
		max = net.info->ep_attr->max_msg_size;
		assert_int_equal(max, f ? 65527 : 65507);
		tx = malloc(max + 1);
		rx = malloc(max + 1);
		for (size_t i = 0; i < max; i++)
			tx[i] = (uint8_t)(i * 7 + i / 256);
		for (size_t len = 0; len <= max; len = len ? len * 3 : 1) {
			struct fi_cq_tagged_entry e;

			if (len * 3 > max && len < max)
				len = max;
			memset(rx, 0, len);
			must_post(&node, rx, max, &len);
			must_send(&node, node.addr, tx, len);
			e = must_receive(&net, NULL);
			assert_int_equal(e.len, len);
			assert_int_equal(e.flags, FI_MSG | FI_RECV); /* CQ-039 */
			assert_ptr_equal(e.op_context, &len);
			assert_memory_equal(rx, tx, len);
		}
		assert_int_equal(fi_send(node.ep, tx, max + 1, NULL, node.addr, NULL),
			-FI_EMSGSIZE);
		assert_int_equal(fi_inject(node.ep, tx, net.info->tx_attr->inject_size,
					 node.addr),
			0);
		free(tx);
		free(rx);
		node_close(&node);
		net_close(&net);
	}
}

/* Scattered and gathered. */
static void test_iov(void **state)
{
	struct net net;
	struct node node;
	char a[3], b[1], c[100];
	struct iovec to[] = { { a, 3 }, { b, 0 }, { b, 1 }, { c, 100 } };
	struct iovec from[] = { { (void *)"one", 3 }, { (void *)"-", 1 },
		{ (void *)"two three", 9 } };
	struct fi_cq_tagged_entry e;

	net_open(&net, (struct net_options){ .caps = FI_MSG | FI_SOURCE });
	node_open(&node, &net);
	assert_int_equal(fi_recvv(node.ep, to, NULL, 4, FI_ADDR_UNSPEC, NULL), 0);
	assert_int_equal(fi_sendv(node.ep, from, NULL, 3, node.addr, NULL), 0);
	e = must_receive(&net, NULL);
	assert_int_equal(e.len, 13);
	assert_memory_equal(a, "one", 3);
	assert_memory_equal(b, "-", 1);
	assert_memory_equal(c, "two three", 9);
	node_close(&node);
	net_close(&net);
}

/* CQ-045: what fitted, and what did not. */
static void test_truncation(void **state)
{
	struct net net;
	struct node node;
	char buf[16];
	struct iovec iov[] = { { buf, 4 }, { buf + 4, 6 } };
	struct fi_cq_err_entry err = { 0 };

	for (int vector = 0; vector < 2; vector++) {
		net_open(&net, (struct net_options){ .caps = FI_MSG });
		node_open(&node, &net);
		memset(buf, '#', sizeof(buf));
		if (vector)
			assert_int_equal(
				fi_recvv(node.ep, iov, NULL, 2, FI_ADDR_UNSPEC, iov),
				0);
		else
			must_post(&node, buf, 10, iov);
		must_send(&node, node.addr, "0123456789abcdef", 16);
		err = (struct fi_cq_err_entry){ 0 };
		must_fail(&net, &err);
		assert_int_equal(err.err, FI_ETRUNC);
		assert_int_equal(err.len, 10);
		assert_int_equal(err.olen, 6);
		assert_int_equal(err.flags, FI_MSG | FI_RECV);
		assert_ptr_equal(err.op_context, iov);
		assert_memory_equal(buf, "0123456789######", 16);
		/* The next message is whole. */
		must_post(&node, buf, 16, NULL);
		must_send(&node, node.addr, "next", 4);
		assert_int_equal(must_receive(&net, NULL).len, 4);
		node_close(&node);
		net_close(&net);
	}
}

static void post_multi(struct node *node, void *buf, size_t len, uint64_t flags)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = buf };

	assert_int_equal(fi_recvmsg(node->ep, &msg, FI_MULTI_RECV | flags), 0);
}

/* MRV-001 to MRV-004, MRV-006, MRV-007 */
static void test_multi_recv(void **state)
{
	struct net net;
	struct node node;
	char buf[100], plain[100];
	size_t min = 20;
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err = { 0 };

	net_open(&net, (struct net_options){ .caps = FI_MSG | FI_MULTI_RECV });
	node_open(&node, &net);
	assert_int_equal(fi_setopt(&node.ep->fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
	post_multi(&node, buf, 100, 0);
	must_post(&node, plain, 100, plain);

	memset(plain, 'x', sizeof(plain));
	for (int i = 0; i < 3; i++) {
		static const size_t lens[] = { 40, 0, 40 };
		static const size_t at[] = { 0, 40, 40 };

		must_send(&node, node.addr, plain, lens[i]);
		e = must_receive(&net, NULL);
		assert_ptr_equal(e.op_context, buf);
		assert_ptr_equal(e.buf, buf + at[i]);
		assert_int_equal(e.len, lens[i]);
		/* 20 bytes are left, which is not below the minimum */
		assert_int_equal(e.flags, FI_MSG | FI_RECV);
	}
	must_send(&node, node.addr, plain, 1);
	e = must_receive(&net, NULL);
	assert_ptr_equal(e.buf, buf + 80);
	assert_int_equal(e.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
	must_send(&node, node.addr, "y", 1);
	e = must_receive(&net, NULL);
	assert_ptr_equal(e.op_context, plain);
	assert_null(e.buf); /* CQ-036 */

	/* Too long for what is left: truncated, then released by an entry of its
	 * own. */
	post_multi(&node, buf, 50, 0);
	must_send(&node, node.addr, plain, 60);
	must_fail(&net, &err);
	assert_int_equal(err.err, FI_ETRUNC);
	assert_int_equal(err.len, 50);
	assert_int_equal(err.olen, 10);
	e = must_receive(&net, NULL);
	assert_int_equal(e.flags, FI_MULTI_RECV);
	assert_ptr_equal(e.op_context, buf);
	node_close(&node);
	net_close(&net);
}

/* MRV-005: the release is reported although successes are not. */
static void test_multi_recv_selective(void **state)
{
	struct net net;
	struct fid_ep *ep;
	struct node node = { .net = &net };
	char buf[64];
	struct fi_cq_tagged_entry e;

	net_open(&net, (struct net_options){ .caps = FI_MSG | FI_MULTI_RECV });
	assert_int_equal(fi_endpoint(net.domain, net.info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &net.cq->fid,
				 FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION),
		0);
	assert_int_equal(fi_ep_bind(ep, &net.av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	node.ep = ep;
	node.name_len = sizeof(node.name);
	assert_int_equal(fi_getname(&ep->fid, &node.name, &node.name_len), 0);
	node_insert(&node);
	post_multi(&node, buf, 64, 0);
	must_send(&node, node.addr, buf, 64);
	e = must_receive(&net, NULL);
	assert_int_equal(e.flags, FI_MULTI_RECV);
	assert_ptr_equal(e.op_context, buf);
	must_be_quiet(&net);
	node_close(&node);
	net_close(&net);
}

/* EP-032 to EP-036 */
static void test_cancel(void **state)
{
	struct net net;
	struct node node;
	char buf[4][8];
	int a, b;
	struct fi_cq_err_entry err = { 0 };

	net_open(&net, (struct net_options){ .caps = FI_MSG });
	node_open(&node, &net);
	must_post(&node, buf[0], 8, &a);
	must_post(&node, buf[1], 8, &b);
	must_post(&node, buf[2], 8, &b);
	must_post(&node, buf[3], 8, NULL);
	assert_int_equal(fi_cancel(&node.ep->fid, &err), 0);
	assert_int_equal(fi_cancel(&node.ep->fid, NULL), 0);
	must_be_quiet(&net);
	assert_int_equal(fi_cancel(&node.ep->fid, &b), 0);
	must_fail(&net, &err);
	assert_int_equal(err.err, FI_ECANCELED);
	assert_ptr_equal(err.op_context, &b);
	assert_int_equal(err.flags, FI_MSG | FI_RECV);
	must_be_quiet(&net);
	/* The others keep their order. */
	for (int i = 0; i < 3; i++)
		must_send(&node, node.addr, &"abc"[i], 1);
	assert_ptr_equal(must_receive(&net, NULL).op_context, &a);
	assert_ptr_equal(must_receive(&net, NULL).op_context, &b);
	assert_null(must_receive(&net, NULL).op_context);
	assert_int_equal(buf[0][0], 'a');
	assert_int_equal(buf[2][0], 'b');
	assert_int_equal(buf[3][0], 'c');
	node_close(&node);
	net_close(&net);
}

/* Not through the deprecated inline. EP-039 */
static ssize_t rx_left(struct node *node)
{
	return node->ep->ops->rx_size_left(node->ep);
}

/* MSG-002: a full queue of receives; nothing is lost when it empties. EP-027. */
static void test_full(void **state)
{
	struct net net;
	struct node node;
	char buf[8];
	size_t posted = 0;

	net_open(&net, (struct net_options){ .caps = FI_MSG });
	node_open(&node, &net);
	assert_true(rx_left(&node) >= (ssize_t)net.info->rx_attr->size);
	while (!fi_recv(node.ep, buf, 8, NULL, FI_ADDR_UNSPEC, NULL))
		posted++;
	assert_true(posted >= net.info->rx_attr->size);
	assert_int_equal(
		fi_recv(node.ep, buf, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_EAGAIN);
	assert_int_equal(rx_left(&node), 0);
	for (size_t i = 0; i < posted; i++) {
		must_send(&node, node.addr, "x", 1);
		assert_int_equal(must_receive(&net, NULL).len, 1);
	}
	assert_int_equal(rx_left(&node), posted);
	must_post(&node, buf, 8, NULL);
	node_close(&node); /* with a receive outstanding: nothing is reported */
	must_be_quiet(&net);
	net_close(&net);
}

/* EP-009: many endpoints on one queue. A burst waits in the sockets. */
static void test_many_endpoints(void **state)
{
	enum { NODES = 50, EACH = 20 };
	struct net net;
	struct node nodes[NODES];
	char buf[8];
	int got[NODES] = { 0 };

	net_open(&net, (struct net_options){ .caps = FI_MSG });
	for (int i = 0; i < NODES; i++)
		node_open(&nodes[i], &net);
	for (int i = 0; i < NODES * EACH; i++)
		must_send(
			&nodes[i % NODES], nodes[(i + i / NODES) % NODES].addr, "x", 1);
	for (int i = 0; i < NODES * EACH; i++)
		must_post(&nodes[i % NODES], buf, 8, &got[i % NODES]);
	for (int i = 0; i < NODES * EACH; i++)
		++*(int *)must_receive(&net, NULL).op_context;
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(got[i], EACH);
		node_close(&nodes[i]);
	}
	net_close(&net);
}

/* CM-023 to CM-026 */
static void test_names(void **state)
{
	struct net net;
	struct fid_ep *ep;
	struct sockaddr_in first, second, wanted;
	size_t len = 4;

	net_open(&net, (struct net_options){ .caps = FI_MSG });
	assert_int_equal(fi_endpoint(net.domain, net.info, &ep, NULL), 0);
	memset(&first, 0xee, sizeof(first));
	assert_int_equal(fi_getname(&ep->fid, &first, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(first));
	assert_int_equal(((uint8_t *)&first)[4], 0xee);
	assert_int_equal(fi_getname(&ep->fid, &first, &len), 0);
	assert_int_not_equal(first.sin_port, 0);

	wanted = first;
	wanted.sin_port = 0;
	assert_int_equal(fi_setname(&ep->fid, &wanted, sizeof(wanted)), 0);
	assert_int_equal(fi_getname(&ep->fid, &second, &len), 0);
	assert_int_not_equal(second.sin_port, first.sin_port);
	assert_int_equal(fi_setname(&ep->fid, &first, sizeof(first)), 0);
	assert_int_equal(fi_getname(&ep->fid, &second, &len), 0);
	assert_memory_equal(&first, &second, 8);

	wanted.sin_family = AF_INET6;
	assert_int_equal(fi_setname(&ep->fid, &wanted, sizeof(wanted)), -FI_EINVAL);
	wanted = first;
	assert_int_equal(fi_setname(&ep->fid, &wanted, 3), -FI_EINVAL);
	wanted.sin_addr.s_addr = inet_addr("198.51.100.1"); /* not ours */
	assert_int_equal(
		fi_setname(&ep->fid, &wanted, sizeof(wanted)), -FI_EADDRNOTAVAIL);
	assert_int_equal(fi_getname(&ep->fid, &second, &len), 0);
	assert_memory_equal(&first, &second, 8);

	assert_int_equal(fi_ep_bind(ep, &net.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &net.av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_setname(&ep->fid, &first, sizeof(first)), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&ep->fid), 0);
	net_close(&net);
}

/* MSG-008, CS-008: addresses that are not there or cannot be reached. */
static void test_bad_destinations(void **state)
{
	struct net net;
	struct node node;
	struct sockaddr_in broadcast = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_BROADCAST),
	};
	struct fi_cq_err_entry err = { 0 };
	fi_addr_t to;

	net_open(&net, (struct net_options){ .caps = FI_MSG });
	node_open(&node, &net);
	assert_int_equal(fi_send(node.ep, "x", 1, NULL, 77, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_send(node.ep, "x", 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	/* The kernel refuses broadcasts that were not asked for. */
	assert_int_equal(fi_av_insert(net.av, &broadcast, 1, &to, 0, NULL), 1);
	assert_int_equal(fi_inject(node.ep, "x", 1, to), 0);
	must_fail(&net, &err);
	assert_true(err.err > 0);
	assert_ptr_equal(err.op_context, &node); /* EP-037 */
	assert_int_equal(err.flags, FI_MSG | FI_SEND);
	/* A datagram to a port without a listener is no error (THR-011), also not of
	 * the next message. */
	broadcast.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(fi_av_insert(net.av, &broadcast, 1, &to, 0, NULL), 1);
	for (int i = 0; i < 10; i++) {
		char buf[4];

		must_send(&node, to, "x", 1);
		must_post(&node, buf, 4, NULL);
		must_send(&node, node.addr, "y", 1);
		assert_int_equal(must_receive(&net, NULL).len, 1);
	}
	node_close(&node);
	net_close(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_iov),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_multi_recv),
		cmocka_unit_test(test_multi_recv_selective),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_many_endpoints),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bad_destinations),
	};

	return cmocka_run_group_tests_name("udp_receive", tests, NULL, NULL);
}
