/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "capture.h"
#include "core/init.h"
#include "core/log/filter.h"
#include "sys/compiler.h"

static struct fi_provider tcp = { .name = "tcp" };
static struct fi_provider shm = { .name = "shm" };
static char dir[] = "/tmp/weft-log-XXXXXX";
static char log_path[64];

/* The file of the log stays open (watchdog.c). */
extern int unit_keeps_fds;
int unit_keeps_fds = 1;

void wf_core_init(void)
{
}

/* The log as a process with these variables would have it, in the file log_path. */
static void start(const char *level, const char *provs, const char *subsys)
{
	static const char *const names[] = { "FI_LOG_LEVEL", "FI_LOG_PROV",
		"FI_LOG_SUBSYS" };
	const char *values[] = { level, provs, subsys };
	size_t i;

	for (i = 0; i < WF_ARRAY_SIZE(names); i++) {
		if (values[i])
			assert_int_equal(setenv(names[i], values[i], 1), 0);
		else
			assert_int_equal(unsetenv(names[i]), 0);
	}
	(void)unlink(log_path);
	assert_int_equal(setenv("FI_LOG_LOCATION", log_path, 1), 0);
	wf_log_reset();
}

static const char *file_text(const char *path)
{
	static char text[1 << 19];
	int fd = open(path, O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return NULL;
	len = read(fd, text, sizeof(text) - 1);
	assert_true(len >= 0);
	text[len] = '\0';
	assert_int_equal(close(fd), 0);
	return text;
}

/* PRV-036, PRV-043: unset is silent, the levels are cumulative, debug needs a build
 * with debugging. */
static void levels(void **state)
{
#if defined(ENABLE_DEBUG) && ENABLE_DEBUG
	const int most = 4;
#else
	const int most = 3;
#endif
	static const struct {
		const char *word;
		int count;
	} rows[] = {
		{ NULL, 0 },
		{ "warn", 1 },
		{ "trace", 2 },
		{ "info", 3 },
		{ "INFO", 3 },
		{ "debug", 4 },
		{ "loud", 1 },
		{ "", 0 },
		{ "silent", 0 },
		{ "error", 0 },
		{ "0", 0 },
	};
	size_t i;
	int level, on;

	for (i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		start(rows[i].word, NULL, NULL);
		for (level = -1; level < 6; level++) {
			on = level >= 0 && level < rows[i].count && level < most;
			assert_int_equal(!!fi_log_enabled(&tcp,
						 (enum fi_log_level)level, FI_LOG_CQ),
				on);
		}
	}
	start("loud", NULL, NULL);
	assert_non_null(strstr(file_text(log_path), "FI_LOG_LEVEL is \"loud\""));
	start(NULL, NULL, NULL);
	assert_null(file_text(log_path));
}

/* The standard error, while it is a file. */
static int stderr_fd;

static void hold_stderr(void)
{
	int fd = open(log_path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	stderr_fd = dup(STDERR_FILENO);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	(void)close(fd);
}

static const char *release_stderr(void)
{
	(void)dup2(stderr_fd, STDERR_FILENO);
	(void)close(stderr_fd);
	return file_text(log_path);
}

static unsigned int count_of(const char *text, const char *part)
{
	unsigned int count = 0;

	while ((text = strstr(text, part))) {
		count++;
		text++;
	}
	return count;
}

/* A wrong setting is told once, without a level as well, and not to a user who wants to
 * hear nothing. */
static void notices(void **state)
{
	static const struct {
		const char *level, *provs, *subsys;
		unsigned int count;
	} rows[] = {
		{ NULL, NULL, NULL, 1 },
		{ "warn", NULL, NULL, 1 },
		{ NULL, "tcp", NULL, 1 },
		{ NULL, "^tcp", NULL, 0 },
		{ NULL, NULL, "cq", 0 },
		{ "silent", NULL, NULL, 0 },
		{ "error", NULL, NULL, 0 },
		{ "0", NULL, NULL, 0 },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		start(NULL, NULL, NULL);
		hold_stderr();
		assert_int_equal(setenv("FI_LOG_LOCATION", "stderr", 1), 0);
		for (int again = 0; again < 2; again++) {
			if (rows[i].level)
				(void)setenv("FI_LOG_LEVEL", rows[i].level, 1);
			if (rows[i].provs)
				(void)setenv("FI_LOG_PROV", rows[i].provs, 1);
			if (rows[i].subsys)
				(void)setenv("FI_LOG_SUBSYS", rows[i].subsys, 1);
			if (!again)
				wf_log_reset();
			wf_log_notice(&tcp, "%s is wrong", "FI_TCP_X");
		}
		assert_int_equal(
			count_of(release_stderr(), "tcp:core:"), rows[i].count);
		wf_log_forget_notices();
	}
}

/* Nor does a wrong filter hide itself. */
static void notices_of_the_log(void **state)
{
	hold_stderr();
	assert_int_equal(setenv("FI_LOG_SUBSYS", "corre", 1), 0);
	assert_int_equal(unsetenv("FI_LOG_LEVEL"), 0);
	wf_log_reset();
	assert_non_null(strstr(release_stderr(), "\"corre\"; did you mean core?"));
	assert_int_equal(unsetenv("FI_LOG_SUBSYS"), 0);
}

static bool passes(const struct fi_provider *prov, enum fi_log_subsys subsys)
{
	return fi_log_enabled(prov, FI_LOG_WARN, subsys);
}

/* PRV-037, PRV-041 */
static void filters(void **state)
{
	start("warn", "tcp, udp", NULL);
	assert_true(passes(&tcp, FI_LOG_CQ));
	assert_false(passes(&shm, FI_LOG_CQ));
	assert_true(passes(NULL, FI_LOG_CORE));
	start("warn", "^TCP", NULL);
	assert_false(passes(&tcp, FI_LOG_CQ));
	assert_true(passes(&shm, FI_LOG_CQ));
	assert_true(passes(&wf_core_prov, FI_LOG_CQ));
	start("warn", "^core,,shm", NULL);
	assert_false(passes(&wf_core_prov, FI_LOG_CQ));
	assert_false(passes(&shm, FI_LOG_CQ));
	assert_true(passes(&tcp, FI_LOG_CQ));
	start("warn", NULL, "cq,ep_data");
	assert_true(passes(&tcp, FI_LOG_CQ));
	assert_true(passes(&tcp, FI_LOG_EP_DATA));
	assert_false(passes(&tcp, FI_LOG_EP_CTRL));
	assert_false(passes(&tcp, FI_LOG_CORE));
	start("warn", NULL, "^cq,mr");
	assert_false(passes(&tcp, FI_LOG_CQ));
	assert_false(passes(&tcp, FI_LOG_MR));
	assert_true(passes(&tcp, FI_LOG_CNTR));
	start("warn", "", "");
	assert_false(passes(&tcp, FI_LOG_CQ));
	start("warn", NULL, "ep,core");
	assert_non_null(strstr(file_text(log_path), "no subsystem \"ep\""));
}

/* PRV-040 */
static void line_format(void **state)
{
	char expected[128];
	long long now;
	const char *text;

	start("info", NULL, NULL);
	now = (long long)time(NULL);
	errno = EINTR;
	fi_log(&tcp, FI_LOG_INFO, FI_LOG_EP_CTRL, "fn", 12, "value %d\n", 5);
	fi_log(NULL, FI_LOG_WARN, FI_LOG_CORE, "fn", 13, "no newline");
	assert_int_equal(errno, EINTR);
	text = file_text(log_path);
	(void)snprintf(expected, sizeof(expected),
		"libfabric:%ld:%lld::tcp:ep_ctrl:fn():12<info> value 5\n",
		(long)getpid(), now);
	if (strncmp(text, expected, strlen(expected)) != 0)
		(void)snprintf(expected, sizeof(expected),
			"libfabric:%ld:%lld::tcp:ep_ctrl:fn():12<info> value 5\n",
			(long)getpid(), now + 1);
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	assert_non_null(strstr(text, "::core:core:fn():13<warn> no newline\n"));
}

/* A long message is whole, an endless one is cut, and both end their line. */
static void long_messages(void **state)
{
	size_t size = 200000;
	char *big = malloc(size);
	const char *text;

	assert_non_null(big);
	memset(big, 'x', size - 1);
	big[size - 1] = '\0';
	start("warn", NULL, NULL);
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "%.5000sEND\n", big);
	text = file_text(log_path);
	assert_non_null(strstr(text, "xEND\n"));
	start("warn", NULL, NULL);
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "%s", big);
	text = file_text(log_path);
	assert_int_equal(strlen(text), 65535);
	assert_int_equal(text[65534], '\n');
	capture_start();
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "%.5000sEND\n", big);
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "%s", big);
	assert_non_null(strstr(capture_end(), "xEND\n"));
	free(big);
}

