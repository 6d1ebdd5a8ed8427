/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp_fixture.h"

/* CM-029 to CM-034, MSG-015, CQ-042: groups. */

union group {
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* A group of this process alone: the port is one that a node of it holds. */
static union group group_of(const struct node *node, int n)
{
	union group g = { 0 };
	char text[32];

	if (node->name.sa.sa_family == AF_INET6) {
		g.in6 = node->name.in6;
		snprintf(text, sizeof(text), "ff01::%x", 0x7700 + n);
		assert_int_equal(inet_pton(AF_INET6, text, &g.in6.sin6_addr), 1);
	} else {
		g.in = node->name.in;
		snprintf(text, sizeof(text), "239.77.13.%d", n);
		assert_int_equal(inet_pton(AF_INET, text, &g.in.sin_addr), 1);
	}
	return g;
}

/* The event of a group that was joined comes next. */
static void expect_joined(struct net *net, const struct fid_mc *mc, const void *context)
{
	struct fi_eq_entry entry;
	uint32_t event;

	assert_int_equal(
		fi_eq_sread(net->eq, &event, &entry, sizeof(entry), PATIENCE_MS, 0),
		sizeof(entry));
	assert_int_equal(event, FI_JOIN_COMPLETE);
	assert_ptr_equal(entry.fid, &mc->fid);
	assert_ptr_equal(entry.context, context);
}

static struct fid_mc *join(struct node *node, union group *group, uint64_t flags)
{
	struct fid_mc *mc = NULL;
	int ret = fi_join(node->ep, group, flags, &mc, group);

	if (ret == -FI_ENODEV)
		skip(); /* the interface has no multicast */
	assert_int_equal(ret, 0);
	assert_non_null(mc);
	expect_joined(node->net, mc, group);
	assert_int_equal(mc->fid.fclass, FI_CLASS_MC);
	return mc;
}

static ssize_t multicast(
	struct node *from, struct fid_mc *mc, const void *buf, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = fi_mc_addr(mc),
	};

	return fi_sendmsg(from->ep, &msg, FI_MULTICAST);
}

/* A host whose only IPv6 address is the loopback address: an error entry reports that
 * there is no route. */
static bool unroutable(struct net *net)
{
	struct fi_cq_err_entry err = { 0 };

	if (fi_cq_readerr(net->cq, &err, 0) != 1)
		return false;
	assert_int_equal(err.err, ENETUNREACH);
	return true;
}

static void test_members(void **state)
{
	enum { MEMBERS = 3 };

	/* Loopback interfaces have no IPv6 multicast route, as a rule. */
	for (int f = 0; f < 2; f++) {
		struct net net;
		struct node nodes[MEMBERS], other;
		struct fid_mc *mcs[MEMBERS];
		union group group;
		char buf[16];
		int got[MEMBERS + 1] = { 0 };
		fi_addr_t src;

		net_open(&net,
			(struct net_options){ .caps = FI_MSG | FI_MULTICAST | FI_SOURCE,
				.addr_format = formats[f],
				.first_interface = f });
		node_open(&other, &net);
		for (int i = 0; i < MEMBERS; i++)
			node_open(&nodes[i], &net);
		group = group_of(&nodes[0], 1 + f);
		for (int i = 0; i < MEMBERS; i++) {
			mcs[i] = join(&nodes[i], &group, 0);
			must_post(&nodes[i], buf, 16, &got[i]);
		}
		must_post(&other, buf, 16, &got[MEMBERS]);
		assert_int_equal(multicast(&nodes[1], mcs[1], "to all", 6), 0);
		if (f && unroutable(&net)) {
			for (int i = 0; i < MEMBERS; i++) {
				assert_int_equal(fi_close(&mcs[i]->fid), 0);
				node_close(&nodes[i]);
			}
			node_close(&other);
			net_close(&net);
			skip();
		}
		for (int i = 0; i < MEMBERS; i++) {
			struct fi_cq_tagged_entry e = must_receive(&net, &src);

			++*(int *)e.op_context;
			assert_int_equal(e.len, 6);
			assert_int_equal(e.flags, FI_MSG | FI_RECV | FI_MULTICAST);
			assert_int_equal(src, nodes[1].addr);
		}
		for (int i = 0; i <= MEMBERS; i++)
			assert_int_equal(got[i], i < MEMBERS);
		must_be_quiet(&net);
		/* Unicasts still come, and are none. */
		must_post(&nodes[2], buf, 16, NULL);
		must_send(&nodes[0], nodes[2].addr, "you", 3);
		assert_int_equal(must_receive(&net, NULL).flags, FI_MSG | FI_RECV);
		/* A member that left receives no more. */
		assert_int_equal(fi_close(&nodes[2].ep->fid), -FI_EBUSY);
		assert_int_equal(fi_close(&mcs[2]->fid), 0);
		for (int i = 0; i < MEMBERS; i++)
			must_post(&nodes[i], buf, 16, &got[i]);
		assert_int_equal(multicast(&nodes[0], mcs[0], "again", 5), 0);
		must_receive(&net, NULL);
		must_receive(&net, NULL);
		must_be_quiet(&net);
		for (int i = 0; i < MEMBERS; i++) {
			if (i < 2)
				assert_int_equal(fi_close(&mcs[i]->fid), 0);
			node_close(&nodes[i]);
		}
		node_close(&other);
		net_close(&net);
	}
}

