/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char *provider(void)
{
	const char *name = getenv("FAULT_PROVIDER");

	return name ? name : "tcp";
}

static const char *own_host(void)
{
	const char *host = getenv("FAULT_HOST");

	return host ? host : "127.0.0.1";
}

static uint32_t api_version(void)
{
	const char *old = getenv("FAULT_API_1_17");

	return old ? FI_VERSION(1, 17) : FI_VERSION(2, 6);
}

uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void node_open(struct node *node, uint16_t port)
{
	memset(node, 0, sizeof(*node));
	node_open_as(node, port);
}

void node_open_as(struct node *node, uint16_t port)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = node->sleeps ? FI_WAIT_UNSPEC : FI_WAIT_NONE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_info *hints = fi_allocinfo();
	char service[16];
	int ret;

	CHECK(hints);
	hints->fabric_attr->prov_name = strdup(provider());
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED | FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	snprintf(service, sizeof(service), "%u", port);
	CHECK_OK(fi_getinfo(api_version(), own_host(), port ? service : NULL, FI_SOURCE,
		hints, &node->info));
	fi_freeinfo(hints);
	CHECK_OK(fi_fabric(node->info->fabric_attr, &node->fabric, NULL));
	CHECK_OK(fi_domain(node->fabric, node->info, &node->domain, NULL));
	CHECK_OK(fi_av_open(node->domain, &av_attr, &node->av, NULL));
	CHECK_OK(fi_cq_open(node->domain, &cq_attr, &node->cq, NULL));
	CHECK_OK(fi_endpoint(node->domain, node->info, &node->ep, NULL));
	CHECK_OK(fi_ep_bind(node->ep, &node->av->fid, 0));
	CHECK_OK(fi_ep_bind(node->ep, &node->cq->fid, FI_TRANSMIT | FI_RECV));
	/* The port of one that was just killed is free at once. */
	ret = fi_enable(node->ep);
	CHECK_OK(ret);
}

void node_close(struct node *node)
{
	CHECK_OK(fi_close(&node->ep->fid));
	CHECK_OK(fi_close(&node->cq->fid));
	CHECK_OK(fi_close(&node->av->fid));
	CHECK_OK(fi_close(&node->domain->fid));
	CHECK_OK(fi_close(&node->fabric->fid));
	fi_freeinfo(node->info);
}

uint16_t node_port(struct node *node)
{
	struct sockaddr_in addr;
	size_t len = sizeof(addr);

	CHECK_OK(fi_getname(&node->ep->fid, &addr, &len));
	return ntohs(addr.sin_port);
}

fi_addr_t node_peer_at(struct node *node, const char *host, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	fi_addr_t out;

	CHECK(inet_pton(AF_INET, host, &addr.sin_addr) == 1);
	CHECK(fi_av_insert(node->av, &addr, 1, &out, 0, NULL) == 1);
	return out;
}

fi_addr_t node_peer(struct node *node, uint16_t port)
{
	return node_peer_at(node, own_host(), port);
}

bool node_send(struct node *node, fi_addr_t to, const void *buf, size_t len,
	uint64_t tag, void *context, int timeout_ms)
{
	uint64_t deadline = now_ms() + (uint64_t)timeout_ms;
	ssize_t ret;

	while ((ret = fi_tsend(node->ep, buf, len, NULL, to, tag, context)) ==
		-FI_EAGAIN) {
		(void)fi_cq_read(node->cq, NULL, 0);
		if (now_ms() > deadline)
			return false;
	}
	CHECK_OK(ret);
	return true;
}

void node_receive(struct node *node, void *buf, size_t len, uint64_t tag, void *context)
{
	CHECK_OK(fi_trecv(
		node->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0xffffffff, context));
}

void node_receive_exact(
	struct node *node, void *buf, size_t len, uint64_t tag, void *context)
{
	CHECK_OK(fi_trecv(node->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, context));
}

