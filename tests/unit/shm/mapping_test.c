/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping the memory of a peer's region: where it is mapped, and why it is not. The test
 * is the peer, in the same process, and what the kernel says can be changed.
 */
#include "conn_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "../../log_lines.h"
#include "providers/shm/copy/remote.h"
#include "sys/mapping.h"

enum { PAGE = 4096, PAGES = 3, AT = PAGE + 104, LEN = 200 };

/* What the kernel says otherwise. */
enum lie {
	TRUTH,
	OTHER_FILESYSTEM,
	NO_FILESYSTEM,
	NO_LENGTH,
	NO_SEALS,
	NO_MAPPING,
	NO_DESCRIPTOR,
	WHOLE_FILE_CUT,
	LARGE_ID,
	NO_NAMESPACE,
	OTHER_NAMESPACE,
	NO_SEGMENT,
	OTHER_USER,
	SHORT_SEGMENT,
	NO_ATTACH,
	GONE_AFTERWARDS,
	SHORT_AFTERWARDS,
	LARGE_PAGES,
	PRIVATE_MEMORY,
	NO_LINE,
	PEER_ENDS,
};

static enum lie lie;
static unsigned int finds, looks, filesystems;
/* Calls that undo. */
static unsigned int unmapped, detached;
static struct {
	unsigned int count;
	void *mem;
	size_t len;
	int advice;
} advised;

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int __wrap_fstatfs64(int fd, struct statfs *ret);
VISIBLE int __wrap_fstat64(int fd, struct stat *ret);
VISIBLE int __wrap_stat64(const char *path, struct stat *ret);
VISIBLE int __wrap_fcntl64(int fd, int cmd, long arg);
VISIBLE int __wrap_madvise(void *mem, size_t len, int advice);
VISIBLE void *__wrap_mmap64(
	void *at, size_t len, int prot, int flags, int fd, off_t offset);
VISIBLE int __wrap_munmap(void *mem, size_t len);
VISIBLE int __wrap_shmctl(int id, int cmd, struct shmid_ds *ret);
VISIBLE void *__wrap_shmat(int id, const void *at, int flags);
VISIBLE int __wrap_shmdt(const void *mem);
VISIBLE bool __wrap_shm_socket_ended(int fd);
VISIBLE int __wrap_wf_mapping_open(
	pid_t pid, const struct wf_mapping *mapping, bool writable);
VISIBLE int __wrap_wf_mapping_find(
	pid_t pid, uint64_t addr, size_t len, struct wf_mapping *ret);
int __real_fstatfs64(int fd, struct statfs *ret);
int __real_fstat64(int fd, struct stat *ret);
int __real_stat64(const char *path, struct stat *ret);
int __real_fcntl64(int fd, int cmd, long arg);
int __real_madvise(void *mem, size_t len, int advice);
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *mem, size_t len);
int __real_shmctl(int id, int cmd, struct shmid_ds *ret);
void *__real_shmat(int id, const void *at, int flags);
int __real_shmdt(const void *mem);
bool __real_shm_socket_ended(int fd);
int __real_wf_mapping_open(pid_t pid, const struct wf_mapping *mapping, bool writable);
int __real_wf_mapping_find(
	pid_t pid, uint64_t addr, size_t len, struct wf_mapping *ret);

int __wrap_fstatfs64(int fd, struct statfs *ret)
{
	int err = lie == NO_FILESYSTEM ? -1 : __real_fstatfs64(fd, ret);

	filesystems++;
	if (lie == OTHER_FILESYSTEM)
		ret->f_type = 0x958458f6; /* hugetlbfs */
	return err;
}

int __wrap_fstat64(int fd, struct stat *ret)
{
	int err = __real_fstat64(fd, ret);

	/* The search for a descriptor is not concerned. */
	if (lie == NO_LENGTH && filesystems)
		return -1;
	if (lie == WHOLE_FILE_CUT)
		ret->st_size = AT + LEN - 1;
	return err;
}

