/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "providers/hook_monitor/file.h"

#include "../../log_lines.h"
#include "../../time_limits.h"

/* The file: its name, its life, samples, and what others may do to it. */

static void name_and_modes(void **state)
{
	char expected[64];
	struct stat st;

	(void)setenv("SLURM_JOB_ID", "47", 1);
	open_all();
	(void)unsetenv("SLURM_JOB_ID");
	(void)snprintf(
		expected, sizeof(expected), "/%d_%d_", (int)getppid(), (int)getpid());
	assert_non_null(strstr(fx.path, expected));
	assert_string_equal(strstr(fx.path, "_47_"), "_47_played");
	assert_int_equal(stat(fx.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(fx.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01700);
	read_file();
	assert_memory_equal(fx.layout.magic, MON_MAGIC, sizeof(fx.layout.magic));
	assert_int_equal(fx.layout.size, sizeof(fx.layout));
	close_all();
	assert_int_equal(count_files(), 0);
}

/* The modes are those of the parameters, whatever the umask. */
static void other_modes(void **state)
{
	mode_t old = umask(0077);
	struct stat st;

	mon_params.dir_mode = 0755;
	mon_params.file_mode = 0644;
	open_all();
	(void)umask(old);
	assert_int_equal(stat(fx.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(stat(fx.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	close_all();
}

/* A row is what happened since the one before, whichever calls ask for it. */
static void samples_are_changes(void **state)
{
	open_all();
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	assert_cell(sample(), MON_SEND, 1, 1, 100);
	assert_int_equal(fi_send(fx.ep, NULL, 200, NULL, 0, NULL), 0);
	assert_int_equal(fi_send(fx.ep, NULL, 300, NULL, 0, NULL), 0);
	assert_cell(sample(), MON_SEND, 1, 2, 500);
	assert_cell(sample(), MON_SEND, 1, 0, 0);
	close_all();
}

/* A thread reads requests after tick_max calls, and not before. */
static void ticks(void **state)
{
	mon_params.tick_max = 10;
	open_all();
	want(1);
	for (int i = 0; i < 9; i++)
		assert_int_equal(fi_send(fx.ep, NULL, 1, NULL, 0, NULL), 0);
	read_file();
	assert_int_equal(fx.layout.answered, 0);
	assert_int_equal(fi_send(fx.ep, NULL, 1, NULL, 0, NULL), 0);
	assert_int_equal(newest()->number, 1);
	assert_cell(newest(), MON_SEND, 0, 10, 10);
	close_all();
}

/* The end takes a last sample, which nothing has asked for. */
static void last_sample(void **state)
{
	open_all();
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	assert_cell(sample(), MON_SEND, 1, 1, 100);
	assert_int_equal(newest()->ended, 0);
	assert_int_equal(fi_send(fx.ep, NULL, 101, NULL, 0, NULL), 0);
	close_all();
	assert_int_equal(newest()->ended, 1);
	assert_int_equal(fx.layout.answered, fx.layout.wanted + 1);
	assert_cell(newest(), MON_SEND, 1, 1, 101);
}

static void lingering(void **state)
{
	mon_params.linger = 1;
	open_all();
	close_all();
	assert_int_equal(count_files(), 1);
}

/* After the last sample there is none, whatever is asked for. */
static void nothing_after_the_end(void **state)
{
	uint64_t last;

	mon_params.linger = 1;
	open_all();
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	mon_files_end();
	read_file();
	last = fx.layout.answered;
	assert_int_equal(newest()->ended, 1);
	mon_params.tick_max = 1;
	want(last + 5);
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	read_file();
	assert_int_equal(fx.layout.answered, last);
	assert_int_equal(newest()->ended, 1);
	close_all();
	read_file();
	assert_int_equal(fx.layout.answered, last);
}

/* A process that exits with an open fabric. */
static void the_process_ends(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		open_all();
		mon_fi.cleanup();
		_exit(count_files());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The process sees a request, or none; nothing else in the file moves it. */
static void garbage(void **state)
{
	char noise[sizeof(struct mon_layout)];

	open_all();
	memset(noise, 0xff, sizeof(noise));
	assert_int_equal(pwrite(fx.fd, noise, sizeof(noise), 0), sizeof(noise));
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	assert_int_equal(newest()->number, UINT64_MAX);
	assert_cell(newest(), MON_SEND, 1, 1, 100);
	close_all();
}

static void truncated(void **state)
{
	open_all();
	assert_int_equal(ftruncate(fx.fd, 0), 0);
	assert_int_equal(fi_send(fx.ep, NULL, 100, NULL, 0, NULL), 0);
	/* A request makes the file grow again. */
	want(1);
	assert_int_equal(fi_send(fx.ep, NULL, 101, NULL, 0, NULL), 0);
	assert_int_equal(ftruncate(fx.fd, 8), 0);
	close_all();
	assert_int_equal(count_files(), 0);
}

/* A child neither answers for its parent nor removes its file. */
static void forked_child(void **state)
{
	int status;
	pid_t pid;

	open_all();
	want(1);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 3; i++)
			(void)fi_send(fx.ep, NULL, 1, NULL, 0, NULL);
		close_all();
		mon_fi.cleanup();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	read_file();
	assert_int_equal(fx.layout.answered, 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(fi_send(fx.ep, NULL, 1, NULL, 0, NULL), 0);
	assert_cell(newest(), MON_SEND, 0, 1, 1);
	close_all();
}

/* A child that lives on does not make the dead parent look alive. */
static void lock_is_not_inherited(void **state)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int go[2];
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	open_all();
	pid = fork();
	if (!pid) {
		char byte;

		(void)close(go[1]);
		(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	close_all();
	/* The child may still be about to close its copy. */
	for (unsigned int i = 0; lock.l_type != F_UNLCK; i++) {
		assert_true(i < 1000 * limit_s(5));
		(void)usleep(1000);
		lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
		assert_int_equal(fcntl(fx.fd, F_OFD_GETLK, &lock), 0);
	}
	(void)close(go[0]);
	(void)close(go[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The domain is opened all the same, and is the provider's. The reason is one line. */
static void assert_left_out(const char *why)
{
	struct fid_domain *second = NULL;
	char *line;

	log_lines_start();
	fx.fabric = monitor(new_fabric());
	assert_int_equal(fi_domain(fx.fabric, NULL, &fx.domain, NULL), 0);
	assert_ptr_equal(fx.domain->ops, &played_domain);
	assert_int_equal(fi_domain(fx.fabric, NULL, &second, NULL), 0);
	line = strstr(log_lines, "played is not monitored: ");
	assert_non_null(line);
	assert_non_null(strstr(line, why));
	assert_null(strstr(line + strlen("played is"), "is not monitored"));
	assert_int_equal(fi_close(&second->fid), 0);
	assert_int_equal(fi_close(&fx.domain->fid), 0);
	assert_int_equal(fi_close(&fx.fabric->fid), 0);
}

static void no_base(void **state)
{
	mon_params.basepath = "/nonexistent/mon";
	assert_left_out("No such file or directory");
}

static void user_dir(char path[128])
{
	(void)snprintf(path, 128, "%s/%u", fx.base, (unsigned int)geteuid());
}

/* Others could replace files there. */
static void directory_of_all(void **state)
{
	char path[128];

	user_dir(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_left_out("Operation not permitted");
	/* It is what the user asked for. */
	mon_params.dir_mode = 0777;
	open_all();
	close_all();
}

static void directory_is_a_link(void **state)
{
	char path[128];

	user_dir(path);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_left_out("directory of the user");
}

/* A crashed process with the same id left its file. */
static void name_is_taken(void **state)
{
	mon_params.linger = 1;
	open_all();
	close_all();
	(void)close(fx.fd);
	fx.fabric = monitor(new_fabric());
	assert_int_equal(fi_domain(fx.fabric, NULL, &fx.domain, NULL), 0);
	assert_int_equal(count_files(), 2);
	assert_int_equal(fi_close(&fx.domain->fid), 0);
	assert_int_equal(fi_close(&fx.fabric->fid), 0);
}

static void parameters(void **state)
{
	(void)setenv("FI_OFI_HOOK_MONITOR_BASEPATH", fx.base, 1);
	(void)setenv("FI_OFI_HOOK_MONITOR_DIR_MODE", "01750", 1);
	(void)setenv("FI_OFI_HOOK_MONITOR_FILE_MODE", "0640", 1);
	(void)setenv("FI_OFI_HOOK_MONITOR_TICK_MAX", "-1", 1);
	(void)setenv("FI_OFI_HOOK_MONITOR_LINGER", "yes", 1);
	mon_params.tick_max = 1024;
	log_lines_start();
	mon_params_read();
	assert_string_equal(mon_params.basepath, fx.base);
	assert_int_equal(mon_params.dir_mode, 01750);
	assert_int_equal(mon_params.file_mode, 0640);
	assert_int_equal(mon_params.tick_max, 1024);
	assert_int_equal(mon_params.linger, 1);
	assert_true(log_lines_have("FI_OFI_HOOK_MONITOR_TICK_MAX is -1"));
	mon_params_done();
	assert_string_equal(mon_params.basepath, "/dev/shm/ofi");
	(void)setenv("FI_OFI_HOOK_MONITOR_TICK_MAX", "7", 1);
	mon_params_read();
	assert_int_equal(mon_params.tick_max, 7);
	mon_params_done();
}

int main(void)
{
#define TEST(name)                                                                     \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(name_and_modes),
		TEST(other_modes),
		TEST(samples_are_changes),
		TEST(ticks),
		TEST(last_sample),
		TEST(nothing_after_the_end),
		TEST(lingering),
		TEST(the_process_ends),
		TEST(garbage),
		TEST(truncated),
		TEST(forked_child),
		TEST(lock_is_not_inherited),
		TEST(no_base),
		TEST(directory_of_all),
		TEST(directory_is_a_link),
		TEST(name_is_taken),
		TEST(parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
