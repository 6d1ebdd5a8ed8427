/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "objects/av/internal.h"
#include "objects/av/shared.h"

static char name[64];

static int setup(void **state)
{
	static int serial;

	snprintf(name, sizeof(name), "test/%d-%d", getpid(), serial++);
	return av_fixture_setup(state);
}

static struct fid_av *open_named(struct av_fixture *f, uint64_t flags)
{
	return av_fixture_open(f, (struct fi_av_attr){ .name = name, .flags = flags });
}

static int try_named(struct av_fixture *f, const char *text, uint64_t flags)
{
	struct fi_av_attr attr = { .name = text, .flags = flags };
	struct fid_av *av;
	int ret = wf_av_open(&f->domain.fid, &attr, &av, NULL);

	if (!ret)
		assert_int_equal(fi_close(&av->fid), 0);
	return ret;
}

static struct sockaddr_in nth(uint32_t i)
{
	return in_addr_of(0x0a000001 + i, 1000);
}

static fi_addr_t insert(struct fid_av *av, uint32_t i)
{
	struct sockaddr_in sa = nth(i);
	fi_addr_t addr;

	assert_int_equal(fi_av_insert(av, &sa, 1, &addr, 0, NULL), 1);
	return addr;
}

static void assert_has(struct fid_av *av, fi_addr_t addr, uint32_t i)
{
	struct sockaddr_in want = nth(i);
	const void *got = wf_av_addr(wf_av_of(av), addr);

	assert_non_null(got);
	assert_memory_equal(got, &want, sizeof(want));
	assert_int_equal(wf_av_index(wf_av_of(av), &want, sizeof(want)), addr);
}

/* All that is inserted is found by its address, and nothing twice. Returns how many. */
static size_t assert_consistent(struct fid_av *fid)
{
	struct wf_av *av = wf_av_of(fid);
	size_t live = 0;

	for (uint64_t i = 0; i < wf_av_table_capacity(&av->table); i++) {
		const void *addr = wf_av_addr(av, i);

		if (!addr)
			continue;
		live++;
		assert_int_equal(wf_av_index(av, addr, wf_av_addrlen(av)), i);
	}
	assert_int_equal(live, av->table.state->count);
	return live;
}

/* AV-006, AV-007 */
static void opening(void **state)
{
	struct av_fixture *f = *state;
	struct fi_av_attr attr = { .name = name };
	struct fid_av *av;
	char longest[300];
	void *wanted;

	assert_int_equal(try_named(f, name, FI_READ), -FI_ENOENT);
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, NULL), 0);
	assert_non_null(attr.map_addr);
	assert_int_equal(try_named(f, name, FI_READ), 0);
	assert_int_equal(try_named(f, name, 0), 0);
	/* The same name elsewhere is another AV, and of another format is an error. */
	f->domain.name = (char *)"other";
	assert_int_equal(try_named(f, name, FI_READ), -FI_ENOENT);
	f->domain.name = NULL;
	f->info.addr_format = FI_SOCKADDR_IN6;
	assert_int_equal(try_named(f, name, 0), -FI_EINVAL);
	assert_int_equal(try_named(f, name, FI_READ), -FI_EINVAL);
	f->info.addr_format = FI_SOCKADDR_IN;
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(try_named(f, name, FI_READ), -FI_ENOENT);

	/* An address that was asked for, and is free, is used. */
	wanted = attr.map_addr;
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, NULL), 0);
	assert_ptr_equal(attr.map_addr, wanted);
	assert_ptr_equal(wf_av_of(av)->shared->shm.mem, wanted);
	assert_int_equal(fi_close(&av->fid), 0);

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(try_named(f, longest, 0), -FI_EINVAL);
	assert_int_equal(try_named(f, "", 0), -FI_EINVAL);
	assert_int_equal(try_named(f, name, FI_AV_USER_ID), -FI_EINVAL);
	assert_int_equal(try_named(f, name, FI_PEER), -FI_EINVAL);
}

