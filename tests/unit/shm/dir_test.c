/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/shm/conn/dir.h"

/* Below a directory of our own, as if it were /dev/shm. */

struct fi_provider shm_fi = { .name = "shm" };

static char root[32], plain[SHM_DIR_LEN];

static int root_setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/weft-dir-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	(void)snprintf(
		plain, sizeof(plain), "%s/weft-%u", root, (unsigned int)geteuid());
	return 0;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int root_teardown(void **state)
{
	(void)state;
	return nftw(root, drop, 4, FTW_DEPTH | FTW_PHYS);
}

static void numbered(char path[SHM_DIR_LEN], int number)
{
	(void)snprintf(path, SHM_DIR_LEN, "%.40s.%016d", plain, number);
}

static void lock(struct shm_dirs_lock *ret, unsigned int count)
{
	struct stat st;

	assert_int_equal(shm_dirs_lock(root, ret), 0);
	assert_int_equal(ret->dirs.count, count);
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(lstat(ret->dirs.path[i], &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
		assert_int_equal(st.st_uid, geteuid());
	}
}

static void made_and_alone(void **state)
{
	struct shm_dirs_lock held;
	struct shm_dirs dirs;
	int other;

	(void)state;
	shm_dirs_find(root, &dirs);
	assert_int_equal(dirs.count, 0);
	assert_int_equal(shm_dir_usable(root), 0);
	lock(&held, 1);
	assert_string_equal(held.dirs.path[0], plain);
	other = open(plain, O_RDONLY | O_DIRECTORY);
	assert_true(other >= 0);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	shm_dirs_unlock(&held);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	shm_dir_remove(plain);
	assert_int_equal(access(plain, F_OK), -1);
}

/* Its mode is the required one, whatever mode new files get there. */
static void mask_and_inherited_mode(void **state)
{
	struct shm_dirs_lock held;
	mode_t mask = umask(0777);

	(void)state;
	assert_int_equal(chmod(root, 02700), 0);
	lock(&held, 1);
	assert_string_equal(held.dirs.path[0], plain);
	shm_dirs_unlock(&held);
	(void)umask(mask);
}

/* The next one is found by all, and used. */
static void use_another(void)
{
	struct shm_dirs_lock held;
	struct shm_dirs dirs;
	char path[SHM_DIR_LEN];

	shm_dirs_plain(root, &dirs);
	assert_int_equal(dirs.count, 0);
	assert_int_equal(shm_dir_usable(root), 0);
	lock(&held, 1);
	assert_int_equal(strncmp(held.dirs.path[0], plain, strlen(plain)), 0);
	assert_int_equal(held.dirs.path[0][strlen(plain)], '.');
	memcpy(path, held.dirs.path[0], sizeof(path));
	shm_dirs_unlock(&held);
	lock(&held, 1);
	assert_string_equal(held.dirs.path[0], path);
	shm_dirs_unlock(&held);
	shm_dirs_find(root, &dirs);
	assert_int_equal(dirs.count, 1);
	assert_string_equal(dirs.path[0], path);
	shm_dir_remove(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void plain_name_is_taken(void **state)
{
	char target[SHM_DIR_LEN];
	FILE *file;

	(void)state;
	/* Ours, but open to others. */
	assert_int_equal(mkdir(plain, 0700), 0);
	assert_int_equal(chmod(plain, 0755), 0);
	use_another();
	assert_int_equal(rmdir(plain), 0);
	/* A link would let another user choose. */
	(void)snprintf(target, sizeof(target), "%s/target", root);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, plain), 0);
	use_another();
	assert_int_equal(unlink(plain), 0);
	file = fopen(plain, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	use_another();
}

/* Names of the other kind are not to be guessed, but any may be there. */
static void all_sorts_of_another_user(void **state)
{
	enum { COUNT = 20 };
	char path[SHM_DIR_LEN];

	(void)state;
	if (geteuid()) {
		print_message("skipped: needs root to make files of another user\n");
		skip();
	}
	assert_int_equal(mkdir(plain, 0700), 0);
	assert_int_equal(chown(plain, 12345, 12345), 0);
	for (int i = 0; i < COUNT; i++) {
		numbered(path, i);
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(chown(path, 12345, 12345), 0);
	}
	use_another();
}

/* Processes that started at once made one each: all take them in one order, and those
 * of too many that are last are left out. */
static void several(void **state)
{
	struct shm_dirs_lock held;
	struct shm_dirs dirs;
	char path[SHM_DIR_LEN];

	(void)state;
	for (int i = SHM_DIRS_MAX + 3; i > 0; i--) {
		numbered(path, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	shm_dirs_find(root, &dirs);
	assert_int_equal(dirs.count, SHM_DIRS_MAX);
	for (int i = 0; i < SHM_DIRS_MAX; i++) {
		numbered(path, i + 1);
		assert_string_equal(dirs.path[i], path);
	}
	assert_int_equal(mkdir(plain, 0700), 0);
	lock(&held, SHM_DIRS_MAX);
	assert_string_equal(held.dirs.path[0], plain);
	numbered(path, SHM_DIRS_MAX - 1);
	assert_string_equal(held.dirs.path[SHM_DIRS_MAX - 1], path);
	shm_dirs_unlock(&held);
}

/* A child of a process that holds the lock does not keep it. */
static void unlocked_though_inherited(void **state)
{
	struct shm_dirs_lock held;
	pid_t child;
	int other;

	(void)state;
	lock(&held, 1);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)pause();
		_exit(0);
	}
	shm_dirs_unlock(&held);
	other = open(plain, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void create(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* A name that comes, in the directory or beside it, is a change. */
static void changes_are_seen(void **state)
{
	struct shm_dirs_lock held;
	char path[2 * SHM_DIR_LEN];
	uint64_t first, second;

	(void)state;
	assert_true(shm_dirs_changed_ns("/nowhere/at/all") == UINT64_MAX);
	first = shm_dirs_changed_ns(root);
	assert_true(first && first < UINT64_MAX);
	(void)usleep(20000);
	lock(&held, 1);
	shm_dirs_unlock(&held);
	second = shm_dirs_changed_ns(root);
	assert_true(second > first);
	(void)usleep(20000);
	assert_true(shm_dirs_changed_ns(root) == second);
	(void)snprintf(path, sizeof(path), "%s/name", plain);
	create(path);
	first = shm_dirs_changed_ns(root);
	assert_true(first > second);
	(void)usleep(20000);
	assert_int_equal(unlink(path), 0);
	assert_true(shm_dirs_changed_ns(root) > first);
	/* It may be in a directory with a number. */
	assert_int_equal(chmod(plain, 0755), 0);
	assert_true(shm_dirs_changed_ns(root) == UINT64_MAX);
}

static void no_root(void **state)
{
	struct shm_dirs_lock held;

	(void)state;
	assert_int_equal(shm_dirs_lock("/nowhere/at/all", &held), -ENOENT);
	assert_int_equal(shm_dir_usable("/nowhere/at/all"), -ENOENT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, root_setup, root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(made_and_alone),
		CASE(mask_and_inherited_mode),
		CASE(plain_name_is_taken),
		CASE(all_sorts_of_another_user),
		CASE(several),
		CASE(unlocked_though_inherited),
		CASE(changes_are_seen),
		CASE(no_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