/* CM-031: one direction only. */
static void test_directions(void **state)
{
	struct net net;
	struct node sender, receiver;
	struct fid_mc *out, *in;
	union group group;
	char buf[16];

	net_open(&net, (struct net_options){ .caps = FI_MSG | FI_MULTICAST });
	node_open(&sender, &net);
	node_open(&receiver, &net);
	group = group_of(&receiver, 3);
	out = join(&sender, &group, FI_SEND);
	in = join(&receiver, &group, FI_RECV);
	must_post(&sender, buf, 16, &sender);
	must_post(&receiver, buf, 16, &receiver);
	assert_int_equal(multicast(&sender, out, "one way", 7), 0);
	assert_ptr_equal(must_receive(&net, NULL).op_context, &receiver);
	must_be_quiet(&net);
	assert_int_equal(fi_close(&in->fid), 0);
	assert_int_equal(fi_close(&out->fid), 0);
	node_close(&sender);
	node_close(&receiver);
	net_close(&net);
}

/* Several groups of one endpoint, waited for as well. */
static void test_groups(void **state)
{
	enum { GROUPS = 6 };
	struct net net;
	struct node node;
	struct fid_mc *mcs[GROUPS];
	union group groups[GROUPS];
	struct fi_cq_tagged_entry e;
	char buf[16];

	net_open(&net, (struct net_options){
			       .caps = FI_MSG | FI_MULTICAST, .wait_obj = FI_WAIT_FD });
	node_open(&node, &net);
	for (int i = 0; i < GROUPS; i++) {
		groups[i] = group_of(&node, 10 + i);
		mcs[i] = join(&node, &groups[i], 0);
	}
	for (int i = 0; i < 3 * GROUPS; i++) {
		must_post(&node, buf, 16, NULL);
		assert_int_equal(multicast(&node, mcs[i % GROUPS], &i, sizeof(i)), 0);
		do {
			assert_int_equal(
				fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1);
		} while (e.flags & FI_SEND);
		assert_int_equal(e.flags, FI_MSG | FI_RECV | FI_MULTICAST);
		assert_memory_equal(buf, &i, sizeof(i));
	}
	for (int i = 0; i < GROUPS; i++)
		assert_int_equal(fi_close(&mcs[(i + 3) % GROUPS]->fid), 0);
	must_post(&node, buf, 16, NULL);
	must_send(&node, node.addr, "x", 1);
	must_receive(&net, NULL);
	node_close(&node);
	net_close(&net);
}

