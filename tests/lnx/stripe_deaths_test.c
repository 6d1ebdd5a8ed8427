/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process dies while a striped message to or from it is under way: the operation of
 * the other end ends with an error, whether its thread polls or sleeps.
 *
 * The process that dies is another run of this program: stripe_deaths_test LINKS ROLE,
 * with pipes as standard input and output.
 */
#include <signal.h>
#include <sys/wait.h>

#include "lnx_pair.h"

enum { LARGE = 4 << 20, TAG = 9, LAST = 10 };

static char *program, *links;
static struct rdm_end mine;
static fi_addr_t other;
static uint8_t *buf;

/* The application's end, with a queue that a thread can sleep on. */
static void open_mine(bool sleeps)
{
	rdm_end_open(&mine, lnx_info(FI_FORMAT_UNSPEC, NULL, NULL, 0), 0,
		sleeps ? FI_WAIT_FD : FI_WAIT_NONE);
	buf = calloc(1, LARGE);
	assert_non_null(buf);
}

static void close_mine(void)
{
	rdm_end_close(&mine);
	free(buf);
}

static void meet(int to, int from)
{
	uint8_t name[NAME_ROOM];

	assert_int_equal(write(to, mine.name, NAME_ROOM), NAME_ROOM);
	assert_int_equal(read(from, name, NAME_ROOM), NAME_ROOM);
	other = end_insert(&mine, name);
}

/* One completion; 0, or the positive code of an error. */
static int complete(bool sleeps)
{
	time_t deadline = now_s() + PATIENCE_S;
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	do {
		ret = sleeps ? fi_cq_sread(mine.cq, &entry, 1, NULL, 1000 * PATIENCE_S)
			     : fi_cq_read(mine.cq, &entry, 1);
		assert_true(now_s() < deadline);
	} while (ret == -FI_EAGAIN);
	if (ret == 1)
		return 0;
	assert_int_equal(ret, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(mine.cq, &err, 0), 1);
	return err.err;
}

static void send_large(uint64_t tag, struct fi_context2 *context)
{
	time_t deadline = now_s() + PATIENCE_S;

	while (fi_tsend(mine.ep, buf, LARGE, NULL, other, tag, context)) {
		(void)fi_cq_read(mine.cq, NULL, 0);
		assert_true(now_s() < deadline);
	}
}

static void receive_large(uint64_t tag, struct fi_context2 *context)
{
	assert_int_equal(
		fi_trecv(mine.ep, buf, LARGE, NULL, FI_ADDR_UNSPEC, tag, 0, context),
		0);
}

static void poll_for_ms(int ms)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < ms; i++) {
		(void)fi_cq_read(mine.cq, NULL, 0);
		(void)nanosleep(&pause, NULL);
	}
}

/* ---- The process that dies. ---- */

/* Receive one message, then none. */
static void silent(void)
{
	struct fi_context2 context;

	receive_large(TAG, &context);
	assert_int_equal(complete(false), 0);
	poll_for_ms(1000000);
}

/* Send one message, then another one of which nothing can be read. */
static void stopping(void)
{
	struct fi_context2 context;

	send_large(TAG, &context);
	assert_int_equal(complete(false), 0);
	send_large(LAST, &context);
	(void)raise(SIGSTOP);
}

static int be_other(const char *role)
{
	open_mine(false);
	meet(STDOUT_FILENO, STDIN_FILENO);
	if (!strcmp(role, "silent"))
		silent();
	else
		stopping();
	return 1;
}

/* ---- The process that stays. ---- */

static pid_t start_other(const char *role)
{
	int down[2], up[2];
	pid_t pid;

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	pid = fork();
	if (!pid) {
		(void)dup2(down[0], STDIN_FILENO);
		(void)dup2(up[1], STDOUT_FILENO);
		(void)close(down[1]);
		(void)close(up[0]);
		(void)execl(program, program, links, role, (char *)NULL);
		_exit(127);
	}
	(void)close(down[0]);
	(void)close(up[1]);
	meet(down[1], up[0]);
	(void)close(down[1]);
	(void)close(up[0]);
	return pid;
}

static void kill_other(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void receiver_dies(bool sleeps)
{
	struct fi_context2 context[2];
	pid_t pid;

	open_mine(sleeps);
	pid = start_other("silent");
	send_large(TAG, &context[0]);
	assert_int_equal(complete(sleeps), 0);
	send_large(LAST, &context[0]);
	send_large(LAST, &context[1]);
	poll_for_ms(100);
	kill_other(pid);
	assert_int_not_equal(complete(sleeps), 0);
	assert_int_not_equal(complete(sleeps), 0);
	close_mine();
}

static void sender_dies(bool sleeps)
{
	struct fi_context2 context;
	pid_t pid;

	open_mine(sleeps);
	pid = start_other("stopping");
	receive_large(TAG, &context);
	assert_int_equal(complete(sleeps), 0);
	receive_large(LAST, &context);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	poll_for_ms(100);
	kill_other(pid);
	assert_int_not_equal(complete(sleeps), 0);
	close_mine();
}

static void the_receiver_of_a_poller(void **state)
{
	receiver_dies(false);
}

static void the_receiver_of_a_sleeper(void **state)
{
	receiver_dies(true);
}

static void the_sender_to_a_poller(void **state)
{
	sender_dies(false);
}

static void the_sender_to_a_sleeper(void **state)
{
	sender_dies(true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_receiver_of_a_poller),
		cmocka_unit_test(the_receiver_of_a_sleeper),
		cmocka_unit_test(the_sender_to_a_poller),
		cmocka_unit_test(the_sender_to_a_sleeper),
	};

	if (argc < 2)
		return 2;
	program = argv[0];
	links = argv[1];
	/* Read when the providers are first asked for something. */
	(void)setenv("FI_LNX_PROV_LINKS", links, 1);
	(void)setenv("FI_LNX_STRIPE_SIZE", "4096", 1);
	/* The other process does not come again. */
	(void)setenv("FI_TCP_REFUSED_TIMEOUT", "100", 1);
	if (argc > 2)
		return be_other(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
