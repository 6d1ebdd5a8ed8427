/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of a run of fi_bench: how they are started or meet, what they tell each
 * other, and how one notices that another has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <rdma/fabric.h>
#include "../../../tools/bench/meet.h"
#include "../../../tools/bench/process.h"
#include "../../../tools/bench/say.h"
#include "dies.h"

static struct fb_control control;
static int peer_fd;

static int begin(void **state)
{
	int fd[2];

	(void)state;
	fb_control_init(&control, 0, 2);
	assert_int_equal(control.fd[0], -1);
	assert_int_equal(control.fd[1], -1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	fb_control_add(&control, 1, fd[0], 7);
	peer_fd = fd[1];
	fb_control_why_left = NULL;
	return 0;
}

static int end(void **state)
{
	(void)state;
	fb_control_close(&control);
	assert_null(control.fd);
	(void)close(peer_fd);
	return 0;
}

static void peer_says(const void *data, size_t len)
{
	assert_int_equal(write(peer_fd, data, len), len);
}

static void peer_heard(const void *data, size_t len)
{
	char heard[64] = "";

	assert_int_equal(recv(peer_fd, heard, sizeof(heard), MSG_DONTWAIT), len);
	assert_memory_equal(heard, data, len);
}

/* ---- control connections ---- */

static void member_0_gathers(void **state)
{
	char all[8] = "", word[4] = "abc";
	struct timeval limit;
	socklen_t len = sizeof(limit);

	(void)state;
	assert_int_equal(
		getsockopt(control.fd[1], SOL_SOCKET, SO_RCVTIMEO, &limit, &len), 0);
	assert_int_equal(limit.tv_sec, 7);
	peer_says("def", 4);
	fb_control_gather(&control, word, all, 4);
	assert_memory_equal(all, "abc\0def", 8);
	peer_heard("abc\0def", 8);
	fb_control_share(&control, word, 4);
	peer_heard("abc", 4);
	peer_says("", 1);
	fb_control_barrier(&control);
	peer_heard("\0", 2);
}

static void others_follow(void **state)
{
	char all[8] = "", word[4] = "abc";

	(void)state;
	control.rank = 1;
	control.fd[0] = control.fd[1];
	control.fd[1] = -1;
	peer_says("xyz\0abc", 8);
	fb_control_gather(&control, word, all, 4);
	assert_memory_equal(all, "xyz\0abc", 8);
	peer_heard("abc", 4);
	peer_says("uvw", 4);
	assert_true(fb_control_talks(&control));
	fb_control_share(&control, word, 4);
	assert_memory_equal(word, "uvw", 4);
	assert_false(fb_control_talks(&control));
	fb_control_check(&control);
}

static void share_word(void *arg)
{
	fb_control_share(&control, arg, 1);
}

static void check(void *arg)
{
	(void)arg;
	fb_control_check(&control);
}

static void talks(void *arg)
{
	(void)arg;
	(void)fb_control_talks(&control);
}

static void barrier(void *arg)
{
	(void)arg;
	fb_control_barrier(&control);
}

static int damaged(void)
{
	return FB_EXIT_DAMAGED;
}

static void the_end_of_a_peer_is_noticed(void **state)
{
	static const char left[] = "fi_bench: the peer left\n";
	char word = 0;

	(void)state;
	(void)close(peer_fd);
	peer_fd = -1;
	dies(FB_EXIT_FAILED, left, share_word, &word);
	dies(FB_EXIT_FAILED, left, check, NULL);
	dies(FB_EXIT_FAILED, left, barrier, NULL);
	fb_control_why_left = damaged;
	dies(FB_EXIT_DAMAGED, left, check, NULL);
	control.rank = 1;
	control.fd[0] = control.fd[1];
	control.fd[1] = -1;
	dies(FB_EXIT_DAMAGED, left, share_word, &word);
	dies(FB_EXIT_DAMAGED, left, talks, NULL);
}

static void add_no_socket(void *arg)
{
	(void)arg;
	fb_control_add(&control, 1, STDIN_FILENO, 1);
}

static void failures_of_sockets_are_told(void **state)
{
	struct timeval limit = { .tv_usec = 1000 };
	int alone = socket(AF_UNIX, SOCK_STREAM, 0), fd = control.fd[1];
	char word = 0;

	(void)state;
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	dies(FB_EXIT_FAILED, "fi_bench: no word of the peer within the timeout\n",
		barrier, NULL);
	control.fd[1] = alone;
	dies(FB_EXIT_FAILED,
		"fi_bench: telling the peer: Transport endpoint is not connected\n",
		share_word, &word);
	control.rank = 1;
	control.fd[0] = alone;
	dies(FB_EXIT_FAILED, "fi_bench: hearing the peer: Invalid argument\n",
		share_word, &word);
	control.fd[0] = -1;
	control.fd[1] = fd;
	(void)close(alone);
	dies(FB_EXIT_FAILED,
		"fi_bench: control connection: Socket operation on non-socket\n",
		add_no_socket, NULL);
}

/* ---- members of this machine ---- */

/* What member @rank does; its exit status. */
static int member(struct fb_control *c)
{
	int mine = 10 * c->rank, all[3] = { 0 };

	if (fb_control_why_left || c->members != 3 || !fb_side_name ||
		strcmp(fb_side_name, "peer") != 0)
		return 50;
	fb_control_gather(c, &mine, all, sizeof(mine));
	return all[0] == 5 && all[1] == 10 && all[2] == 20 ? 0 : 51;
}

/* Three members; the others end with @status, or by a signal if it is negative. */
static int run_members(int status)
{
	struct fb_config config = { .members = 3, .timeout_s = 5 };
	struct fb_control c;
	pid_t children[2];
	int mine = 5, all[3] = { 0 }, ret;

	fb_meet_fork(&config, &c, children);
	if (c.rank) {
		ret = member(&c);
		if (status < 0)
			(void)raise(SIGKILL);
		_exit(ret ? ret : c.rank == 1 ? status : 0);
	}
	assert_null(fb_side_name);
	fb_control_gather(&c, &mine, all, sizeof(mine));
	assert_int_equal(all[1] + all[2], 30);
	ret = fb_meet_wait(children, 2);
	fb_control_close(&c);
	return ret;
}

static void members_are_forked(void **state)
{
	(void)state;
	assert_int_equal(run_members(0), 0);
	assert_int_equal(run_members(FB_EXIT_DAMAGED), FB_EXIT_DAMAGED);
	assert_int_equal(run_members(-1), FB_EXIT_FAILED);
}

/* The peer says why it ends; this process ends with its status. */
static void lose_peer(void *arg)
{
	struct fb_config config = { .members = 2, .timeout_s = 5 };
	struct fb_control c;
	pid_t child;
	int status = *(int *)arg;

	fb_meet_fork(&config, &c, &child);
	if (c.rank && status < 0)
		(void)raise(SIGKILL);
	if (c.rank)
		fb_die(status, "ends with %d", status);
	fb_control_barrier(&c);
}

static void the_reason_of_a_peer_counts(void **state)
{
	int status = FB_EXIT_DAMAGED, killed = -1, none = 0;

	(void)state;
	dies(FB_EXIT_DAMAGED, "fi_bench: peer: ends with 3\nfi_bench: the peer left\n",
		lose_peer, &status);
	dies(FB_EXIT_FAILED, "fi_bench: the peer left\n", lose_peer, &killed);
	dies(FB_EXIT_FAILED, "fi_bench: peer: ends with 0\nfi_bench: the peer left\n",
		lose_peer, &none);
}

/* ---- two machines ---- */

static char port[8];

/* A socket that listens at a free port, whose name is in port. */
static int listen_somewhere(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(addr);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	(void)snprintf(port, sizeof(port), "%d", ntohs(addr.sin_port));
	return fd;
}

/* A client in a process of its own; what it says is dropped. */
static pid_t start_client(const struct fb_config *config)
{
	char source[FB_ADDRESS_MAX] = "";
	int word = 0, both[2] = { 0 };
	struct fb_control c;
	pid_t child = fork();

	if (child)
		return child;
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
	fb_meet_client("127.0.0.1", port, config, &c, source);
	fb_control_gather(&c, &word, both, sizeof(word));
	_exit(strcmp(source, "127.0.0.1") || c.rank || c.members != 2);
}

/* What a client asks for. */
struct meeting {
	struct fb_config config;
};

static void serve(void *arg)
{
	struct meeting *meeting = arg;
	char source[FB_ADDRESS_MAX] = "";
	int word = 0, both[2] = { 0 };
	struct timeval limit;
	socklen_t len = sizeof(limit);
	struct fb_config asked;
	struct fb_control c;

	fb_meet_serve(port, &asked, &c, source);
	fb_control_gather(&c, &word, both, sizeof(word));
	if (getsockopt(c.fd[0], SOL_SOCKET, SO_RCVTIMEO, &limit, &len) ||
		limit.tv_sec != meeting->config.timeout_s)
		fb_die(51, "another timeout");
	if (memcmp(&asked, &meeting->config, sizeof(asked)) || c.rank != 1 ||
		c.members != 2 || strcmp(source, "127.0.0.1"))
		fb_die(50, "asked otherwise");
}

static void start_process(void **state)
{
	char *const argv[] = { (char *)"sh", (char *)"-c",
		(char *)"echo $X; echo no >&2; grep Cpus_allowed_list "
			"/proc/self/status; "
			"exit $Y",
		NULL };
	char *const env[] = { (char *)"X=five", (char *)"Y=3", NULL };
	struct fb_process p = {
		.argv = argv, .env = env, .core = -1, .limit_s = 9, .silent = true
	};
	char line[128], wanted[128];
	cpu_set_t set;
	FILE *output;
	pid_t child;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (p.core = 0; !CPU_ISSET((size_t)p.core, &set);)
		p.core++;
	child = fb_process_start(&p, &output);
	assert_non_null(fgets(line, sizeof(line), output));
	assert_string_equal(line, "five\n");
	assert_non_null(fgets(line, sizeof(line), output));
	(void)snprintf(wanted, sizeof(wanted), "Cpus_allowed_list:\t%d\n", (int)p.core);
	assert_string_equal(line, wanted);
	assert_null(fgets(line, sizeof(line), output));
	(void)fclose(output);
	assert_int_equal(fb_process_wait(child), 3);
}

static void start_failing(void *arg)
{
	char *const missing[] = { (char *)"/none", NULL };
	char *const killed[] = { (char *)"sh", (char *)"-c", (char *)"kill -9 $$",
		NULL };
	struct fb_process p = { .argv = arg ? killed : missing, .core = -1 };

	_exit(fb_process_wait(fb_process_start(&p, NULL)));
}

static void processes_end(void **state)
{
	int killed = 1;

	(void)state;
	dies(127, "fi_bench: /none: No such file or directory\n", start_failing, NULL);
	dies(128 + SIGKILL, "", start_failing, &killed);
}

static struct meeting good_meeting(void)
{
	struct meeting meeting;

	fb_config_init(&meeting.config);
	meeting.config.tests = 1 << FB_RATE;
	meeting.config.members = 2;
	meeting.config.timeout_s = 5;
	strcpy(meeting.config.provider, "tcp");
	return meeting;
}

static void serve_wrong(void *arg)
{
	(void)arg;
	fb_meet_serve("bogus", &(struct fb_config){ .tests = 0 }, &control,
		(char[FB_ADDRESS_MAX]){ 0 });
}

static void serve_at_port(void *arg)
{
	fb_meet_serve(arg, &(struct fb_config){ .tests = 0 }, &control,
		(char[FB_ADDRESS_MAX]){ 0 });
}

static void call_port(void *arg)
{
	struct meeting meeting = good_meeting();

	fb_meet_client("127.0.0.1", arg, &meeting.config, &control,
		(char[FB_ADDRESS_MAX]){ 0 });
}

static void ports_are_refused(void **state)
{
	char text[128];
	int listener;

	(void)state;
	dies(FB_EXIT_FAILED,
		"fi_bench: this machine port bogus: Servname not supported for "
		"ai_socktype\n",
		serve_wrong, NULL);
	listener = listen_somewhere();
	(void)snprintf(text, sizeof(text),
		"fi_bench: port %s: Address already in use\n", port);
	dies(FB_EXIT_FAILED, text, serve_at_port, port);
	(void)close(listener);
	(void)snprintf(text, sizeof(text),
		"fi_bench: connecting to 127.0.0.1 port %s: Connection refused\n",
		port);
	dies(FB_EXIT_FAILED, text, call_port, port);
}

/* A server, and a client as soon as it waits. Says what the server says after that, and
 * ends with its status. */
static void meet(void *arg)
{
	struct meeting *meeting = arg;
	char said[256] = "";
	int fd[2], status, client_status;
	pid_t server, client = 0;
	size_t len = 0;
	ssize_t n;

	(void)close(listen_somewhere());
	assert_int_equal(pipe(fd), 0);
	server = fork();
	if (!server) {
		(void)dup2(fd[1], STDERR_FILENO);
		(void)close(fd[1]);
		serve(arg);
		_exit(0);
	}
	(void)close(fd[1]);
	while ((n = read(fd[0], said + len, 1)) > 0 && said[len] != '\n')
		len++;
	if (n > 0 && !strncmp(said, "fi_bench: waiting for a client at port ", 39))
		client = start_client(&meeting->config);
	for (len = 0; (n = read(fd[0], said + len, sizeof(said) - 1 - len)) > 0;)
		len += (size_t)n;
	(void)fprintf(stderr, "%.*s", (int)len, said);
	if (waitpid(server, &status, 0) != server ||
		waitpid(client, &client_status, 0) != client)
		_exit(97);
	if (!status && client_status)
		_exit(98);
	_exit(WEXITSTATUS(status));
}

static void server_and_client_meet(void **state)
{
	struct meeting meeting = good_meeting();

	(void)state;
	dies(0, "", meet, &meeting);
	meeting.config.members = 3;
	meeting.config.tests = UINT64_C(1) << FB_BARRIER;
	dies(FB_EXIT_FAILED,
		"fi_bench: refused what the client asks for: members of one machine\n",
		meet, &meeting);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(member_0_gathers),
		TEST(others_follow),
		TEST(the_end_of_a_peer_is_noticed),
		TEST(failures_of_sockets_are_told),
		TEST(members_are_forked),
		TEST(the_reason_of_a_peer_counts),
		TEST(ports_are_refused),
		TEST(server_and_client_meet),
		TEST(start_process),
		TEST(processes_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
