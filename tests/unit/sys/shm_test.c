/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/compiler.h"
#include "sys/shm_file.h"

enum { LEN = 3 * 4096 };

static char name[64];

static int setup(void **state)
{
	static int serial;

	snprintf(name, sizeof(name), "/weft-shm-test-%d-%d", getpid(), serial++);
	return 0;
}

static bool name_exists(void)
{
	int fd = shm_open(name, O_RDONLY, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int teardown(void **state)
{
	bool left = name_exists();

	(void)shm_unlink(name);
	return left;
}

static void create(struct wf_shm *shm)
{
	assert_int_equal(wf_shm_open(shm, name, WF_SHM_CREATE), 0);
	assert_true(shm->created);
	assert_int_equal(wf_shm_resize(shm, LEN), 0);
	assert_int_equal(wf_shm_commit(shm, 0, LEN), 0);
	assert_int_equal(wf_shm_map(shm, NULL), 0);
	assert_int_equal(shm->len, LEN);
	memset(shm->mem, 7, LEN);
	assert_int_equal(wf_shm_ready(shm), 0);
}

static void attach(struct wf_shm *shm, enum wf_shm_mode mode)
{
	assert_int_equal(wf_shm_open(shm, name, mode), 0);
	assert_false(shm->created);
	assert_int_equal(wf_shm_map(shm, NULL), 0);
	assert_int_equal(shm->len, LEN);
}

/* Run @body in a process of its own that reports when it is done and then sleeps. */
static pid_t spawn(void (*body)(void))
{
	int fd[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fd[0]);
		body();
		(void)!write(fd[1], "x", 1);
		for (;;)
			pause();
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 1);
	close(fd[0]);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void shared_content(void **state)
{
	struct wf_shm a, b, c;
	struct stat st;

	create(&a);
	assert_int_equal(fstat(a.fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	attach(&b, WF_SHM_CREATE);
	attach(&c, WF_SHM_READ);
	((char *)b.mem)[5] = 1;
	assert_int_equal(((char *)a.mem)[5], 1);
	assert_int_equal(((char *)c.mem)[5], 1);
	assert_ptr_not_equal(a.mem, b.mem);
	/* The creator takes the name along; the others keep the object. */
	wf_shm_close(&a);
	assert_false(name_exists());
	((char *)b.mem)[5] = 2;
	assert_int_equal(((char *)c.mem)[5], 2);
	/* The next process makes another one. */
	create(&a);
	assert_int_equal(((char *)a.mem)[5], 7);
	wf_shm_close(&b);
	wf_shm_close(&c);
	assert_true(name_exists());
	wf_shm_close(&a);
}

static void reading_needs_one(void **state)
{
	struct wf_shm shm;

	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_READ), -ENOENT);
}

static void hint(void **state)
{
	struct wf_shm a, b;
	char *free_range =
		mmap(NULL, 2 * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(free_range, MAP_FAILED);
	assert_int_equal(munmap(free_range, 2 * LEN), 0);
	create(&a);
	assert_int_equal(wf_shm_open(&b, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_map(&b, free_range), 0);
	assert_ptr_equal(b.mem, free_range);
	wf_shm_close(&b);
	/* A range that is taken is left alone. */
	assert_int_equal(wf_shm_open(&b, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_map(&b, a.mem), 0);
	assert_ptr_not_equal(b.mem, a.mem);
	assert_int_equal(((char *)b.mem)[1], 7);
	wf_shm_close(&b);
	wf_shm_close(&a);
}

static void create_and_stay(void)
{
	static struct wf_shm shm;

	create(&shm);
}

static void attach_and_stay(void)
{
	static struct wf_shm shm;

	attach(&shm, WF_SHM_CREATE);
}

/* The creator is killed and no other process has it open: replaced, or not found. */
static void leftover(void **state)
{
	struct wf_shm shm;

	finish(spawn(create_and_stay));
	assert_true(name_exists());
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_READ), -ENOENT);
	create(&shm);
	wf_shm_close(&shm);
	assert_false(name_exists());
}

/* The creator is killed and another process has it open: new processes find it, the
 * last one unlinks it. */
static void orphan(void **state)
{
	pid_t creator = spawn(create_and_stay), other = spawn(attach_and_stay);
	struct wf_shm a, b;

	finish(creator);
	attach(&a, WF_SHM_CREATE);
	attach(&b, WF_SHM_READ);
	finish(other);
	wf_shm_close(&b);
	assert_true(name_exists());
	wf_shm_close(&a);
	assert_false(name_exists());
}

static struct wf_shm held;

static void lock_and_stay(void)
{
	attach(&held, WF_SHM_CREATE);
	assert_int_equal(wf_shm_lock(&held), 0);
}

/* A writer that is killed does not keep the lock. */
static void killed_writer(void **state)
{
	struct wf_shm shm;
	pid_t pid;

	create(&shm);
	pid = spawn(lock_and_stay);
	finish(pid);
	assert_int_equal(wf_shm_lock(&shm), 0);
	wf_shm_unlock(&shm);
	wf_shm_close(&shm);
}

enum { ROUNDS = 2000 };

static void add_one_by_one(void)
{
	struct wf_shm shm;
	volatile int *n;
	int was;

	attach(&shm, WF_SHM_CREATE);
	n = shm.mem;
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(wf_shm_lock(&shm), 0);
		was = *n;
		(void)sched_yield();
		*n = was + 1;
		wf_shm_unlock(&shm);
	}
	wf_shm_close(&shm);
}

/* Processes that add under the lock lose nothing. */
static void exclusion(void **state)
{
	struct wf_shm shm;
	pid_t pid[3];

	create(&shm);
	*(int *)shm.mem = 0;
	for (int i = 0; i < 3; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i])
			continue;
		add_one_by_one();
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
	assert_int_equal(*(int *)shm.mem, 3 * ROUNDS);
	wf_shm_close(&shm);
}

/* An object that others could write, or that is none, is not ours. */
static void foreign(void **state)
{
	struct wf_shm shm;
	char path[96];
	int fd;

	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), -EACCES);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_READ), -EACCES);
	close(fd);
	assert_int_equal(shm_unlink(name), 0);

	/* Nor is what a symbolic link points to. */
	snprintf(path, sizeof(path), "/dev/shm%s", name);
	if (symlink("/dev/null", path))
		skip();
	assert_true(wf_shm_open(&shm, name, WF_SHM_CREATE) < 0);
	assert_true(wf_shm_open(&shm, name, WF_SHM_READ) < 0);
	assert_int_equal(unlink(path), 0);
}