int __wrap_stat64(const char *path, struct stat *ret)
{
	bool other = !strncmp(path, "/proc/", 6) && !strstr(path, "/self/");
	int err = lie == NO_NAMESPACE && other ? -1 : __real_stat64(path, ret);

	if (lie == OTHER_NAMESPACE && other)
		ret->st_ino++;
	return err;
}

int __wrap_fcntl64(int fd, int cmd, long arg)
{
	return lie == NO_SEALS && cmd == F_GET_SEALS ? -1
						     : __real_fcntl64(fd, cmd, arg);
}

int __wrap_madvise(void *mem, size_t len, int advice)
{
	advised.count++;
	advised.mem = mem;
	advised.len = len;
	advised.advice = advice;
	return __real_madvise(mem, len, advice);
}

void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (lie == NO_MAPPING)
		return MAP_FAILED;
	return __real_mmap64(at, len, prot, flags, fd, offset);
}

int __wrap_munmap(void *mem, size_t len)
{
	unmapped++;
	return __real_munmap(mem, len);
}

int __wrap_shmctl(int id, int cmd, struct shmid_ds *ret)
{
	int err = __real_shmctl(id, cmd, ret);

	looks++;
	if (lie == NO_SEGMENT || (lie == GONE_AFTERWARDS && looks == 2))
		return -1;
	if (lie == OTHER_USER)
		ret->shm_perm.uid = geteuid() + 1;
	if (lie == SHORT_SEGMENT || (lie == SHORT_AFTERWARDS && looks == 2))
		ret->shm_segsz = AT + LEN - 1;
	return err;
}

void *__wrap_shmat(int id, const void *at, int flags)
{
	return lie == NO_ATTACH ? MAP_FAILED : __real_shmat(id, at, flags);
}

int __wrap_shmdt(const void *mem)
{
	detached++;
	return __real_shmdt(mem);
}

bool __wrap_shm_socket_ended(int fd)
{
	return lie == PEER_ENDS || __real_shm_socket_ended(fd);
}

int __wrap_wf_mapping_open(pid_t pid, const struct wf_mapping *mapping, bool writable)
{
	return lie == NO_DESCRIPTOR ? -ENOENT
				    : __real_wf_mapping_open(pid, mapping, writable);
}

int __wrap_wf_mapping_find(pid_t pid, uint64_t addr, size_t len, struct wf_mapping *ret)
{
	int err = __real_wf_mapping_find(pid, addr, len, ret);

	finds++;
	if (lie == NO_LINE)
		return -ENOENT;
	if (lie == LARGE_ID)
		ret->inode = (uint64_t)INT32_MAX + 1;
	if (lie == PRIVATE_MEMORY)
		ret->shared = false;
	/* The attached segment is looked for last. */
	if (lie == LARGE_PAGES && finds == 3)
		ret->minor++;
	return err;
}

/* ---- the peer's memory ---- */

static uint8_t *file_new(int *ret_fd)
{
	void *mem;
	int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	fill(mem, PAGES * PAGE, 7);
	*ret_fd = fd;
	return mem;
}

static void file_free(uint8_t *mem, int fd)
{
	assert_int_equal(munmap(mem, PAGES * PAGE), 0);
	close(fd);
}