/* PRV-038, PRV-039 */
static void location_file(void **state)
{
	struct stat st;

	assert_int_equal(setenv("FI_LOG_LOCATION_MODE", "0640", 1), 0);
	start("warn", NULL, NULL);
	assert_int_equal(stat(log_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(unsetenv("FI_LOG_LOCATION_MODE"), 0);
	start("warn", NULL, NULL);
	assert_int_equal(stat(log_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* PRV-038 */
static void location_directory(void **state)
{
	char path[128];

	start("warn", NULL, NULL);
	assert_int_equal(setenv("FI_LOG_LOCATION", dir, 1), 0);
	wf_log_reset();
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "in a directory\n");
	(void)snprintf(path, sizeof(path), "%s/ofi_%ld.log", dir, (long)getpid());
	assert_non_null(strstr(file_text(path), "in a directory\n"));
	assert_int_equal(unlink(path), 0);
}

/* The bytes written to @fd while the log is configured and one line is logged. */
static const char *text_of_fd(int fd)
{
	char path[128];
	int saved = dup(fd), file;

	(void)snprintf(path, sizeof(path), "%s/fd", dir);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(saved >= 0 && file >= 0);
	(void)fflush(NULL);
	assert_true(dup2(file, fd) == fd);
	wf_log_reset();
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "a line\n");
	assert_true(dup2(saved, fd) == fd);
	assert_int_equal(close(saved), 0);
	assert_int_equal(close(file), 0);
	return file_text(path);
}

/* PRV-038 */
static void location_streams_and_fallback(void **state)
{
	char path[128];
	const char *text;

	start("warn", NULL, NULL);
	assert_int_equal(setenv("FI_LOG_LOCATION", "stderr", 1), 0);
	assert_non_null(strstr(text_of_fd(STDERR_FILENO), "a line\n"));
	assert_int_equal(setenv("FI_LOG_LOCATION", "stdout", 1), 0);
	assert_non_null(strstr(text_of_fd(STDOUT_FILENO), "a line\n"));
	assert_int_equal(unsetenv("FI_LOG_LOCATION"), 0);
	assert_non_null(strstr(text_of_fd(STDERR_FILENO), "a line\n"));
	/* The file exists already. */
	assert_int_equal(setenv("FI_LOG_LOCATION", log_path, 1), 0);
	text = text_of_fd(STDERR_FILENO);
	assert_non_null(strstr(text, "<warn> cannot log to "));
	assert_non_null(strstr(text, "a line\n"));
	(void)snprintf(path, sizeof(path), "%s/fd", dir);
	assert_int_equal(unlink(path), 0);
}

/* PRV-042 */
static void ready_is_rate_limited(void **state)
{
	uint64_t showtime = 0, other = 0;
	struct timespec nap = { .tv_nsec = 60000000 };

	assert_int_equal(setenv("FI_LOG_INTERVAL", "50", 1), 0);
	start("warn", NULL, NULL);
	assert_true(fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &showtime));
	assert_false(fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &showtime));
	assert_true(fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &other));
	assert_false(fi_log_ready(&tcp, FI_LOG_INFO, FI_LOG_CQ, &(uint64_t){ 0 }));
	assert_int_equal(nanosleep(&nap, NULL), 0);
	assert_true(fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &showtime));
	assert_int_equal(setenv("FI_LOG_INTERVAL", "often", 1), 0);
	start("warn", NULL, NULL);
	assert_non_null(strstr(file_text(log_path), "FI_LOG_INTERVAL is \"often\""));
	assert_int_equal(unsetenv("FI_LOG_INTERVAL"), 0);
}

