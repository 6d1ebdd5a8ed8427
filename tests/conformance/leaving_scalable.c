/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was injected on a transmit context leaves although that context, or all of them
 * with their endpoint, is closed next, or the process ends. See leaving.c.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitizer.h"
#include "scalable.h"

enum { MESSAGES = 3, LEN = 100, LIMIT_S = 40, NAME_MAX_LEN = 256 };

/* LEAVE_IT: to the endpoint, as the close of the context waits for nothing. */
enum ending { CLOSE_CONTEXT, LEAVE_IT, CLOSE_ALL, EXIT, ENDINGS };

static uint64_t level; /* default op flags of transmit contexts */

static _Noreturn void be_sender(int name_fd, enum ending ending)
{
	char name[NAME_MAX_LEN];
	struct sc_end end;
	struct cf_env env;
	uint8_t buf[LEN];

	if (ending == EXIT)
		sanitizer_allow_leaks();
	CHECK_EQ(read(name_fd, name, sizeof(name)), sizeof(name));
	sc_open_domain(&env, FI_MSG);
	sc_open_end(&env, &end, FI_WAIT_NONE);
	sc_enable_end(&end);
	CHECK_EQ(fi_av_insert(end.av, name, 1, &end.peer, 0, NULL), 1);
	if (level) {
		uint64_t flags = FI_TRANSMIT | level;

		CHECK_OK(fi_control(&end.tx[1]->fid, FI_SETOPSFLAG, &flags));
	}
	for (unsigned int i = 0; i < MESSAGES; i++) {
		cf_fill(buf, sizeof(buf), i);
		CHECK_OK(fi_inject(end.tx[1], buf, sizeof(buf), sc_addr(&end, 1)));
	}
	switch (ending) {
	case CLOSE_CONTEXT:
		CF_CLOSE(end.tx[1]);
		_exit(0);
	case LEAVE_IT:
		CHECK_OK(setenv("FI_FLUSH_TIMEOUT", "0", 1));
		CF_CLOSE(end.tx[1]);
		CHECK_OK(unsetenv("FI_FLUSH_TIMEOUT"));
		sc_close_end(&end);
		cf_close(&env);
		_exit(0);
	case CLOSE_ALL:
		sc_close_end(&end);
		cf_close(&env);
		_exit(0);
	case EXIT:
	case ENDINGS:
		exit(0);
	}
	abort();
}

static void be_receiver(int name_fd)
{
	struct fi_context2 contexts[MESSAGES];
	uint8_t bufs[MESSAGES][LEN];
	char name[NAME_MAX_LEN] = { 0 };
	size_t len = sizeof(name);
	struct sc_end end;
	struct cf_env env;

	sc_open_domain(&env, FI_MSG);
	sc_open_end(&env, &end, FI_WAIT_NONE);
	sc_enable_end(&end);
	CHECK_OK(fi_getname(&end.sep->fid, name, &len));
	for (int i = 0; i < MESSAGES; i++)
		CHECK_OK(fi_recv(end.rx[1], bufs[i], sizeof(bufs[i]), NULL,
			FI_ADDR_UNSPEC, &contexts[i]));
	CHECK_EQ(write(name_fd, name, sizeof(name)), sizeof(name));
	for (unsigned int i = 0; i < MESSAGES; i++) {
		(void)cf_cq_wait_for(end.rx_cq[1], &contexts[i]);
		cf_verify(bufs[i], sizeof(bufs[i]), i);
	}
	sc_close_end(&end);
	cf_close(&env);
}

static void run(enum ending ending)
{
	int fds[2], status;
	pid_t pid;

	CHECK(!pipe(fds));
	pid = fork();
	if (!pid) {
		(void)alarm(limit_s(LIMIT_S));
		be_sender(fds[0], ending);
	}
	be_receiver(fds[1]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	close(fds[0]);
	close(fds[1]);
}

static void injected_on_a_context(void)
{
	static const uint64_t levels[] = { 0, FI_TRANSMIT_COMPLETE,
		FI_DELIVERY_COMPLETE };
	struct cf_options options = { .caps = FI_NAMED_RX_CTX, .adjust = sc_several };

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("scalable endpoints are not offered");
	for (size_t i = 0; i < CF_COUNT(levels); i++) {
		level = levels[i];
		for (int ending = 0; ending < ENDINGS; ending++)
			run((enum ending)ending);
	}
}

CF_SUITE(leaving_scalable, CF_CASE(injected_on_a_context, "CS-006 EP-027", 0));