/* What one inserts the others see, under the same address; growth included. */
static void sharing(void **state)
{
	enum { COUNT = 1000 };
	struct av_fixture *f = *state;
	struct fid_av *a = open_named(f, 0), *b = open_named(f, 0);
	struct fid_av *r = open_named(f, FI_READ);
	struct sockaddr_in sa = nth(0);
	fi_addr_t addr = 5;
	struct stat st;

	assert_null(wf_av_addr(wf_av_of(r), 0));
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(insert(i % 2 ? a : b, i), i);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_has(a, i, i);
		assert_has(b, i, i);
		assert_has(r, i, i);
	}
	/* It takes memory for what is in it, not for what could be. */
	assert_int_equal(fstat(wf_av_of(a)->shared->shm.fd, &st), 0);
	assert_true(st.st_blocks * 512 < 100 * COUNT);
	assert_int_equal(insert(b, 4), 4);
	assert_int_equal(fi_av_insert(r, &sa, 1, &addr, 0, NULL), -FI_EACCES);
	assert_int_equal(fi_av_remove(r, &addr, 1, 0), -FI_EACCES);
	assert_int_equal(
		fi_av_insert(a, &sa, 1, &addr, FI_AV_USER_ID, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_set_user_id(a, 0, 7, 0), -FI_ENOSYS);

	assert_int_equal(fi_av_remove(b, &addr, 1, 0), 0);
	assert_null(wf_av_addr(wf_av_of(a), 5));
	assert_null(wf_av_addr(wf_av_of(r), 5));
	assert_int_equal(insert(a, COUNT), 5);
	assert_has(r, 5, COUNT);
	/* The other processes keep theirs when the creator exits. */
	assert_int_equal(fi_close(&a->fid), 0);
	assert_int_equal(insert(b, COUNT + 1), COUNT);
	assert_has(r, COUNT, COUNT + 1);
	assert_int_equal(assert_consistent(b), COUNT + 1);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_int_equal(fi_close(&r->fid), 0);
}

static void finish(pid_t pid, int signo)
{
	int status;

	if (signo)
		assert_int_equal(kill(pid, signo), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!signo)
		assert_int_equal(status, 0);
}