/* Where groups can be reached at all. */
static void expect_multicast(struct net *net, struct node *node, struct fid_mc *mc)
{
	struct fi_cq_tagged_entry e;
	char buf[16];

	if (multicast(node, mc, "all", 3))
		return;
	must_post(node, buf, 16, NULL);
	if (next_entry(net, &e, NULL) == 1)
		assert_int_equal(e.flags, FI_MSG | FI_RECV | FI_MULTICAST);
}

/* Is this host a member of the IPv4 group, as far as the kernel says? */
static bool is_joined(const union group *group)
{
	FILE *groups = fopen("/proc/net/igmp", "re");
	char line[256], wanted[16];
	bool found = false;

	assert_non_null(groups);
	(void)snprintf(wanted, sizeof(wanted), "%08X", group->in.sin_addr.s_addr);
	while (fgets(line, sizeof(line), groups))
		found |= strstr(line, wanted) != NULL;
	(void)fclose(groups);
	return found;
}

/* Bound to no address: the endpoint's own socket is the member. */
static void test_wildcard(void **state)
{
	for (int f = 0; f < 2; f++) {
		struct net net;
		struct node node = { .net = &net };
		union group group, second;
		struct fid_mc *mc, *second_mc;
		char buf[16];

		net_open(&net,
			(struct net_options){ .caps = FI_MSG | FI_MULTICAST | FI_SOURCE,
				.addr_format = formats[f] });
		if (f)
			((struct sockaddr_in6 *)net.info->src_addr)->sin6_addr =
				in6addr_any;
		else
			((struct sockaddr_in *)net.info->src_addr)->sin_addr.s_addr = 0;
		node_open_unknown(&node, &net);
		if (f)
			node.name.in6.sin6_addr = in6addr_loopback;
		else
			node.name.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		node_insert(&node);
		group = group_of(&node, 5);
		if (f)
			group.in6.sin6_scope_id = 1;
		if (fi_join(node.ep, &group, 0, &mc, NULL)) {
			node_close(&node); /* no route for groups on this host */
			net_close(&net);
			skip();
		}
		expect_joined(&net, mc, NULL);
		must_post(&node, buf, 16, NULL);
		must_send(&node, node.addr, "you", 3);
		assert_int_equal(must_receive(&net, NULL).flags, FI_MSG | FI_RECV);
		expect_multicast(&net, &node, mc);
		/* Leaving another group changes nothing for this one. */
		second = group_of(&node, 6);
		if (f)
			second.in6.sin6_scope_id = 1;
		second_mc = join(&node, &second, 0);
		expect_multicast(&net, &node, second_mc);
		assert_true(f || is_joined(&second));
		assert_int_equal(fi_close(&second_mc->fid), 0);
		assert_false(!f && is_joined(&second));
		expect_multicast(&net, &node, mc);
		assert_int_equal(fi_close(&mc->fid), 0);
		node_close(&node);
		net_close(&net);
	}
}

/* ---- asleep ---- */

/* Is the queue's descriptor readable, now or, if @wanted, soon? */
static bool is_readable(struct net *net, bool wanted)
{
	struct pollfd pfd = { .events = POLLIN };

	assert_int_equal(fi_control(&net->cq->fid, FI_GETWAIT, &pfd.fd), 0);
	return poll(&pfd, 1, wanted ? PATIENCE_MS : 0) == 1;
}

/* Prepare to sleep; nothing is in the queue. */
static void arm(struct net *net)
{
	struct fid *fid = &net->cq->fid;
	struct fi_cq_tagged_entry e;

	while (fi_trywait(net->fabric, &fid, 1) == -FI_EAGAIN) {
		ssize_t ret = fi_cq_read(net->cq, &e, 1);

		assert_true(ret == -FI_EAGAIN || (ret == 1 && e.flags & FI_SEND));
	}
	assert_false(is_readable(net, false));
}