int node_wait(struct node *node, struct fi_cq_tagged_entry *entry,
	struct fi_cq_err_entry *err, int timeout_ms)
{
	uint64_t deadline = now_ms() + (uint64_t)timeout_ms;
	ssize_t ret;

	while ((ret = fi_cq_read(node->cq, entry, 1)) == -FI_EAGAIN) {
		if (now_ms() > deadline)
			return 0;
		(void)usleep(20);
	}
	if (ret == 1)
		return 1;
	CHECK(ret == -FI_EAVAIL);
	memset(err, 0, sizeof(*err));
	CHECK(fi_cq_readerr(node->cq, err, 0) == 1);
	return -1;
}

void node_idle(struct node *node, int ms)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;

	CHECK(node_wait(node, &entry, &err, ms) == 0);
}

uint16_t free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0);
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	CHECK(!bind(fd, (struct sockaddr *)&addr, len));
	CHECK(!getsockname(fd, (struct sockaddr *)&addr, &len));
	close(fd);
	return ntohs(addr.sin_port);
}

void different_ports(uint16_t *ports, int count)
{
	for (int i = 0; i < count; i++) {
		int same = 0;

		ports[i] = free_port();
		while (same < i && ports[same] != ports[i])
			same++;
		if (same < i)
			i--;
	}
}

unsigned int setting(const char *name, unsigned int fallback)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : fallback;
}

pid_t child(void (*run)(void *), void *arg, unsigned int seconds)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	(void)alarm(seconds);
	run(arg);
	exit(0);
}

void join(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	fprintf(stderr, "process %d: %s %d\n", (int)pid,
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	_exit(1);
}

void kill_and_reap(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL));
	CHECK(waitpid(pid, NULL, 0) == pid);
}

void pipe_open(struct signal_pipe *p)
{
	CHECK(!pipe(p->fd));
}

void pipe_close(struct signal_pipe *p)
{
	close(p->fd[0]);
	close(p->fd[1]);
}

void pipe_tell(struct signal_pipe *p)
{
	CHECK(write(p->fd[1], "x", 1) == 1);
}

/* Whoever should tell may have died of a failed check. */
void pipe_wait(struct signal_pipe *p)
{
	enum { LONGEST_MS = 60000 };
	struct pollfd poll_fd = { .fd = p->fd[0], .events = POLLIN };
	char byte;
	int n;

	while ((n = poll(&poll_fd, 1, LONGEST_MS)) < 0 && errno == EINTR)
		continue;
	CHECK(n == 1 && read(p->fd[0], &byte, 1) == 1);
}

bool pipe_told(const struct signal_pipe *p)
{
	struct pollfd poll_fd = { .fd = p->fd[0], .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

void node_drive_until(struct node *node, const struct signal_pipe *told)
{
	while (!pipe_told(told)) {
		(void)fi_cq_read(node->cq, NULL, 0);
		(void)usleep(100);
	}
}

int fault_main(const struct fault_case *cases, size_t count, int argc, char **argv)
{
	int failed = 0, number = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < count; i++) {
		uint64_t begin = now_ms();
		int status;
		pid_t pid;

		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		fflush(stdout);
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			/* A group of its own, so that the rest can be swept away. */
			(void)setpgid(0, 0);
			(void)alarm(cases[i].seconds);
			cases[i].run();
			exit(0);
		}
		(void)setpgid(pid, pid);
		CHECK(waitpid(pid, &status, 0) == pid);
		(void)kill(-pid, SIGKILL);
		printf("%s %d - %s # %llu ms\n", status ? "not ok" : "ok", ++number,
			cases[i].name, (unsigned long long)(now_ms() - begin));
		if (status)
			printf("# %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
				WIFSIGNALED(status) ? WTERMSIG(status)
						    : WEXITSTATUS(status));
		failed += status != 0;
	}
	printf("1..%d\n", number);
	return failed != 0;
}