static uint8_t *segment_new(void)
{
	int id = shmget(IPC_PRIVATE, PAGES * PAGE, IPC_CREAT | 0600);
	void *mem;

	assert_true(id >= 0);
	mem = shmat(id, NULL, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	fill(mem, PAGES * PAGE, 7);
	return mem;
}

static struct shm_window window_of(uint8_t *mem, size_t len, uint32_t flags)
{
	struct shm_window window = {
		.region = { .key = 0x77, .len = len, .flags = flags, .count = 1 }
	};

	window.region.piece[0].base = (uintptr_t)mem;
	window.region.piece[0].len = len;
	return window;
}

static void begin(enum lie told)
{
	lie = told;
	finds = looks = filesystems = unmapped = detached = 0;
	memset(&advised, 0, sizeof(advised));
	log_lines_start();
}

static void assert_log(const char *what)
{
	char line[200];

	(void)snprintf(line, sizeof(line), "region 0x77 of fi_shm://pair-%d is %s\n",
		(int)getpid(), what);
	if (!log_lines_have(line))
		fail_msg("not in the log: %s", line);
}

/* Mapping @window fails for the reason @why, and nothing of it stays. */
static void assert_not_mapped(struct pair *p, struct shm_window window, const char *why)
{
	char text[120];

	for (int copied = 0; copied < 2; copied++) {
		struct shm_window tried = window;
		enum lie told = lie;

		begin(told);
		p->conn->process.cma = copied;
		shm_window_map(p->conn, &tried);
		lie = TRUTH;
		assert_null(tried.at);
		assert_true(tried.is_examined);
		assert_memory_equal(
			&tried.region, &window.region, sizeof(window.region));
		(void)snprintf(text, sizeof(text), "%s%s",
			copied ? "copied by the kernel: " : "accessed by requests: ",
			why);
		assert_log(text);
		lie = told;
	}
	lie = TRUTH;
}

/* ---- files ---- */

static void of_a_file(void **state)
{
	const uint32_t both = SHM_MAY_READ | SHM_MAY_WRITE;
	struct pair *p = *state;
	int fd;
	uint8_t *mem = file_new(&fd);
	struct shm_window window;

	for (int twice = 0; twice < 2; twice++) {
		/* In the middle, and up to the last byte of the file. */
		size_t len = twice ? PAGES * PAGE - AT : LEN;

		begin(TRUTH);
		window = window_of(mem + AT, len, both);
		shm_window_map(p->conn, &window);
		assert_log("mapped, as a sealed file");
		assert_true(window.is_examined);
		assert_false(window.sysv);
		assert_ptr_equal(window.at, (uint8_t *)window.map + AT - PAGE);
		assert_int_equal(window.map_len, AT - PAGE + len);
		assert_int_equal(advised.count, 1);
		assert_ptr_equal(advised.mem, window.map);
		assert_int_equal(advised.len, window.map_len);
		assert_int_equal(advised.advice, MADV_DONTFORK);
		assert_memory_equal(window.at, mem + AT, len);
		window.at[0] ^= 0xff;
		assert_memory_equal(window.at, mem + AT, len);
		shm_window_close(&window);
		assert_int_equal(unmapped, 1);
		assert_int_equal(detached, 0);
		assert_null(window.at);
		assert_false(window.is_examined);
	}
	file_free(mem, fd);
}

/* A region that peers may only read is mapped so: its file is opened for reading. */
static void of_a_file_to_read(void **state)
{
	struct pair *p = *state;
	int fd, copy;
	uint8_t *mem = file_new(&fd);
	char path[40];
	struct shm_window window = window_of(mem, LEN, SHM_MAY_READ);
	struct wf_mapping mapping;

	/* The peer has no descriptor that is writable. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(copy >= 0);
	close(fd);
	begin(TRUTH);
	shm_window_map(p->conn, &window);
	assert_log("mapped, as a sealed file");
	assert_memory_equal(window.at, mem, LEN);
	assert_int_equal(wf_mapping_find(0, (uintptr_t)window.at, 1, &mapping), 0);
	assert_true(mapping.readable);
	assert_false(mapping.writable);
	shm_window_close(&window);
	file_free(mem, copy);
}

static void not_of_a_file(void **state)
{
	static const struct {
		enum lie lie;
		const char *why;
	} rows[] = {
		{ NO_LINE, "it is not in one mapping" },
		{ PRIVATE_MEMORY, "its memory is not shared" },
		{ NO_DESCRIPTOR, "there is no descriptor of its memory" },
		{ NO_SEALS, "its file may shrink (no F_SEAL_SHRINK)" },
		{ NO_FILESYSTEM, "its file is not in ordinary memory" },
		{ OTHER_FILESYSTEM, "its file is not in ordinary memory" },
		{ NO_LENGTH, "its file is too short" },
		{ WHOLE_FILE_CUT, "its file is too short" },
		{ NO_MAPPING, "its file cannot be mapped" },
		{ PEER_ENDS, "the peer has ended" },
	};
	struct pair *p = *state;
	int fd;
	uint8_t *mem = file_new(&fd);
	struct shm_window window = window_of(mem + AT, LEN, SHM_MAY_READ);

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		lie = rows[i].lie;
		assert_not_mapped(p, window, rows[i].why);
		assert_int_equal(unmapped, rows[i].lie == PEER_ENDS);
	}
	window.region.count = 2;
	assert_not_mapped(p, window, "it has several pieces");
	window.region.count = 1;
	window.region.len = 0;
	assert_not_mapped(p, window, "it has several pieces");
	file_free(mem, fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* ---- System V segments ---- */

static void of_a_segment(void **state)
{
	struct pair *p = *state;
	uint8_t *mem = segment_new();
	struct shm_window window =
		window_of(mem + AT, PAGES * PAGE - AT, SHM_MAY_READ | SHM_MAY_WRITE);
	struct wf_mapping mapping;

	begin(TRUTH);
	shm_window_map(p->conn, &window);
	assert_log("mapped, as a System V segment");
	assert_true(window.sysv);
	assert_ptr_equal(window.at, (uint8_t *)window.map + AT);
	assert_ptr_not_equal(window.map, mem);
	assert_int_equal(advised.count, 1);
	assert_ptr_equal(advised.mem, window.map);
	assert_int_equal(advised.len, PAGES * PAGE);
	assert_int_equal(advised.advice, MADV_DONTFORK);
	window.at[0] ^= 0xff;
	assert_memory_equal(window.at, mem + AT, PAGES * PAGE - AT);
	shm_window_close(&window);
	assert_int_equal(detached, 1);
	assert_int_equal(unmapped, 0);
	window = window_of(mem, LEN, SHM_MAY_READ);
	shm_window_map(p->conn, &window);
	assert_non_null(window.at);
	assert_int_equal(wf_mapping_find(0, (uintptr_t)window.at, 1, &mapping), 0);
	assert_false(mapping.writable);
	shm_window_close(&window);
	assert_int_equal(shmdt(mem), 0);
}

static void not_of_a_segment(void **state)
{
	static const struct {
		enum lie lie;
		const char *why;
		unsigned int detached;
	} rows[] = {
		{ LARGE_ID, "its segment is of another namespace", 0 },
		{ NO_NAMESPACE, "its segment is of another namespace", 0 },
		{ OTHER_NAMESPACE, "its segment is of another namespace", 0 },
		{ NO_SEGMENT, "its segment is of another user", 0 },
		{ OTHER_USER, "its segment is of another user", 0 },
		{ SHORT_SEGMENT, "its segment is too short", 0 },
		{ NO_ATTACH, "its segment cannot be attached", 0 },
		{ GONE_AFTERWARDS, "its segment is not in ordinary memory", 1 },
		{ SHORT_AFTERWARDS, "its segment is not in ordinary memory", 1 },
		{ LARGE_PAGES, "its segment is not in ordinary memory", 1 },
		{ PEER_ENDS, "the peer has ended", 1 },
	};
	struct pair *p = *state;
	uint8_t *mem = segment_new();

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		lie = rows[i].lie;
		assert_not_mapped(
			p, window_of(mem + AT, LEN, SHM_MAY_READ), rows[i].why);
		assert_int_equal(detached, rows[i].detached);
	}
	assert_int_equal(shmdt(mem), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(of_a_file),
		PAIR_TEST(of_a_file_to_read),
		PAIR_TEST(not_of_a_file),
		PAIR_TEST(of_a_segment),
		PAIR_TEST(not_of_a_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
