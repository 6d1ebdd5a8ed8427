/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/uffd.h"

static struct wf_mem_changes changes = WF_MEM_CHANGES_INIT;
static size_t page;

static char *map_pages(size_t count)
{
	char *mem = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	memset(mem, 1, count * page);
	return mem;
}

static struct wf_uffd *open_watch(void)
{
	struct wf_uffd *uffd = NULL;
	int err = wf_uffd_open(&changes, &uffd);

	if (err == -EPERM || err == -ENOSYS || err == -EINVAL)
		skip();
	assert_int_equal(err, 0);
	return uffd;
}

/* The log contains [@start, @start + @len) behind @pos. A change may be logged
 * twice. */
static void check_told(uint64_t pos, const char *start, size_t len)
{
	struct wf_mem_range range = { 0, 0 };

	while (range.start != (uintptr_t)start || range.end != (uintptr_t)start + len)
		assert_true(wf_mem_changes_next(&changes, &pos, &range));
}

static void log_of_changes(void **state)
{
	struct wf_mem_range range, all = WF_MEM_ALL;
	uint64_t pos = wf_mem_changes_now(&changes), late = pos;

	assert_false(wf_mem_changes_next(&changes, &pos, &range));
	for (uintptr_t i = 0; i < WF_MEM_CHANGES; i++)
		wf_mem_changes_add(&changes, (struct wf_mem_range){ i, i + 1 });
	for (uintptr_t i = 0; i < WF_MEM_CHANGES; i++) {
		assert_true(wf_mem_changes_next(&changes, &pos, &range));
		assert_int_equal(range.start, i);
	}
	assert_false(wf_mem_changes_next(&changes, &pos, &range));
	/* After one more entry, the first is lost to a reader that has not read it. */
	wf_mem_changes_add(&changes, (struct wf_mem_range){ 7, 8 });
	assert_true(wf_mem_changes_next(&changes, &late, &range));
	assert_int_equal(range.start, all.start);
	assert_int_equal(range.end, all.end);
	assert_false(wf_mem_changes_next(&changes, &late, &range));
	check_told(pos, (char *)7, 1);
}

static void pages_that_go_away(void **state)
{
	struct wf_uffd *uffd = open_watch();
	char *mem = map_pages(8), *moved;
	uint64_t pos = wf_mem_changes_now(&changes);
	struct wf_mem_range range;

	/* Less than a page is watched by pages. */
	assert_int_equal(wf_uffd_watch(uffd, mem + 1, 7 * page), 0);
	assert_false(wf_mem_changes_next(&changes, &pos, &range));
	assert_int_equal(munmap(mem, page), 0);
	check_told(pos, mem, page);
	pos = wf_mem_changes_now(&changes);
	assert_int_equal(madvise(mem + page, 2 * page, MADV_DONTNEED), 0);
	check_told(pos, mem + page, 2 * page);
	/* Pages that are touched again, and protected, cause neither event nor
	 * fault. */
	pos = wf_mem_changes_now(&changes);
	memset(mem + page, 2, 7 * page);
	assert_int_equal(mprotect(mem + page, page, PROT_READ), 0);
	assert_false(wf_mem_changes_next(&changes, &pos, &range));
	moved = map_pages(4);
	pos = wf_mem_changes_now(&changes);
	assert_ptr_equal(mremap(mem + 4 * page, 4 * page, 4 * page,
				 MREMAP_MAYMOVE | MREMAP_FIXED, moved),
		moved);
	check_told(pos, mem + 4 * page, 4 * page);
	assert_int_equal(munmap(mem + page, 3 * page), 0);
	wf_uffd_close(uffd);
	/* Nothing waits for a watch that is closed. */
	pos = wf_mem_changes_now(&changes);
	assert_int_equal(munmap(moved, 4 * page), 0);
	assert_int_equal(wf_mem_changes_now(&changes), pos);
}

static void what_cannot_be_watched(void **state)
{
	struct wf_uffd *uffd = open_watch(), *other = open_watch();
	char *mem = map_pages(1);

	assert_int_equal(wf_uffd_watch(uffd, mem, page), 0);
	assert_int_equal(wf_uffd_watch(uffd, mem, page), 0);
	assert_int_equal(wf_uffd_watch(other, mem, page), -EBUSY);
	/* The kernel maps nothing there. Where pages were unmapped, another thread may
	 * have mapped others. */
	assert_int_equal(wf_uffd_watch(uffd, (void *)(uintptr_t)page, page), -EINVAL);
	/* The pages of the program itself are those of a file. */
	assert_int_not_equal(wf_uffd_watch(uffd, (void *)what_cannot_be_watched, 1), 0);
	assert_int_not_equal(wf_uffd_watch(uffd, mem, 0), 0);
	assert_int_equal(munmap(mem, page), 0);
	wf_uffd_close(other);
	wf_uffd_close(uffd);
	wf_uffd_close(NULL);
}

enum { THREADS = 3, ROUNDS = 50 };

static void *map_and_unmap(void *arg)
{
	struct wf_uffd *uffd = arg;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t pos = wf_mem_changes_now(&changes);
		struct wf_mem_range range = { 0, 0 };
		char *mem = map_pages(2);

		assert_int_equal(wf_uffd_watch(uffd, mem, 2 * page), 0);
		assert_int_equal(munmap(mem, 2 * page), 0);
		/* The thread that unmapped finds it, among those of others. */
		while (range.start > (uintptr_t)mem ||
			range.end < (uintptr_t)mem + 2 * page)
			assert_true(wf_mem_changes_next(&changes, &pos, &range));
	}
	return NULL;
}

static void threads_that_unmap(void **state)
{
	struct wf_uffd *uffd = open_watch();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, map_and_unmap, uffd), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	wf_uffd_close(uffd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_of_changes),
		cmocka_unit_test(pages_that_go_away),
		cmocka_unit_test(what_cannot_be_watched),
		cmocka_unit_test(threads_that_unmap),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