/* Processes that insert at the same time. */
static void processes(void **state)
{
	enum { CHILDREN = 3, EACH = 300 };
	struct av_fixture *f = *state;
	struct fid_av *av = open_named(f, 0);
	pid_t pid[CHILDREN];

	for (uint32_t c = 0; c < CHILDREN; c++) {
		pid[c] = fork();
		assert_true(pid[c] >= 0);
		if (pid[c])
			continue;
		av = open_named(f, 0);
		for (uint32_t i = 0; i < EACH; i++) {
			fi_addr_t addr = insert(av, c * 10000 + i);

			assert_has(av, addr, c * 10000 + i);
		}
		fi_close(&av->fid);
		_exit(0);
	}
	for (int c = 0; c < CHILDREN; c++)
		finish(pid[c], 0);
	assert_int_equal(assert_consistent(av), CHILDREN * EACH);
	/* No holes: the next one follows. */
	assert_int_equal(insert(av, 99999), CHILDREN * EACH);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* A child of which the parent knows when it is as far as it should be. */
static pid_t spawn(struct av_fixture *f, void (*body)(struct av_fixture *, int))
{
	int fd[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		body(f, fd[1]);
		_exit(1);
	}
	(void)close(fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 1);
	(void)close(fd[0]);
	return pid;
}

/* Stop in the middle of a removal: the chains are broken, readers are kept off. */
static void die_writing(struct av_fixture *f, int fd)
{
	struct fid_av *av = open_named(f, 0);
	struct wf_av_table *table = &wf_av_of(av)->table;

	assert_int_equal(wf_av_begin(wf_av_of(av)), 0);
	atomic_fetch_add(&table->state->seq, 1);
	atomic_store(&wf_av_slot_at(table, 3)->state, 0);
	for (uint64_t i = 0; i < wf_av_table_capacity(table); i++)
		((_Atomic uint32_t *)table->heads[0])[i] = 0;
	memset(table->used.level[0], 0, 8);
	(void)!write(fd, "x", 1);
	for (;;)
		pause();
}

static void killed_writer(void **state)
{
	enum { COUNT = 60 };
	struct av_fixture *f = *state;
	struct fid_av *av = open_named(f, 0), *r = open_named(f, FI_READ);
	struct sockaddr_in sa = nth(7);
	pid_t pid;

	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(insert(av, i), i);
	pid = spawn(f, die_writing);
	/* By index readers are not disturbed at all; by address they get an answer. */
	assert_non_null(wf_av_addr(wf_av_of(r), 7));
	(void)wf_av_index(wf_av_of(r), &sa, sizeof(sa));
	finish(pid, SIGKILL);
	/* A process with write permission repairs it, also if it only looks up an
	 * address. */
	assert_has(av, 7, 7);
	assert_has(r, 7, 7);
	assert_int_equal(insert(av, 3), 3);
	assert_int_equal(insert(av, COUNT), COUNT);
	assert_int_equal(assert_consistent(av), COUNT + 1);
	assert_int_equal(fi_close(&r->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void churn(struct av_fixture *f, int fd)
{
	struct fid_av *av = open_named(f, 0);
	fi_addr_t addr[50];

	for (unsigned int round = 0;; round++) {
		for (uint32_t i = 0; i < 50; i++)
			addr[i] = insert(av, 1000 + round % 7 * 10 + i);
		fi_av_remove(av, addr, 50, 0);
		if (round == 2)
			(void)!write(fd, "x", 1);
	}
}

/* Killed wherever it happens to be. */
static void killed_anywhere(void **state)
{
	enum { ROUNDS = 30, COUNT = 20 };
	struct av_fixture *f = *state;
	struct fid_av *av = open_named(f, 0);

	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(insert(av, i), i);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		pid_t pid = spawn(f, churn);
		fi_addr_t addr;

		for (uint32_t i = 0; i < round * 13; i++)
			(void)insert(av, i % COUNT);
		finish(pid, SIGKILL);
		addr = insert(av, 5000 + round);
		assert_has(av, addr, 5000 + round);
		assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
		assert_true(assert_consistent(av) >= COUNT);
		for (uint32_t i = 0; i < COUNT; i++)
			assert_has(av, i, i);
	}
	assert_int_equal(fi_close(&av->fid), 0);
}

static void die_as_creator(struct av_fixture *f, int fd)
{
	(void)insert(open_named(f, 0), 1);
	(void)!write(fd, "x", 1);
	for (;;)
		pause();
}

/* What a killed creator left is replaced, not taken over. */
static void leftover(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av;

	finish(spawn(f, die_as_creator), SIGKILL);
	assert_int_equal(try_named(f, name, FI_READ), -FI_ENOENT);
	av = open_named(f, 0);
	assert_null(wf_av_addr(wf_av_of(av), 0));
	assert_int_equal(fi_close(&av->fid), 0);

	/* But as long as a process has it open, all continue with it. */
	finish(spawn(f, die_as_creator), SIGKILL);
	av = open_named(f, 0);
	assert_int_equal(insert(av, 9), 0);
	assert_int_equal(try_named(f, name, 0), 0);
	assert_has(av, 0, 9);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void use_all(struct fid_av *fid)
{
	struct wf_av *av = wf_av_of(fid);
	uint64_t capacity = wf_av_table_capacity(&av->table);

	for (uint64_t i = 0; i < capacity + 10 && i < 4096; i++) {
		struct sockaddr_in sa = nth((uint32_t)i);
		char buf[32];
		size_t len = sizeof(buf);
		fi_addr_t addr = i;

		(void)fi_av_lookup(fid, i, buf, &len);
		(void)wf_av_index(av, &sa, sizeof(sa));
		if (i % 5 == 0)
			(void)fi_av_insert(fid, &sa, 1, NULL, 0, NULL);
		if (i % 7 == 0)
			(void)fi_av_remove(fid, &addr, 1, 0);
	}
}

/* A process that writes garbage everywhere except into the header's constants does not
 * damage the memory of others. */
static void corrupted(void **state)
{
	enum { ROUNDS = 50, STAINS = 40 };
	struct av_fixture *f = *state;
	struct fid_av *vandal = open_named(f, 0), *victim = open_named(f, 0);
	struct fid_av *reader = open_named(f, FI_READ);
	struct wf_av_memory *memory = &wf_av_of(vandal)->shared->memory;
	char *base = memory->base;

	srandom(7);
	for (uint32_t i = 0; i < 300; i++)
		(void)insert(vandal, i);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < STAINS; i++) {
			size_t at = (size_t)random();

			/* Where something is, most of the time. */
			switch (random() % 4) {
			case 0:
				at = sizeof(struct wf_av_header) +
				     at % (memory->used_at + 64);
				break;
			case 1:
				at = memory->heads_at + at % 2048;
				break;
			default:
				at = memory->slots_at + at % 12288;
				break;
			}
			base[at] = (char)random();
		}
		if (random() % 3 == 0)
			wf_av_of(vandal)->table.state->writing = 1;
		use_all(reader);
		use_all(victim);
	}
	/* A capacity that is none. */
	wf_av_of(vandal)->table.state->bits = 77;
	use_all(reader);
	use_all(victim);
	assert_int_equal(fi_close(&reader->fid), 0);
	assert_int_equal(fi_close(&victim->fid), 0);
	assert_int_equal(fi_close(&vandal->fid), 0);
}

/* With a number of chains that cannot be, nothing is found; the next writer repairs the
 * table. */
static void impossible_chains(void **state)
{
	static const uint32_t chains[] = { 0, 5, UINT32_MAX };
	struct fid_av *vandal = open_named(*state, 0), *victim = open_named(*state, 0);
	struct sockaddr_in sa = nth(7);
	uint32_t i;

	for (i = 0; i < 300; i++)
		(void)insert(vandal, i);
	for (size_t k = 0; k < WF_ARRAY_SIZE(chains); k++) {
		wf_av_of(vandal)->table.state->chains = chains[k];
		assert_true(wf_av_index(wf_av_of(victim), &sa, sizeof(sa)) ==
			    FI_ADDR_NOTAVAIL);
		(void)insert(victim, i++);
		assert_int_equal(assert_consistent(vandal), i);
	}
	assert_int_equal(fi_close(&victim->fid), 0);
	assert_int_equal(fi_close(&vandal->fid), 0);
}

/* A header that lies is refused. */
static void bad_headers(void **state)
{
	struct fi_info info = { .addr_format = FI_SOCKADDR_IN };
	const struct wf_av_format *format = wf_av_format_of(&info);
	struct wf_av_header header = { 0 };
	struct wf_av_memory plan = { 0 };
	uint32_t bits;

	wf_av_memory_plan(&plan, format, 10, WF_AV_SHARED_START);
	wf_av_shared_format(&header, format, 10);
	assert_int_equal(wf_av_shared_check(&header, plan.len, format, &bits), 0);
	assert_int_equal(bits, 10);
	assert_int_equal(
		wf_av_shared_check(&header, plan.len - 1, format, &bits), -FI_EINVAL);
	header.max_bits = 40;
	assert_int_equal(
		wf_av_shared_check(&header, SIZE_MAX, format, &bits), -FI_EINVAL);
	header.max_bits = 2;
	assert_int_equal(
		wf_av_shared_check(&header, SIZE_MAX, format, &bits), -FI_EINVAL);
	header.max_bits = 10;
	header.version++;
	assert_int_equal(
		wf_av_shared_check(&header, plan.len, format, &bits), -FI_EINVAL);
	header.version--;
	header.magic = 0;
	assert_int_equal(
		wf_av_shared_check(&header, plan.len, format, &bits), -FI_EINVAL);
}

#define SHARED_TEST(test)                                                              \
	cmocka_unit_test_setup_teardown(test, setup, av_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHARED_TEST(opening),
		SHARED_TEST(sharing),
		SHARED_TEST(processes),
		SHARED_TEST(killed_writer),
		SHARED_TEST(killed_anywhere),
		SHARED_TEST(leftover),
		SHARED_TEST(corrupted),
		SHARED_TEST(impossible_chains),
		SHARED_TEST(bad_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