/* Another process of the user truncates the file with the name: those that have the
 * memory keep it, and others get an error. */
static void truncated(void **state)
{
	struct wf_shm a, b, late;
	int fd;

	(void)state;
	create(&a);
	attach(&b, WF_SHM_CREATE);
	fd = shm_open(name, O_RDWR, 0);
	assert_true(fd >= 0);
	for (off_t len = 4096; len >= 0; len -= 512) {
		assert_int_equal(ftruncate(fd, len), 0);
		memset(a.mem, 5, LEN);
		assert_int_equal(((const char *)b.mem)[LEN - 1], 5);
		assert_int_equal(wf_shm_commit(&b, 0, LEN), 0);
		if (wf_shm_open(&late, name, WF_SHM_CREATE))
			continue;
		if (len < 4096)
			assert_true(wf_shm_map(&late, NULL) < 0);
		wf_shm_close(&late);
	}
	assert_int_equal(ftruncate(a.mem_fd, 0), -1);
	close(fd);
	wf_shm_close(&b);
	wf_shm_close(&a);
	assert_false(name_exists());
}

/* A roster that was written over: any process and descriptor, none of which has the
 * memory, and a length of any size. */
static void scribbled(void **state)
{
	static const uint32_t words[] = { 0, 1, UINT32_MAX, INT32_MAX, 0x10001 };
	struct wf_shm a, late;
	int fd;

	(void)state;
	create(&a);
	fd = shm_open(name, O_RDWR, 0);
	assert_true(fd >= 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(words); i++) {
		for (off_t at = 0; at < 4096; at += (off_t)sizeof(words[i]))
			assert_int_equal(
				pwrite(fd, &words[i], sizeof(words[i]), at), 4);
		assert_int_equal(wf_shm_open(&late, name, WF_SHM_CREATE), 0);
		assert_true(wf_shm_map(&late, NULL) < 0);
		wf_shm_close(&late);
	}
	close(fd);
	wf_shm_close(&a);
}

/* A file of this user that no process has open and that is no object of this kind. */
static void empty_leftover(void **state)
{
	struct wf_shm shm;
	int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	close(fd);
	create(&shm);
	wf_shm_close(&shm);
}

#define SHM_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHM_TEST(shared_content),
		SHM_TEST(reading_needs_one),
		SHM_TEST(hint),
		SHM_TEST(leftover),
		SHM_TEST(orphan),
		SHM_TEST(killed_writer),
		SHM_TEST(exclusion),
		SHM_TEST(foreign),
		SHM_TEST(truncated),
		SHM_TEST(scribbled),
		SHM_TEST(empty_leftover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
