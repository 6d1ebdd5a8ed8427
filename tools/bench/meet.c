/* SPDX-License-Identifier: BSD-2-Clause */
#include "meet.h"
#include "say.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- processes of this machine ---- */

/* In the child: keep only the socket to member 0. */
static void meet_become_member(
	struct fb_control *control, int rank, int fd, const struct fb_config *config)
{
	int members = control->members;

	fb_control_close(control);
	fb_control_init(control, rank, members);
	fb_control_add(control, 0, fd, config->timeout_s);
	fb_side_name = "peer";
	fb_control_why_left = NULL;
	fb_progress_off();
}

/* The exit status of a child that has ended, and that printed the reason. */
static int meet_why_left(void)
{
	int status;

	if (wait(&status) < 0 || !WIFEXITED(status) || !WEXITSTATUS(status))
		return FB_EXIT_FAILED;
	return WEXITSTATUS(status);
}

void fb_meet_fork(
	const struct fb_config *config, struct fb_control *control, pid_t *ret_children)
{
	pid_t parent = getpid();

	fb_control_init(control, 0, (int)config->members);
	fb_control_why_left = meet_why_left;
	for (int rank = 1; rank < (int)config->members; rank++) {
		int fd[2];
		pid_t child;

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
			fb_die(FB_EXIT_FAILED, "socketpair: %s", strerror(errno));
		child = fork();
		if (child < 0)
			fb_die(FB_EXIT_FAILED, "fork: %s", strerror(errno));
		close(fd[child ? 1 : 0]);
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(FB_EXIT_FAILED);
			meet_become_member(control, rank, fd[1], config);
			return;
		}
		fb_control_add(control, rank, fd[0], config->timeout_s);
		ret_children[rank - 1] = child;
	}
}

int fb_meet_wait(const pid_t *children, int count)
{
	int failed = 0;

	for (int i = 0; i < count; i++) {
		int status;

		if (waitpid(children[i], &status, 0) != children[i] || !status)
			continue;
		failed = WIFEXITED(status) ? WEXITSTATUS(status) : FB_EXIT_FAILED;
	}
	return failed;
}

/* ---- two machines ---- */

/* The first message of both ends. The magic number of another byte order differs. */
struct hello {
	uint64_t magic;
	uint32_t version; /* of the protocol between both */
	uint32_t len;     /* of this struct */
	struct fb_config config;
};

static const uint64_t hello_magic = UINT64_C(0x77656674626e6368);
enum { HELLO_VERSION = 2 };

static struct addrinfo *meet_resolve(const char *node, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = node ? 0 : AI_PASSIVE,
		.ai_family = node ? AF_UNSPEC : AF_INET6 };
	struct addrinfo *list;
	int ret = getaddrinfo(node, port, &hints, &list);

	if (ret)
		fb_die(FB_EXIT_FAILED, "%s port %s: %s", node ? node : "this machine",
			port, gai_strerror(ret));
	return list;
}

/* The local address as text; an IPv4 address of an IPv6 socket is written as IPv4. */
static void meet_local_address(int fd, char source[FB_ADDRESS_MAX])
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	static const char mapped[] = "::ffff:";

	if (getsockname(fd, (struct sockaddr *)&addr, &len) ||
		getnameinfo((struct sockaddr *)&addr, len, source, FB_ADDRESS_MAX, NULL,
			0, NI_NUMERICHOST)) {
		source[0] = 0;
		return;
	}
	if (!strncmp(source, mapped, strlen(mapped)) && strchr(source, '.'))
		memmove(source, source + strlen(mapped),
			strlen(source) - strlen(mapped) + 1);
}

static void meet_swap_hello(struct fb_control *control, struct hello *mine)
{
	struct hello both[2];

	fb_control_gather(control, mine, both, sizeof(*mine));
	for (int i = 0; i < 2; i++)
		if (both[i].magic != hello_magic || both[i].version != HELLO_VERSION ||
			both[i].len != sizeof(*mine))
			fb_die(FB_EXIT_FAILED, "the other side is no fi_bench of this "
					       "version and byte "
					       "order");
	*mine = both[!control->rank];
}

static void meet_greet(struct fb_control *control, int rank, int fd,
	const struct fb_config *mine, struct fb_config *ret_theirs)
{
	struct hello hello = { .magic = hello_magic,
		.version = HELLO_VERSION,
		.len = sizeof(hello),
		.config = *mine };
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fb_control_init(control, rank, 2);
	fb_control_add(control, !rank, fd, mine->timeout_s);
	meet_swap_hello(control, &hello);
	*ret_theirs = hello.config;
}

static int meet_listen_at(const char *port)
{
	struct addrinfo *list = meet_resolve(NULL, port);
	int fd, one = 1, off = 0;

	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fb_die(FB_EXIT_FAILED, "socket: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, 1))
		fb_die(FB_EXIT_FAILED, "port %s: %s", port, strerror(errno));
	freeaddrinfo(list);
	return fd;
}

void fb_meet_serve(const char *port, struct fb_config *ret_config,
	struct fb_control *control, char source[FB_ADDRESS_MAX])
{
	int listener = meet_listen_at(port), fd;
	struct fb_config mine;
	const char *wrong;

	fb_config_init(&mine);
	fb_say("waiting for a client at port %s", port);
	do {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		fb_die(FB_EXIT_FAILED, "accept: %s", strerror(errno));
	close(listener);
	meet_local_address(fd, source);
	meet_greet(control, 1, fd, &mine, ret_config);
	wrong = fb_config_check(ret_config);
	if (!wrong && ret_config->members != 2)
		wrong = "members of one machine";
	if (wrong)
		fb_die(FB_EXIT_FAILED, "refused what the client asks for: %s", wrong);
	fb_control_add(control, 0, fd, ret_config->timeout_s);
}

void fb_meet_client(const char *server, const char *port,
	const struct fb_config *config, struct fb_control *control,
	char source[FB_ADDRESS_MAX])
{
	struct addrinfo *list = meet_resolve(server, port);
	struct fb_config theirs;
	int fd = -1, error = 0;

	for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || !connect(fd, at->ai_addr, at->ai_addrlen)) {
			error = errno;
			continue;
		}
		error = errno;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd < 0)
		fb_die(FB_EXIT_FAILED, "connecting to %s port %s: %s", server, port,
			strerror(error));
	meet_local_address(fd, source);
	meet_greet(control, 0, fd, config, &theirs);
}
