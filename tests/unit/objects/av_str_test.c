/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"

#include <malloc.h>
#include <stdio.h>

#include "../../sanitizer.h"

#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
#define HAVE_MALLINFO2 1
#endif
#endif

/* Addresses that are names (FI_ADDR_STR). */

static int str_setup(void **state)
{
	int ret = av_fixture_setup(state);
	struct av_fixture *f = *state;

	f->info.addr_format = FI_ADDR_STR;
	return ret;
}

#define STR_TEST(name)                                                                 \
	cmocka_unit_test_setup_teardown(name, str_setup, av_fixture_teardown)

enum { LONGEST = 246 }; /* behind fi_shm:// and before the NUL */

static char *text_of(const char *prefix, size_t len)
{
	size_t start = strlen(prefix);
	char *text = malloc(start + len + 1);

	assert_non_null(text);
	memcpy(text, prefix, start);
	memset(text + start, 'n', len);
	text[start + len] = '\0';
	return text;
}

static fi_addr_t insert(struct fid_av *av, const char *text)
{
	fi_addr_t addr = 17;

	(void)fi_av_insert(av, text, 1, &addr, 0, NULL);
	return addr;
}

/* Exactly as many bytes as there are: nothing behind the NUL is read. */
static fi_addr_t insert_copy(struct fid_av *av, const char *text)
{
	char *copy = strdup(text);
	fi_addr_t addr = insert(av, copy);

	free(copy);
	return addr;
}

/* What the process has allocated, or 0 where that cannot be asked. */
static size_t allocated(void)
{
#ifdef HAVE_MALLINFO2
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

/* A million names are normal: each takes tens of bytes and not the longest there may be
 * (AV-007). Removed ones make room for others of about their length. */
static void many_names_take_little(void **state)
{
	enum { COUNT = 1 << 16, EACH_MAX = 80 };
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t first[3];
	size_t before = allocated(), longest = 0;
	char name[64];

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < COUNT; i++) {
			(void)snprintf(name, sizeof(name), "fi_shm://%07u:1000:%u",
				i * 3 + round, round);
			assert_int_equal(insert(av, name), i);
		}
		if (!SANITIZED && allocated() > longest)
			longest = allocated();
		for (fi_addr_t i = 0; i < COUNT; i++)
			assert_int_equal(fi_av_remove(av, &i, 1, 0), 0);
	}
	if (longest)
		assert_true(longest - before < (size_t)COUNT * EACH_MAX);
	/* A short one goes where a long one was, and the other way about. */
	for (int i = 0; i < 3; i++) {
		char *text = text_of("", i == 1 ? LONGEST : 1);

		first[i] = insert(av, text);
		assert_int_equal(first[i], 0);
		assert_string_equal(
			(const char *)wf_av_addr(wf_av_of(av), 0) + 9, text);
		free(text);
		assert_int_equal(fi_av_remove(av, &first[i], 1, 0), 0);
	}
	assert_int_equal(fi_close(&av->fid), 0);
}