static uint64_t shared_showtime;
static atomic_int shared_count;

static void *speak(void *arg)
{
	int i;

	for (i = 0; i < 500; i++) {
		if (fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &shared_showtime))
			atomic_fetch_add(&shared_count, 1);
		FI_WARN(&tcp, FI_LOG_CQ, "thread %d says %d\n", *(int *)arg, i);
	}
	return NULL;
}

static void run_threads(void *(*fn)(void *), pthread_t *threads, int *ids, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		ids[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, fn, &ids[i]), 0);
	}
}

static void join_threads(pthread_t *threads, int count)
{
	int i;

	for (i = 0; i < count; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* PRV-042: one of several threads speaks; no line is torn. */
static void threads_do_not_mix_lines(void **state)
{
	pthread_t threads[4];
	int ids[4], lines = 0;
	const char *line, *end;

	start("warn", NULL, NULL);
	shared_showtime = 0;
	shared_count = 0;
	run_threads(speak, threads, ids, 4);
	join_threads(threads, 4);
	assert_int_equal(shared_count, 1);
	for (line = file_text(log_path); *line; line = end + 1) {
		assert_int_equal(strncmp(line, "libfabric:", 10), 0);
		end = strchr(line, '\n');
		assert_non_null(end);
		lines++;
	}
	assert_int_equal(lines, 4 * 500);
}

static atomic_int in_use;
static atomic_bool late_call, stop;

static int slow_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	if (!atomic_load(&in_use))
		atomic_store(&late_call, true);
	return 1;
}

static void slow_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)slow_enabled(prov, level, subsys, 0);
}

