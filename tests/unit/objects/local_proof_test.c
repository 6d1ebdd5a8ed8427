/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proofs that two processes share memory: true ones between processes, and cards with
 * each field wrong.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "objects/local/proof.h"

/* ---- calls that fail ---- */

#define VISIBLE __attribute__((visibility("default")))

/* The error of stat, what getrandom returns, and a number that it draws first; 0: as
 * the system does. */
static int stat_err;
static ssize_t random_len;
static uint64_t first_number;

/* The name that the header gives it for large files. */
VISIBLE int __wrap_stat64(const char *path, struct stat *ret);
VISIBLE ssize_t __wrap_wf_sys_getrandom(void *buf, size_t len, unsigned int flags);
int __real_stat64(const char *path, struct stat *ret);
ssize_t __real_wf_sys_getrandom(void *buf, size_t len, unsigned int flags);

int __wrap_stat64(const char *path, struct stat *ret)
{
	if (!stat_err || strcmp(path, "/dev/shm"))
		return __real_stat64(path, ret);
	errno = stat_err;
	return -1;
}

ssize_t __wrap_wf_sys_getrandom(void *buf, size_t len, unsigned int flags)
{
	if (random_len)
		return random_len;
	if (first_number && len == sizeof(first_number)) {
		memcpy(buf, &first_number, len);
		first_number = 0;
		return (ssize_t)len;
	}
	return __real_wf_sys_getrandom(buf, len, flags);
}

enum { INSTANCE = 0x1234567 };

/* Offsets in a card. */
enum {
	AT_LAYOUT = 0,
	AT_UID = 4,
	AT_BOOT_ID = 8,
	AT_PID_NS = 24,
	AT_PID = 32,
	AT_FD = 36,
};

/* The result of a child process. */
struct told {
	uint64_t number;
	uint8_t card[WF_PROOF_CARD];
};

/* A child that is @apart from this process in some way: the function returns false
 * where the system does not permit that. 0: not permitted. */