/* The receive gets a datagram by this call, after the sleepers were woken. */
static void must_wake(struct net *net, uint64_t flags)
{
	assert_true(is_readable(net, true));
	assert_int_equal(must_receive(net, NULL).flags, FI_MSG | FI_RECV | flags);
}

static void inject_group(struct node *node, struct fid_mc *mc)
{
	struct iovec iov = { (void *)(uintptr_t) "all", 3 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = fi_mc_addr(mc) };

	assert_int_equal(fi_sendmsg(node->ep, &msg, FI_MULTICAST | FI_INJECT), 0);
}

/* A thread sleeps while groups are joined and left: it wakes for the datagrams of those
 * that are joined and for its own, while a receive is posted. */
static void test_asleep(void **state)
{
	enum { GROUPS = 3 };
	struct net net, other;
	struct node node, sender;
	struct fid_mc *mcs[GROUPS], *out[GROUPS];
	union group groups[GROUPS];
	fi_addr_t to;
	char buf[16];

	net_open(&net, (struct net_options){
			       .caps = FI_MSG | FI_MULTICAST, .wait_obj = FI_WAIT_FD });
	net_open(&other, (struct net_options){ .caps = FI_MSG | FI_MULTICAST });
	node_open(&node, &net);
	node_open(&sender, &other);
	assert_int_equal(fi_av_insert(other.av, &node.name, 1, &to, 0, NULL), 1);
	for (int i = 0; i < GROUPS; i++) {
		groups[i] = group_of(&node, 20 + i);
		out[i] = join(&sender, &groups[i], FI_SEND);
	}
	for (int round = 0; round < 2; round++) {
		/* With a receive posted before, and after. */
		if (round)
			must_post(&node, buf, 16, NULL);
		arm(&net);
		for (int i = 0; i < GROUPS; i++)
			mcs[i] = join(&node, &groups[i], FI_RECV);
		for (int i = 0; i < GROUPS; i++) {
			inject_group(&sender, out[i]);
			if (!round) {
				arm(&net);
				must_post(&node, buf, 16, NULL);
			}
			must_wake(&net, FI_MULTICAST);
			if (round)
				must_post(&node, buf, 16, NULL);
			arm(&net);
		}
		/* The others still wake it after one was left. */
		for (int i = 0; i < GROUPS; i++) {
			assert_int_equal(fi_close(&mcs[i]->fid), 0);
			assert_false(is_readable(&net, false));
			inject_group(&sender, out[i]);
			assert_false(is_readable(&net, false));
			if (i + 1 < GROUPS)
				inject_group(&sender, out[GROUPS - 1]);
			else
				must_send(&sender, to, "you", 3);
			if (!round)
				must_post(&node, buf, 16, NULL);
			must_wake(&net, i + 1 < GROUPS ? FI_MULTICAST : 0);
			if (round)
				must_post(&node, buf, 16, NULL);
			arm(&net);
		}
		if (round)
			assert_int_equal(fi_cancel(&node.ep->fid, NULL), 0);
	}
	for (int i = 0; i < GROUPS; i++)
		assert_int_equal(fi_close(&out[i]->fid), 0);
	node_close(&sender);
	node_close(&node);
	net_close(&other);
	net_close(&net);
}

/* Groups of more than the table first has, closed and joined in every order: each has a
 * number of its own, and datagrams go to the one that is named. */
