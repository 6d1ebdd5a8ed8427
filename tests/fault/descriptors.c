/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What peers cost in descriptors, and processes that have few of them.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "fault.h"

/* ONCE: what a layer opens beside the descriptors of peers. Its event queue and its
 * completion queue below open an epoll set each when the first of their endpoints has
 * been quiet for long, which may be before or after the first peers. */
enum { PEERS = 24, FEW = 8, ONCE = 2 };

static unsigned int descriptors(void)
{
	unsigned int count = 0;
	DIR *dir = opendir("/proc/self/fd");

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static unsigned int few_less; /* than FEW */

/* At most a few more. @hard: nor may the library have more. */
static void only_few(bool hard)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	if (!hard && limit.rlim_max < descriptors() + 4 * PEERS)
		skip("the hard limit is too low");
	limit.rlim_cur = descriptors() + FEW - few_less;
	if (hard)
		limit.rlim_max = limit.rlim_cur;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

/* ---- a crowd: endpoints in another process ---- */

struct crowd {
	struct signal_pipe go, over;
	uint16_t hub, ports[PEERS];
	int count;
};

static void succeed(struct node *node)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	int got = node_wait(node, &entry, &err, LIMIT_MS);

	if (got < 0)
		fprintf(stderr, "%s\n", fi_strerror(err.err));
	CHECK(got == 1);
}

/* When all are open, each receives a message if it has no hub, or sends one to the
 * hub. */
static void crowd(void *arg)
{
	static struct node nodes[PEERS];
	static struct fi_context2 context[PEERS];
	static uint32_t value[PEERS];
	struct crowd *c = arg;

	for (int i = 0; i < c->count; i++) {
		node_open(&nodes[i], c->ports[i]);
		if (!c->hub)
			node_receive(
				&nodes[i], &value[i], sizeof(value[i]), 0, &context[i]);
	}
	pipe_tell(&c->go);
	for (int i = 0; i < c->count; i++) {
		if (c->hub)
			CHECK(node_send(&nodes[i], node_peer(&nodes[i], c->hub),
				&value[i], sizeof(value[i]), 1, &context[i], LIMIT_MS));
		succeed(&nodes[i]);
	}
	pipe_wait(&c->over);
	for (int i = 0; i < c->count; i++)
		node_close(&nodes[i]);
}

static pid_t start(struct crowd *c, int count, uint16_t hub)
{
	c->count = count;
	c->hub = hub;
	pipe_open(&c->go);
	pipe_open(&c->over);
	different_ports(c->ports, count);
	return child(crowd, c, 60);
}

static void end(struct crowd *c, pid_t pid)
{
	pipe_tell(&c->over);
	join(pid);
}

static void take_all(struct node *hub, int count)
{
	static struct fi_context2 rx;
	static uint32_t in;

	while (count--) {
		node_receive(hub, &in, sizeof(in), 0, &rx);
		succeed(hub);
	}
}

/* ---- cases ---- */

/* An endpoint below a layer has a descriptor to sleep on besides its socket. */
static unsigned int each_peer(void)
{
	const char *provider = getenv("FAULT_PROVIDER");

	return provider && strstr(provider, ";ofi_rxm") ? 2 : 1;
}

/* A peer of tcp on this machine, or of a layer over it, that is reached by memory has
 * the connection below as well, and until it has mapped the page of the other end, the
 * descriptor of that. */
static unsigned int each_peer_at_most(void)
{
	const char *local = getenv("FI_TCP_LOCAL");
	bool tcp = node_over("tcp") || node_over("tcp;ofi_rxm");

	return each_peer() + (tcp && (!local || strcmp(local, "tcp")) ? 2 : 0);
}

static void one_for_each_peer(void)
{
	struct crowd first, others;
	unsigned int before, count;
	struct node hub;
	pid_t pids[2];

	node_open(&hub, 0);
	/* With the first one comes what all need. */
	pids[0] = start(&first, 1, node_port(&hub));
	take_all(&hub, 1);
	pipe_open(&others.go);
	before = descriptors();
	pipe_close(&others.go);
	pids[1] = start(&others, PEERS, node_port(&hub));
	take_all(&hub, PEERS);
	/* The pipes of the others are two of them. */
	count = descriptors() - before - 2;
	CHECK(count >= PEERS * each_peer());
	CHECK(count <= PEERS * each_peer_at_most() + (each_peer() > 1 ? ONCE : 0));
	end(&first, pids[0]);
	end(&others, pids[1]);
	node_close(&hub);
}

static bool limit_is_raised(void)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	return limit.rlim_cur > descriptors() + PEERS;
}

/* The hub is connected to. */
static void more_callers_than_the_soft_limit(void)
{
	struct node hub;
	struct crowd c;
	pid_t pid;

	node_open(&hub, free_port());
	pid = start(&c, PEERS, node_port(&hub));
	only_few(false);
	take_all(&hub, PEERS);
	CHECK(limit_is_raised());
	end(&c, pid);
	node_close(&hub);
}

/* The hub connects. */
static void connect_all(void)
{
	static struct fi_context2 tx;
	uint32_t out = 1;
	struct node hub;
	struct crowd c;
	pid_t pid;

	node_open(&hub, 0);
	pid = start(&c, PEERS, 0);
	pipe_wait(&c.go);
	only_few(false);
	for (int i = 0; i < PEERS; i++) {
		CHECK(node_send(&hub, node_peer(&hub, c.ports[i]), &out, sizeof(out), 1,
			&tx, LIMIT_MS));
		succeed(&hub);
	}
	CHECK(limit_is_raised());
	end(&c, pid);
	node_close(&hub);
}

/* Any of the descriptors that a peer takes may be the first that is not to be had. */
static void connect_all_after(void *arg)
{
	for (int i = *(int *)arg; i > 0; i--)
		CHECK(dup(0) >= 0);
	connect_all();
}

static void more_peers_than_the_soft_limit(void)
{
	enum { VARIANTS = 4 };

	for (int less = 0; less < VARIANTS; less++)
		for (int open = 0; open < VARIANTS; open++) {
			few_less = (unsigned int)less;
			join(child(connect_all_after, &open, 60));
		}
}

static uint64_t cpu_ms(void)
{
	struct rusage usage;

	CHECK(!getrusage(RUSAGE_SELF, &usage));
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* Callers that cannot be accepted do not keep it from sleeping. */
static void asleep_with_none_left(void)
{
	enum { SLEEP_MS = 2000 };
	struct node hub = { .sleeps = true };
	struct fi_cq_tagged_entry entry;
	uint64_t before, until;
	struct crowd c;
	pid_t pid;
	int fd;

	node_open_as(&hub, free_port());
	pid = start(&c, PEERS, node_port(&hub));
	pipe_wait(&c.go);
	only_few(true);
	while ((fd = dup(0)) >= 0)
		;
	before = cpu_ms();
	until = now_ms() + SLEEP_MS;
	while (now_ms() < until)
		(void)fi_cq_sread(hub.cq, &entry, 1, NULL, SLEEP_MS);
	printf("# %u ms of the processor\n", (unsigned int)(cpu_ms() - before));
	CHECK(cpu_ms() - before < SLEEP_MS / 20);
	kill_and_reap(pid);
	node_close(&hub);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "one_for_each_peer", one_for_each_peer, 60 },
		{ "more_callers_than_the_soft_limit", more_callers_than_the_soft_limit,
			60 },
		{ "more_peers_than_the_soft_limit", more_peers_than_the_soft_limit,
			60 },
		{ "asleep_with_none_left", asleep_with_none_left, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
