/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp_fixture.h"

/* Blocking: woken by datagrams, and asleep while there is nothing to do. */

static uint64_t cpu_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static uint64_t context_switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)r.ru_nvcsw;
}

struct later {
	struct node *from;
	fi_addr_t to;
};

static void *send_later(void *arg)
{
	struct later *later = arg;

	(void)usleep(20000);
	must_send(later->from, later->to, "late", 4);
	return NULL;
}

static void net_open_waiting(struct net *net, enum fi_wait_obj obj, enum fi_threading t)
{
	net_open(net, (struct net_options){
			      .caps = FI_MSG, .wait_obj = obj, .threading = t });
}

/* CQ-020: a datagram signals every kind of wait object. */
static void test_woken(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,
		FI_WAIT_POLLFD, FI_WAIT_YIELD, FI_WAIT_MUTEX_COND };

	for (size_t i = 0; i < sizeof(objs) / sizeof(objs[0]); i++) {
		struct net net, other;
		struct node to, from;
		struct fi_cq_tagged_entry e;
		struct later later = { &from, 0 };
		pthread_t thread;
		char buf[8];

		/* The sender's completions go elsewhere. */
		net_open_waiting(&net, objs[i], FI_THREAD_SAFE);
		net_open_waiting(&other, FI_WAIT_NONE, FI_THREAD_SAFE);
		node_open(&to, &net);
		node_open(&from, &other);
		assert_int_equal(
			fi_av_insert(other.av, &to.name, 1, &later.to, 0, NULL), 1);
		must_post(&to, buf, 8, &buf);
		assert_int_equal(pthread_create(&thread, NULL, send_later, &later), 0);
		assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1);
		assert_ptr_equal(e.op_context, &buf);
		assert_int_equal(pthread_join(thread, NULL), 0);
		node_close(&from);
		node_close(&to);
		net_close(&other);
		net_close(&net);
	}
}

/* A datagram for which there is no receive must not keep the sleeping thread awake. */
static void test_no_receive_no_spin(void **state)
{
	struct net net;
	struct node node;
	struct fi_cq_tagged_entry e;
	uint64_t cpu, switches;
	char buf[8];

	net_open_waiting(&net, FI_WAIT_FD, FI_THREAD_SAFE);
	node_open(&node, &net);
	must_send(&node, node.addr, "x", 1);
	assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1); /* sent */
	for (int i = 0; i < 2; i++) {
		cpu = cpu_us();
		switches = context_switches();
		assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, 300), -FI_EAGAIN);
		/* Spinning would take all of the 300 ms. */
		assert_in_range(cpu_us() - cpu, 0, 100000);
		assert_in_range(context_switches() - switches, 0, 100);
		/* Once it was taken and another one came, the same again. */
		must_post(&node, buf, 8, NULL);
		assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1);
		assert_int_equal(e.flags, FI_MSG | FI_RECV);
		assert_int_equal(fi_inject(node.ep, "y", 1, node.addr), 0);
	}
	node_close(&node);
	net_close(&net);
}

struct poster {
	struct node *node;
	char *buf;
};

static void *post_later(void *arg)
{
	struct poster *p = arg;

	(void)usleep(20000);
	must_post(p->node, p->buf, 8, p);
	return NULL;
}

/* ... and posting the receive wakes it. */
static void test_posting_wakes(void **state)
{
	struct net net;
	struct node node;
	struct fi_cq_tagged_entry e;
	struct poster poster;
	pthread_t thread;
	char buf[8];

	net_open_waiting(&net, FI_WAIT_FD, FI_THREAD_SAFE);
	node_open(&node, &net);
	poster = (struct poster){ &node, buf };
	for (int i = 0; i < 20; i++) {
		assert_int_equal(fi_inject(node.ep, "x", 1, node.addr), 0);
		assert_int_equal(pthread_create(&thread, NULL, post_later, &poster), 0);
		assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1);
		assert_ptr_equal(e.op_context, &poster);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	node_close(&node);
	net_close(&net);
}

/* POL-009 to POL-012 with poll(2), as programs with their own loop do it. */
static void test_trywait(void **state)
{
	struct net net;
	struct node node;
	struct fi_cq_tagged_entry e;
	struct pollfd pfd = { .events = POLLIN };
	struct fid *fids[1];
	char buf[8];

	net_open_waiting(&net, FI_WAIT_FD, FI_THREAD_DOMAIN);
	node_open(&node, &net);
	fids[0] = &net.cq->fid;
	assert_int_equal(fi_control(&net.cq->fid, FI_GETWAIT, &pfd.fd), 0);
	for (int i = 0; i < 100; i++) {
		must_post(&node, buf, 8, &buf);
		while (fi_trywait(net.fabric, fids, 1) == -FI_EAGAIN)
			assert_int_equal(fi_cq_read(net.cq, &e, 1), -FI_EAGAIN);
		assert_int_equal(poll(&pfd, 1, 0), 0);
		assert_int_equal(fi_inject(node.ep, "x", 1, node.addr), 0);
		assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
		assert_int_equal(fi_cq_read(net.cq, &e, 1), 1);
	}
	/* A datagram and no receive: quiet. */
	assert_int_equal(fi_inject(node.ep, "x", 1, node.addr), 0);
	while (fi_trywait(net.fabric, fids, 1) == -FI_EAGAIN)
		assert_int_equal(fi_cq_read(net.cq, &e, 1), -FI_EAGAIN);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	must_post(&node, buf, 8, &buf);
	assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
	node_close(&node);
	net_close(&net);
}

/* THR-006: the application sleeps on a mutex and condition of its own, so the progress
 * thread alone can have moved the datagram. */
static void test_auto_progress(void **state)
{
	struct net net;
	struct node node;
	struct fi_mutex_cond wait;
	struct timespec until;
	struct fi_cq_tagged_entry e;
	struct fid *fids[1];
	int ret = 0;
	char buf[8];

	net_open(&net, (struct net_options){ .caps = FI_MSG,
			       .wait_obj = FI_WAIT_MUTEX_COND,
			       .progress = FI_PROGRESS_AUTO });
	node_open(&node, &net);
	fids[0] = &net.cq->fid;
	assert_int_equal(fi_control(&net.cq->fid, FI_GETWAIT, &wait), 0);
	must_post(&node, buf, 8, NULL);
	assert_int_equal(fi_inject(node.ep, "auto", 4, node.addr), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	pthread_mutex_lock(wait.mutex);
	while (!ret && fi_trywait(net.fabric, fids, 1) == 0)
		ret = pthread_cond_timedwait(wait.cond, wait.mutex, &until);
	pthread_mutex_unlock(wait.mutex);
	assert_int_equal(ret, 0);
	assert_int_equal(fi_cq_read(net.cq, &e, 1), 1);
	assert_memory_equal(buf, "auto", 4);
	node_close(&node);
	net_close(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_woken),
		cmocka_unit_test(test_no_receive_no_spin),
		cmocka_unit_test(test_posting_wakes),
		cmocka_unit_test(test_trywait),
		cmocka_unit_test(test_auto_progress),
	};

	return cmocka_run_group_tests_name("udp_wait", tests, NULL, NULL);
}