static pid_t child_with_proof(bool (*apart)(void), struct told *ret)
{
	ssize_t len;
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		struct wf_proof proof;
		struct told told;

		close(pipes[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (apart && !apart())
			_exit(3);
		if (wf_proof_make(&proof, INSTANCE, NULL, told.card))
			_exit(1);
		told.number = proof.number;
		if (write(pipes[1], &told, sizeof(told)) != sizeof(told))
			_exit(2);
		for (;;)
			(void)pause();
	}
	close(pipes[1]);
	len = read(pipes[0], ret, sizeof(*ret));
	close(pipes[0]);
	if (apart && !len) {
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		return 0;
	}
	assert_int_equal(len, sizeof(*ret));
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The proof of this process, which examines the cards of others. */
static struct wf_proof here(void)
{
	struct wf_proof proof;
	uint8_t card[WF_PROOF_CARD];

	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	return proof;
}

/* @card leads @reader to no page, and its number is not written. */
static void refused_by(struct wf_proof *reader, const uint8_t card[WF_PROOF_CARD],
	uint64_t instance, enum wf_unreached unreached)
{
	char name[WF_PROOF_NAME] = "before";

	assert_int_equal(wf_proof_read(reader, card, instance, name), unreached);
	assert_int_equal(wf_page_proof(reader->own), WF_PAGE_REFUSED);
	assert_null(reader->peer);
	assert_string_equal(name, "before");
}

static void refused(const uint8_t card[WF_PROOF_CARD], uint64_t instance,
	enum wf_unreached unreached)
{
	struct wf_proof reader = here();

	refused_by(&reader, card, instance, unreached);
	wf_proof_done(&reader);
}

static void another_process_is_near(void **state)
{
	struct wf_proof proof = here();
	struct told told;
	pid_t pid = child_with_proof(NULL, &told);
	char name[WF_PROOF_NAME];

	assert_int_equal(
		wf_proof_read(&proof, told.card, INSTANCE, name), WF_UNREACHED_NOT);
	assert_int_equal(wf_page_proof(proof.own), told.number);
	assert_int_not_equal(told.number, 0);
	assert_int_equal(wf_proof_verdict(&proof), WF_VERDICT_NONE);
	end(pid);
	/* What was mapped outlives the process, and cannot be mapped again. */
	assert_int_equal(proof.peer->head.number, told.number);
	wf_proof_done(&proof);
	refused(told.card, INSTANCE, WF_UNREACHED_UNREADABLE);
}

/* ---- processes that are apart; this needs the rights of root ---- */

static bool be_another_user(void)
{
	return !setuid(65534) && !prctl(PR_SET_DUMPABLE, 1) &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The first process of a namespace is a child of the one that made it, which waits for
 * it. */
static bool be_in_another_namespace(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return false;
	pid = fork();
	if (pid > 0) {
		(void)waitpid(pid, NULL, 0);
		_exit(0);
	}
	/* The identity is read from there. */
	return !pid && !prctl(PR_SET_PDEATHSIG, SIGKILL) && !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("proc", "/proc", "proc", 0, NULL);
}

static bool be_with_another_directory(void)
{
	return !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
}

/* The card of a process that is apart is refused; also if its bytes at @at are replaced
 * by @len of this process's own card, as a process that lies would do. */
static void refused_apart(bool (*apart)(void), enum wf_unreached honest, size_t at,
	size_t len, enum wf_unreached lying)
{
	struct wf_proof own;
	uint8_t card[WF_PROOF_CARD];
	struct told told;
	pid_t pid = child_with_proof(apart, &told);

	if (!pid)
		skip();
	assert_int_equal(wf_proof_make(&own, INSTANCE, NULL, card), 0);
	refused(told.card, INSTANCE, honest);
	memcpy(told.card + at, card + at, len);
	refused(told.card, INSTANCE, lying);
	wf_proof_done(&own);
	end(pid);
}

static void another_user_is_apart(void **state)
{
	refused_apart(
		be_another_user, WF_UNREACHED_USER, AT_UID, 4, WF_UNREACHED_UNREADABLE);
}

static void another_namespace_is_apart(void **state)
{
	refused_apart(be_in_another_namespace, WF_UNREACHED_NAMESPACE, AT_PID_NS, 8,
		WF_UNREACHED_UNREADABLE);
}

static void another_directory_is_apart(void **state)
{
	refused_apart(be_with_another_directory, WF_UNREACHED_DIRECTORY, 0, 0,
		WF_UNREACHED_DIRECTORY);
}

static void another_endpoint_is_a_stranger(void **state)
{
	struct wf_proof proof, reader = here();
	uint8_t card[WF_PROOF_CARD];

	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	refused_by(&reader, card, INSTANCE + 1, WF_UNREACHED_STRANGER);
	wf_proof_done(&proof);
	wf_proof_done(&proof);
	refused_by(&reader, card, INSTANCE, WF_UNREACHED_UNREADABLE);
	wf_proof_done(&reader);
}

/* Of a page that is hidden the mappings stay, and no more are made. */
static void a_hidden_page_is_not_found(void **state)
{
	struct wf_proof proof, reader = here(), late = here();
	uint8_t card[WF_PROOF_CARD];
	char name[WF_PROOF_NAME];

	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	assert_int_equal(
		wf_proof_read(&reader, card, INSTANCE, name), WF_UNREACHED_NOT);
	wf_proof_hide(&proof);
	refused_by(&late, card, INSTANCE, WF_UNREACHED_UNREADABLE);
	wf_proof_done(&late);
	wf_page_prove(proof.own, reader.number);
	assert_int_equal(wf_proof_verdict(&reader), WF_VERDICT_PROOF);
	wf_proof_done(&proof);
	wf_proof_done(&reader);
}

/* Whatever a peer writes, the result is one of four. */
static void answers_are_told_apart(void **state)
{
	static const uint64_t lies[] = { 2, UINT64_MAX, UINT64_C(1) << 63 };
	struct wf_proof peer, reader = here();
	uint8_t card[WF_PROOF_CARD];
	char name[WF_PROOF_NAME];

	assert_int_equal(wf_proof_make(&peer, INSTANCE, NULL, card), 0);
	assert_int_equal(
		wf_proof_read(&reader, card, INSTANCE, name), WF_UNREACHED_NOT);
	assert_int_equal(wf_proof_verdict(&reader), WF_VERDICT_NONE);
	wf_page_prove(peer.own, WF_PAGE_REFUSED);
	assert_int_equal(wf_proof_verdict(&reader), WF_VERDICT_REFUSAL);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		wf_page_prove(peer.own, lies[i]);
		assert_int_equal(wf_proof_verdict(&reader), WF_VERDICT_WRONG);
	}
	wf_page_prove(peer.own, reader.number + 1);
	assert_int_equal(wf_proof_verdict(&reader), WF_VERDICT_WRONG);
	wf_page_prove(peer.own, reader.number);
	assert_int_equal(wf_proof_verdict(&reader), WF_VERDICT_PROOF);
	wf_proof_done(&peer);
	wf_proof_done(&reader);
}

/* The numbers 0 and WF_PAGE_REFUSED would be no answer. */
static void a_number_is_no_answer(void **state)
{
	uint8_t card[WF_PROOF_CARD];
	struct wf_proof proof;

	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	for (uint64_t number = 0; number <= WF_PAGE_REFUSED; number++) {
		proof.own->head.number = number;
		refused(card, INSTANCE, WF_UNREACHED_STRANGER);
	}
	wf_proof_done(&proof);
}

/* The name that a peer reads of an endpoint whose name is @own is @seen. */
static void check_name(const char *own, const char *seen)
{
	char name[WF_PROOF_NAME];
	uint8_t card[WF_PROOF_CARD];
	struct wf_proof proof, reader = here();

	assert_int_equal(wf_proof_make(&proof, INSTANCE, own, card), 0);
	assert_int_equal(
		wf_proof_read(&reader, card, INSTANCE, name), WF_UNREACHED_NOT);
	assert_string_equal(name, seen);
	wf_proof_done(&proof);
	wf_proof_done(&reader);
}

static void names_are_read(void **state)
{
	char longest[WF_PROOF_NAME];

	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check_name(longest, longest);
	check_name(NULL, "");
}

/* It does not fit, so there is none: never a part of one. */
static void a_name_is_too_long(void **state)
{
	char longer[WF_PROOF_NAME + 1];

	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	check_name(longer, "");
}

static void a_name_has_no_end(void **state)
{
	uint8_t card[WF_PROOF_CARD];
	struct wf_proof proof;

	assert_int_equal(wf_proof_make(&proof, INSTANCE, "shm", card), 0);
	memset(proof.own->head.name, 'n', WF_PROOF_NAME);
	refused(card, INSTANCE, WF_UNREACHED_NAME);
	wf_proof_done(&proof);
}

/* A number that one connection saw proves nothing on the next. */
static void numbers_are_fresh(void **state)
{
	struct wf_proof a, b;
	uint8_t card[WF_PROOF_CARD];

	assert_int_equal(wf_proof_make(&a, INSTANCE, NULL, card), 0);
	assert_int_equal(wf_proof_make(&b, INSTANCE, NULL, card), 0);
	assert_true(a.number != b.number);
	wf_proof_done(&a);
	wf_proof_done(&b);
}

static void each_field_counts(void **state)
{
	static const struct {
		unsigned int at;
		enum wf_unreached unreached;
	} rows[] = {
		{ AT_LAYOUT, WF_UNREACHED_VERSION },
		{ AT_UID, WF_UNREACHED_USER },
		{ AT_BOOT_ID, WF_UNREACHED_MACHINE },
		{ AT_BOOT_ID + 15, WF_UNREACHED_MACHINE },
		{ AT_PID_NS, WF_UNREACHED_NAMESPACE },
		{ AT_PID_NS + 7, WF_UNREACHED_NAMESPACE },
		/* No process has such an id. */
		{ AT_PID + 3, WF_UNREACHED_UNREADABLE },
		{ AT_FD + 1, WF_UNREACHED_UNREADABLE },
		{ AT_FD + 3, WF_UNREACHED_UNREADABLE },
	};
	struct wf_proof proof;
	uint8_t card[WF_PROOF_CARD], changed[WF_PROOF_CARD];

	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(changed, card, sizeof(card));
		changed[rows[i].at] ^= 0x40;
		refused(changed, INSTANCE, rows[i].unreached);
		assert_non_null(wf_unreached_text(rows[i].unreached));
	}
	wf_proof_done(&proof);
}

static void no_memory_is_no_proof(void **state)
{
	static const uint8_t none[WF_PROOF_CARD];

	refused(none, INSTANCE, WF_UNREACHED_VERSION);
}

/* What the system does not give, and that nothing is left of the proof. */
static void without_the_system_there_is_none(void **state)
{
	static const uint8_t none[WF_PROOF_CARD];
	uint8_t card[WF_PROOF_CARD];
	struct wf_proof proof;
	const char *want = "";

	assert_int_equal(wf_proof_possible(&want), 0);
	stat_err = EACCES;
	assert_int_equal(wf_proof_possible(&want), -EACCES);
	assert_string_equal(want, "/dev/shm");
	memset(card, 7, sizeof(card));
	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), -EACCES);
	assert_memory_equal(card, none, sizeof(card));
	stat_err = 0;
	for (int i = 0; i < 2; i++) {
		random_len = i ? 4 : -1;
		memset(card, 7, sizeof(card));
		assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), -EIO);
		assert_memory_equal(card, none, sizeof(card));
		assert_int_equal(proof.fd, -1);
	}
	random_len = 0;
}

