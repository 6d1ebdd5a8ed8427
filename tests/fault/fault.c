/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"

#include <poll.h>
#include <sys/wait.h>

enum { SKIPPED = 77 };

uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
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

void node_send_level(struct node *node, fi_addr_t to, const void *buf, size_t len,
	uint64_t tag, void *context, uint64_t level)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = to,
		.tag = tag,
		.context = context };
	uint64_t deadline = now_ms() + LIMIT_MS;
	ssize_t ret;

	while ((ret = fi_tsendmsg(node->ep, &msg, level)) == -FI_EAGAIN) {
		(void)fi_cq_read(node->cq, NULL, 0);
		CHECK(now_ms() < deadline);
	}
	CHECK_OK(ret);
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

unsigned int setting(const char *name, unsigned int fallback)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : fallback;
}

pid_t child(void (*run)(void *), void *arg, unsigned int seconds)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	(void)alarm(limit_s(seconds));
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

/* The process that should write the byte may have died of a failed check. */
void pipe_wait(struct signal_pipe *p)
{
	struct pollfd poll_fd = { .fd = p->fd[0], .events = POLLIN };
	char byte;
	int n;

	while ((n = poll(&poll_fd, 1, 2 * LIMIT_MS)) < 0 && errno == EINTR)
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

_Noreturn void skip(const char *why)
{
	printf("# skipped: %s\n", why);
	fflush(stdout);
	_exit(SKIPPED);
}

/* True: it failed. */
static bool tell(const char *name, int number, int status, uint64_t took_ms)
{
	bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
	bool failed = status && !skipped;

	printf("%s %d - %s # %s%llu ms\n", failed ? "not ok" : "ok", number, name,
		skipped ? "SKIP " : "", (unsigned long long)took_ms);
	if (failed)
		printf("# %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return failed;
}

/* A machine with too much to do may leave a process without a processor for longer than
 * the library waits for peers (30 s). */
static void set_patience(void)
{
	char ms[16];

	snprintf(ms, sizeof(ms), "%d", LIMIT_MS);
	(void)setenv("FI_TCP_CONNECT_TIMEOUT", ms, 0);
	(void)setenv("FI_SHM_CONNECT_TIMEOUT", ms, 0);
	(void)setenv("FI_OFI_RXM_CONNECT_TIMEOUT", ms, 0);
}

int fault_main(const struct fault_case *cases, size_t count, int argc, char **argv)
{
	int failed = 0, number = 0;

	if (argc > 1 && !strcmp(argv[1], "list")) {
		for (size_t i = 0; i < count; i++)
			printf("%s\n", cases[i].name);
		return 0;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	set_patience();
	node_numbers_init();
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
			(void)alarm(limit_s(cases[i].seconds));
			cases[i].run();
			exit(0);
		}
		(void)setpgid(pid, pid);
		CHECK(waitpid(pid, &status, 0) == pid);
		(void)kill(-pid, SIGKILL);
		failed += tell(cases[i].name, ++number, status, now_ms() - begin);
	}
	printf("1..%d\n", number);
	return failed != 0;
}
