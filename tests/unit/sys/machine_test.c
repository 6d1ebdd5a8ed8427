/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/machine.h"

static void one_machine_has_one_identity(void **state)
{
	static const uint8_t zero[16];
	uint8_t first[16], second[16];
	uint64_t ns[2];

	assert_int_equal(wf_machine_boot_id(first), 0);
	assert_int_equal(wf_machine_boot_id(second), 0);
	assert_memory_equal(first, second, sizeof(first));
	assert_memory_not_equal(first, zero, sizeof(first));
	assert_int_equal(wf_machine_pid_ns(&ns[0]), 0);
	assert_int_equal(wf_machine_pid_ns(&ns[1]), 0);
	assert_int_equal(ns[0], ns[1]);
}

/* A process that ended and was not waited for is there, as a zombie; then it is not. */
static void states_of_a_process(void **state)
{
	uint64_t started[2];
	siginfo_t info;
	char letter;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			(void)pause();
	assert_int_equal(wf_process_stat((uint32_t)pid, &letter, &started[0]), 0);
	assert_int_not_equal(letter, 'Z');
	assert_int_not_equal(started[0], 0);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(wf_process_stat((uint32_t)pid, &letter, &started[1]), 0);
	assert_int_equal(letter, 'Z');
	assert_int_equal(started[0], started[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(wf_process_stat((uint32_t)pid, &letter, &started[1]), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_machine_has_one_identity),
		cmocka_unit_test(states_of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