/* Whatever its length, a name ends where it ended, also between others (AV-034). */
static void each_length_ends(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });

	for (size_t len = 1; len <= LONGEST; len++) {
		char *text = text_of("", len);

		assert_int_equal(insert(av, text), len - 1);
		free(text);
	}
	for (size_t len = 1; len <= LONGEST; len++) {
		char *text = text_of("fi_shm://", len);

		assert_string_equal(wf_av_addr(wf_av_of(av), len - 1), text);
		assert_int_equal(insert(av, text), len - 1);
		free(text);
	}
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-016: the strings themselves, one after the other. */
static void back_to_back(void **state)
{
	static const char names[] = "fi_shm://a\0fi_ns://node:b\0c\0fi_shm://d:0:1";
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	char *copy = malloc(sizeof(names));
	fi_addr_t addr[4];

	assert_non_null(copy);
	memcpy(copy, names, sizeof(names));
	assert_int_equal(fi_av_insert(av, copy, 4, addr, 0, NULL), 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(addr[i], i);
	free(copy);
	assert_int_equal(insert_copy(av, "node:b"), 1);
	assert_int_equal(insert_copy(av, "fi_shm://d:0:1"), 3);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-016, AV-021: a format in front is no part of the name. */
static void one_spelling(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	char padded[256] = "fi_shm://peer", got[256];
	size_t len = sizeof(got);

	assert_int_equal(insert_copy(av, "fi_ns://peer"), 0);
	assert_int_equal(insert_copy(av, "fi_shm://peer"), 0);
	assert_int_equal(insert_copy(av, "mine://peer"), 0);
	assert_int_equal(insert_copy(av, "peer"), 0);
	assert_int_equal(insert_copy(av, "://peer"), 1);
	assert_int_equal(insert_copy(av, "a://b://peer"), 2);
	assert_int_equal(insert_copy(av, "peer "), 3);
	assert_int_equal(fi_av_lookup(av, 2, got, &len), 0);
	assert_string_equal(got, "fi_shm://b://peer");
	assert_int_equal(insert_copy(av, got), 2);

	/* The lengths that transports pass: padded, or that of fi_getname. */
	assert_int_equal(wf_av_index(wf_av_of(av), padded, sizeof(padded)), 0);
	assert_int_equal(wf_av_index(wf_av_of(av), "peer", 5), 0);
	assert_true(wf_av_index(wf_av_of(av), "peer", 4) == FI_ADDR_NOTAVAIL);
	assert_true(wf_av_index(wf_av_of(av), "else", 5) == FI_ADDR_NOTAVAIL);
	assert_string_equal(wf_av_addr(wf_av_of(av), 0), padded);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-014, AV-016, AV-020 */
static void refused(void **state)
{
	static const char *const bad[] = { "", "fi_shm://", "fi_ns://", "x://",
		"fi_shm://a\nb", "a\177", "fi_shm://\001" };
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	char *longest = text_of("fi_shm://", LONGEST), *text, endless[256 + 5];
	fi_addr_t addr[3];

	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		assert_true(insert_copy(av, bad[i]) == FI_ADDR_NOTAVAIL);
	assert_int_equal(insert_copy(av, longest), 0);
	free(longest);
	/* A shorter format does not make room: the name is stored with ours. */
	text = text_of("x://", LONGEST + 1);
	assert_true(insert_copy(av, text) == FI_ADDR_NOTAVAIL);
	free(text);
	text = text_of("", 300);
	assert_true(insert_copy(av, text) == FI_ADDR_NOTAVAIL);
	free(text);

	/* Where one does not end, the next ones are not found. */
	memset(endless, 'n', sizeof(endless));
	memcpy(endless + 256, "next", 5);
	assert_int_equal(fi_av_insert(av, endless, 2, addr, 0, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_true(addr[i] == FI_ADDR_NOTAVAIL);
	/* An empty one ends. */
	assert_int_equal(fi_av_insert(av, "a\0\0b", 3, addr, 0, NULL), 2);
	assert_int_equal(addr[0], 1);
	assert_true(addr[1] == FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[2], 2);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-034: the size is that of the text, with its NUL. */
static void lookup(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	char got[300];
	size_t len = sizeof(got);

	assert_int_equal(insert(av, "fi_ns://host:peer"), 0);
	memset(got, '#', sizeof(got));
	assert_int_equal(fi_av_lookup(av, 0, got, &len), 0);
	assert_string_equal(got, "fi_shm://host:peer");
	assert_int_equal(len, sizeof("fi_shm://host:peer"));
	assert_int_equal(got[len], '#');

	len = 4;
	memset(got, '#', sizeof(got));
	assert_int_equal(fi_av_lookup(av, 0, got, &len), 0);
	assert_int_equal(len, sizeof("fi_shm://host:peer"));
	assert_memory_equal(got, "fi_s#", 5);
	len = 0;
	assert_int_equal(fi_av_lookup(av, 0, NULL, &len), 0);
	assert_int_equal(len, sizeof("fi_shm://host:peer"));
	assert_int_equal(fi_av_lookup(av, 1, got, &len), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-037, STR-011: as it is written. */
static void straddr(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	char got[300];
	size_t len = sizeof(got);

	assert_string_equal(fi_av_straddr(av, "mine://peer", got, &len), "mine://peer");
	assert_int_equal(len, sizeof("mine://peer"));
	len = 6;
	assert_string_equal(fi_av_straddr(av, "mine://peer", got, &len), "mine:");
	assert_int_equal(len, sizeof("mine://peer"));
	len = sizeof(got);
	assert_string_equal(fi_av_straddr(av, "a\nb", got, &len), "(no address)");
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-025, AV-028 */
static void by_name(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t addr;

	assert_int_equal(fi_av_insertsvc(av, "a", "1", &addr, 0, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_av_insertsvc(av, "fi_shm://a", NULL, &addr, 0, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_av_insertsym(av, "a", 1, "1", 1, &addr, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-011, AV-022: also once the table has grown. */
static void many(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	char name[32];
	fi_addr_t addr = 55;

	for (unsigned int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "fi_shm://%u:0:0", i);
		assert_int_equal(insert_copy(av, name), i);
	}
	assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
	assert_true(wf_av_index(wf_av_of(av), "55:0:0", 7) == FI_ADDR_NOTAVAIL);
	assert_int_equal(wf_av_index(wf_av_of(av), "999:0:0", 8), 999);
	assert_int_equal(insert_copy(av, "other"), 55);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STR_TEST(many_names_take_little),
		STR_TEST(each_length_ends),
		STR_TEST(back_to_back),
		STR_TEST(one_spelling),
		STR_TEST(refused),
		STR_TEST(lookup),
		STR_TEST(straddr),
		STR_TEST(by_name),
		STR_TEST(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