static void *speak_until_stopped(void *arg)
{
	while (!atomic_load(&stop))
		FI_WARN(&tcp, FI_LOG_CQ, "again\n");
	return NULL;
}

/* PRV-047: after the close no callback runs, however busy the log. */
static void close_waits_for_callbacks(void **state)
{
	struct fi_ops_log ops = {
		.size = sizeof(ops), .enabled = slow_enabled, .log = slow_log
	};
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	struct timespec nap = { .tv_nsec = 1000000 };
	pthread_t threads[3];
	int ids[3], i;

	start(NULL, NULL, NULL);
	run_threads(speak_until_stopped, threads, ids, 3);
	for (i = 0; i < 20; i++) {
		atomic_store(&in_use, 1);
		assert_int_equal(wf_log_import(&log), 0);
		(void)nanosleep(&nap, NULL);
		assert_int_equal(wf_log_restore(&log), 0);
		atomic_store(&in_use, 0);
	}
	atomic_store(&stop, true);
	join_threads(threads, 3);
	assert_false(late_call);
}

static struct fid_logging nested_fid;
static int nested_calls;

static void nested_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	nested_calls++;
	/* As if it called something that logs. */
	FI_WARN(&tcp, FI_LOG_CQ, "from within\n");
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "from within\n");
	assert_false(fi_log_enabled(&tcp, FI_LOG_WARN, FI_LOG_CQ));
	assert_int_equal(wf_log_restore(&nested_fid), -FI_EBUSY);
	assert_int_equal(wf_log_import(&nested_fid), -FI_EBUSY);
}

static void logging_logger_does_not_recurse(void **state)
{
	struct fi_ops_log ops = { .size = sizeof(ops), .log = nested_log };

	nested_fid = (struct fid_logging){ .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	start("warn", NULL, NULL);
	assert_int_equal(wf_log_import(&nested_fid), 0);
	FI_WARN(&tcp, FI_LOG_CQ, "once\n");
	assert_int_equal(nested_calls, 1);
	assert_int_equal(wf_log_restore(&nested_fid), 0);
}

static void careless_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	errno = ENOTTY;
}

/* Callers log between a call that fails and their use of errno. */
static void errno_is_kept(void **state)
{
	struct fi_ops_log ops = { .size = sizeof(ops), .log = careless_log };
	struct fid_logging fid = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };

	start("warn", NULL, NULL);
	assert_int_equal(wf_log_import(&fid), 0);
	errno = EINTR;
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "text\n");
	assert_int_equal(errno, EINTR);
	assert_int_equal(wf_log_restore(&fid), 0);
}

static int setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(log_path, sizeof(log_path), "%s/log", dir);
	return 0;
}

static int teardown(void **state)
{
	wf_log_fini();
	(void)unlink(log_path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(notices),
		cmocka_unit_test(notices_of_the_log),
		cmocka_unit_test(filters),
		cmocka_unit_test(line_format),
		cmocka_unit_test(long_messages),
		cmocka_unit_test(location_file),
		cmocka_unit_test(location_directory),
		cmocka_unit_test(location_streams_and_fallback),
		cmocka_unit_test(ready_is_rate_limited),
		cmocka_unit_test(threads_do_not_mix_lines),
		cmocka_unit_test(close_waits_for_callbacks),
		cmocka_unit_test(logging_logger_does_not_recurse),
		cmocka_unit_test(errno_is_kept),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