/* Small numbers are answers, not proofs: another one is drawn. */
static void small_numbers_are_drawn_again(void **state)
{
	uint8_t card[WF_PROOF_CARD];
	struct wf_proof proof;

	first_number = WF_PAGE_REFUSED;
	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	assert_true(proof.number > WF_PAGE_REFUSED);
	wf_proof_done(&proof);
	first_number = WF_PAGE_REFUSED + 1;
	assert_int_equal(wf_proof_make(&proof, INSTANCE, NULL, card), 0);
	assert_int_equal(proof.number, WF_PAGE_REFUSED + 1);
	wf_proof_done(&proof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_is_near),
		cmocka_unit_test(another_user_is_apart),
		cmocka_unit_test(another_namespace_is_apart),
		cmocka_unit_test(another_directory_is_apart),
		cmocka_unit_test(another_endpoint_is_a_stranger),
		cmocka_unit_test(a_hidden_page_is_not_found),
		cmocka_unit_test(answers_are_told_apart),
		cmocka_unit_test(a_number_is_no_answer),
		cmocka_unit_test(names_are_read),
		cmocka_unit_test(a_name_is_too_long),
		cmocka_unit_test(a_name_has_no_end),
		cmocka_unit_test(numbers_are_fresh),
		cmocka_unit_test(each_field_counts),
		cmocka_unit_test(no_memory_is_no_proof),
		cmocka_unit_test(without_the_system_there_is_none),
		cmocka_unit_test(small_numbers_are_drawn_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
