/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers of udp;ofi_rxd that do not run: one that was killed, and one that is stopped
 * while the endpoint is closed. Each case is a process of its own, because parameters
 * are read once. */
#include <signal.h>
#include <sys/wait.h>

#include "raw.h"

enum { LEN = 1000, COUNT = 200 };

static struct rdm_end env;

static void write_all(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), (ssize_t)len);
}

static void read_all(int fd, void *data, size_t len)
{
	assert_int_equal(read(fd, data, len), (ssize_t)len);
}

/* The receiver: tells its address, then each message, by a byte. */
static void receive_all(int tell)
{
	uint8_t buf[LEN];

	alarm(limit_s(20));
	setup(&env);
	write_all(tell, &env.addr, sizeof(env.addr));
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(fi_recv(env.ep, buf, LEN, NULL, 0, &env), 0);
		await(&env, &env);
		write_all(tell, &(uint8_t){ 1 }, 1);
	}
	_exit(0);
}

/* A child that receives, and the end of a pipe with what it tells. */
static pid_t start_receiver(int *ret_fd, struct sockaddr_in *ret_addr)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		receive_all(ends[1]);
	close(ends[1]);
	*ret_fd = ends[0];
	read_all(ends[0], ret_addr, sizeof(*ret_addr));
	return child;
}

static void send_one(fi_addr_t to)
{
	static const uint8_t buf[LEN];
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_send(env.ep, buf, LEN, NULL, to, &env)) == -FI_EAGAIN)
		assert_true(step(&env, &entry) >= 0);
	assert_int_equal(ret, 0);
}

/* All messages that are complete when the endpoint is closed reach the peer, although
 * it does not run before the endpoint has gone: they are more than the windows
 * allow. */
static void a_stopped_peer_gets_all(void)
{
	struct sockaddr_in addr;
	uint8_t byte;
	fi_addr_t to;
	int fd, status;
	pid_t child;

	setenv("FI_FLUSH_TIMEOUT", "50", 1);
	child = start_receiver(&fd, &addr);
	setup(&env);
	assert_int_equal(fi_av_insert(env.av, &addr, 1, &to, 0, NULL), 1);
	send_one(to);
	await(&env, &env);
	read_all(fd, &byte, 1);
	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	for (int i = 1; i < COUNT; i++) {
		send_one(to);
		await(&env, &env);
	}
	rdm_end_close(&env);
	assert_int_equal(kill(child, SIGCONT), 0);
	for (int i = 1; i < COUNT; i++)
		read_all(fd, &byte, 1);
	assert_int_equal(waitpid(child, &status, 0), child);
}

/* An operation to a killed peer fails after the time that was set. */
static void a_killed_peer_is_noticed(void)
{
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in addr;
	int fd, status, ret;
	uint8_t byte;
	fi_addr_t to;
	pid_t child;

	setenv("FI_OFI_RXD_PEER_TIMEOUT", "1", 1);
	child = start_receiver(&fd, &addr);
	setup(&env);
	assert_int_equal(fi_av_insert(env.av, &addr, 1, &to, 0, NULL), 1);
	send_one(to);
	await(&env, &env);
	read_all(fd, &byte, 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(
		fi_sendmsg(env.ep, &(struct fi_msg){ .addr = to, .context = &env },
			FI_COMPLETION | FI_TRANSMIT_COMPLETE),
		0);
	alarm(limit_s(20));
	while ((ret = step(&env, &entry)) == 0)
		;
	assert_int_equal(ret, -FI_ECONNREFUSED);
	rdm_end_close(&env);
}

/* Run @body in a process of its own, which ends with a status of 0. */
static void in_child(void (*body)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void stopped_peer(void **state)
{
	(void)state;
	in_child(a_stopped_peer_gets_all);
}

static void killed_peer(void **state)
{
	(void)state;
	in_child(a_killed_peer_is_noticed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_peer),
		cmocka_unit_test(killed_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
