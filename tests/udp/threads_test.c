/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp_fixture.h"

/* THR-001: everything at once on one endpoint of an FI_THREAD_SAFE domain. Run under
 * ThreadSanitizer, this is what shows that the locks are where they belong. */

enum { SENDERS = 3, READERS = 2, MESSAGES = 3000 };

struct shared {
	struct net net;
	struct node node;
	_Atomic unsigned int sent, received, failed;
	_Atomic bool stop;
	char buf[8];
};

static void *sender(void *arg)
{
	struct shared *s = arg;

	/* As fast as the readers follow: a datagram more would be dropped. */
	while (!s->stop) {
		if (s->sent - s->received > 50 || s->sent >= MESSAGES) {
			(void)sched_yield();
			continue;
		}
		s->sent++;
		if (fi_inject(s->node.ep, "x", 1, s->node.addr))
			s->failed++;
	}
	return NULL;
}

static void *reader(void *arg)
{
	struct shared *s = arg;
	struct fi_cq_tagged_entry e[4];
	struct fi_cq_err_entry err = { 0 };

	while (!s->stop) {
		ssize_t n = fi_cq_sread(s->net.cq, e, 4, NULL, 10);

		if (n == -FI_EAVAIL)
			(void)fi_cq_readerr(s->net.cq, &err, 0);
		for (ssize_t i = 0; i < n; i++) {
			if (fi_recv(s->node.ep, s->buf, 0, NULL, FI_ADDR_UNSPEC, s))
				s->failed++;
			s->received++;
		}
	}
	return NULL;
}

/* Control calls in between. */
static void *meddler(void *arg)
{
	struct shared *s = arg;
	struct fi_cq_tagged_entry e;
	struct sockaddr_in other = s->node.name.in;
	size_t min = 1;
	fi_addr_t addr;

	while (!s->stop) {
		struct fid_ep *alias = NULL;

		(void)fi_cq_signal(s->net.cq);
		(void)fi_cq_read(s->net.cq, &e, 0);
		(void)fi_setopt(&s->node.ep->fid, FI_OPT_ENDPOINT,
			FI_OPT_MIN_MULTI_RECV, &min, sizeof(min));
		if (!fi_ep_alias(s->node.ep, &alias, FI_TRANSMIT | FI_MORE))
			(void)fi_close(&alias->fid);
		(void)fi_cancel(&s->node.ep->fid, &other);
		other.sin_port++;
		if (other.sin_port &&
			fi_av_insert(s->net.av, &other, 1, &addr, 0, NULL) == 1)
			(void)fi_av_remove(s->net.av, &addr, 1, 0);
	}
	return NULL;
}

static void test_threads(void **state)
{
	static struct shared s;
	pthread_t threads[SENDERS + READERS + 1];
	uint64_t end = now_ms() + 3 * PATIENCE_MS;
	size_t n = 0;

	net_open(&s.net, (struct net_options){ .caps = FI_MSG | FI_SOURCE,
				 .threading = FI_THREAD_SAFE,
				 .wait_obj = FI_WAIT_FD });
	node_open(&s.node, &s.net);
	for (int i = 0; i < 200; i++)
		assert_int_equal(
			fi_recv(s.node.ep, s.buf, 1, NULL, FI_ADDR_UNSPEC, &s), 0);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[n++], NULL, reader, &s), 0);
	for (int i = 0; i < SENDERS; i++)
		assert_int_equal(pthread_create(&threads[n++], NULL, sender, &s), 0);
	assert_int_equal(pthread_create(&threads[n++], NULL, meddler, &s), 0);
	while (s.received < 150 && now_ms() < end)
		(void)usleep(1000);
	s.stop = true;
	while (n)
		assert_int_equal(pthread_join(threads[--n], NULL), 0);
	assert_true(s.received >= 150);
	assert_int_equal(s.failed, 0);
	node_close(&s.node);
	net_close(&s.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("udp_threads", tests, NULL, NULL);
}