static void test_numbers(void **state)
{
	enum { GROUPS = 9 };
	struct net net;
	struct node node;
	struct fid_mc *mcs[GROUPS];
	union group groups[GROUPS];
	char buf[16];

	net_open(&net, (struct net_options){ .caps = FI_MSG | FI_MULTICAST });
	node_open(&node, &net);
	for (int i = 0; i < GROUPS; i++) {
		groups[i] = group_of(&node, 40 + i);
		mcs[i] = join(&node, &groups[i], i % 2 ? 0 : FI_SEND);
		assert_int_equal(fi_mc_addr(mcs[i]), i);
	}
	/* A number that is free is used again, the lowest first. */
	for (int i = 0; i < GROUPS; i += 3) {
		struct fi_msg msg = { .addr = (fi_addr_t)i };

		assert_int_equal(fi_close(&mcs[i]->fid), 0);
		assert_int_equal(fi_sendmsg(node.ep, &msg, FI_MULTICAST), -FI_EINVAL);
	}
	for (int i = 0; i < GROUPS; i += 3) {
		mcs[i] = join(&node, &groups[i], 0);
		assert_int_equal(fi_mc_addr(mcs[i]), i);
	}
	for (int i = 0; i < GROUPS; i++) {
		bool heard = i % 2 || i % 3 == 0;

		must_post(&node, buf, 16, NULL);
		inject_group(&node, mcs[i]);
		if (!heard)
			must_send(&node, node.addr, "you", 3);
		assert_int_equal(must_receive(&net, NULL).flags,
			FI_MSG | FI_RECV | (heard ? FI_MULTICAST : 0));
	}
	for (int i = 0; i < GROUPS; i++)
		assert_int_equal(fi_close(&mcs[i]->fid), 0);
	node_close(&node);
	net_close(&net);
}

static void test_refusals(void **state)
{
	struct net net;
	struct node node;
	struct fid_ep *bare;
	struct fid_mc *mc = NULL;
	union group group, unicast;
	struct iovec iov = { (void *)"x", 1 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };

	net_open(&net, (struct net_options){ .caps = FI_MSG | FI_MULTICAST });
	node_open(&node, &net);
	group = group_of(&node, 4);
	unicast.in = node.name.in;
	assert_int_equal(fi_join(node.ep, &unicast, 0, &mc, NULL), -FI_EINVAL);
	assert_int_equal(fi_join(node.ep, NULL, 0, &mc, NULL), -FI_EINVAL);
	assert_int_equal(fi_join(node.ep, &group, FI_READ, &mc, NULL), -FI_EBADFLAGS);
	assert_int_equal(
		fi_join(node.ep, &group, FI_COLLECTIVE, &mc, NULL), -FI_ENOSYS);
	group.in.sin_port = 0;
	assert_int_equal(fi_join(node.ep, &group, 0, &mc, NULL), -FI_EINVAL);
	group = group_of(&node, 4);
	assert_int_equal(fi_sendmsg(node.ep, &msg, FI_MULTICAST), -FI_EINVAL);
	msg.addr = 1000000;
	assert_int_equal(fi_sendmsg(node.ep, &msg, FI_MULTICAST), -FI_EINVAL);

	/* CM-029, and before it is enabled */
	assert_int_equal(fi_endpoint(net.domain, net.info, &bare, NULL), 0);
	assert_int_equal(fi_join(bare, &group, 0, &mc, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(bare, &net.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(bare, &net.av->fid, 0), 0);
	assert_int_equal(fi_enable(bare), 0);
	assert_int_equal(fi_join(bare, &group, 0, &mc, NULL), -FI_ENOEQ);
	assert_null(mc);
	/* A domain's queue will do. */
	assert_int_equal(fi_domain_bind(net.domain, &net.eq->fid, 0), 0);
	assert_int_equal(fi_join(bare, &group, FI_SEND, &mc, NULL), 0);
	assert_int_equal(fi_close(&mc->fid), 0);
	assert_int_equal(fi_close(&bare->fid), 0);
	node_close(&node);
	assert_int_equal(fi_close(&net.av->fid), 0);
	assert_int_equal(fi_close(&net.cq->fid), 0);
	assert_int_equal(fi_close(&net.domain->fid), 0);
	assert_int_equal(fi_close(&net.eq->fid), 0);
	assert_int_equal(fi_close(&net.fabric->fid), 0);
	fi_freeinfo(net.info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_wildcard),
		cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("udp_multicast", tests, NULL, NULL);
}
