/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <rdma/fabric.h>

#include "providers/lnx/hex.h"

/* Addresses as text: "fi_lnx://" and hexadecimal digits. */

#define PREFIX "fi_lnx://"

enum { PREFIX_LEN = sizeof(PREFIX) - 1 };

static void it_begins_with_the_prefix(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} rows[] = {
		{ PREFIX, true },
		{ PREFIX "00", true },
		{ PREFIX "no digits", true },
		{ "fi_lnx:/", false },
		{ "fi_lnx:/1", false },
		{ "fi_lnz://00", false },
		{ " " PREFIX, false },
		{ "fi_shm://00", false },
		{ "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(lnx_hex_is(rows[i].text), rows[i].is);
}

/* Fill @text with the prefix and @len digits. */
static void fill(char *text, size_t len, char digit)
{
	memcpy(text, PREFIX, PREFIX_LEN);
	memset(text + PREFIX_LEN, digit, len);
	text[PREFIX_LEN + len] = '\0';
}

/* Every character at either place of a pair: digits have their value, whether capital
 * or not, and nothing else is one. */
static void every_character_has_its_value_or_none(void **state)
{
	static const char digits[] = "0123456789abcdef",
			  capitals[] = "0123456789ABCDEF";
	uint8_t bytes[LNX_NAME_LEN];
	char text[PREFIX_LEN + 7];

	for (int c = 1; c < 256; c++) {
		const char *small = strchr(digits, c), *capital = strchr(capitals, c);
		int value = small     ? (int)(small - digits)
			    : capital ? (int)(capital - capitals)
				      : -1;

		for (int place = 0; place < 2; place++) {
			fill(text, 6, '5');
			text[PREFIX_LEN + 2 + place] = (char)c;
			memset(bytes, 0xff, sizeof(bytes));
			assert_int_equal(lnx_hex_read(text, bytes), value < 0 ? 0 : 3);
			if (value < 0)
				continue;
			assert_int_equal(bytes[0], 0x55);
			assert_int_equal(
				bytes[1], place ? 0x50 | value : value << 4 | 5);
			assert_int_equal(bytes[2], 0x55);
			assert_int_equal(bytes[3], 0xff);
		}
	}
}

static void digits_come_in_pairs_and_not_too_many(void **state)
{
	static const struct {
		size_t digits, bytes;
	} rows[] = {
		{ 0, 0 },
		{ 1, 0 },
		{ 2, 1 },
		{ 3, 0 },
		{ 2 * LNX_NAME_LEN - 1, 0 },
		{ 2 * LNX_NAME_LEN, LNX_NAME_LEN },
		{ 2 * LNX_NAME_LEN + 1, 0 },
		{ 2 * LNX_NAME_LEN + 2, 0 },
	};
	char text[PREFIX_LEN + 2 * LNX_NAME_LEN + 3];
	/* Exactly as many as may be written: a checker of memory sees one more. */
	uint8_t *bytes = malloc(LNX_NAME_LEN);

	assert_non_null(bytes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fill(text, rows[i].digits, '7');
		memset(bytes, 0, LNX_NAME_LEN);
		assert_int_equal(lnx_hex_read(text, bytes), rows[i].bytes);
		for (size_t k = 0; k < rows[i].bytes; k++)
			assert_int_equal(bytes[k], 0x77);
	}
	free(bytes);
}

static void what_is_written_is_read(void **state)
{
	static const uint8_t addr[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
		0xef };
	struct lnx_name name = { 1, { { .provider = 0xfedc,
					    .len = sizeof(addr),
					    .format = FI_ADDR_PSMX2,
					    .locality = 0x102030405060,
					    .addr = addr } } };
	uint8_t packed[LNX_NAME_LEN], bytes[LNX_NAME_LEN];
	size_t size = lnx_name_pack(&name, packed);
	char text[LNX_ADDR_MAX];

	assert_true(size > sizeof(addr));
	memset(text, 'x', sizeof(text));
	assert_int_equal(lnx_hex_write(&name, text), PREFIX_LEN + 2 * size + 1);
	assert_int_equal(strlen(text), PREFIX_LEN + 2 * size);
	assert_true(lnx_hex_is(text));
	assert_non_null(strstr(text, "0123456789abcdef"));
	assert_int_equal(lnx_hex_read(text, bytes), size);
	assert_memory_equal(bytes, packed, size);
	/* Nothing behind the NUL. */
	for (size_t i = strlen(text) + 1; i < sizeof(text); i++)
		assert_int_equal(text[i], 'x');
}

/* The longest text has LNX_ADDR_MAX bytes with its NUL, and a longer one is none. */
static void a_name_too_long_has_no_text(void **state)
{
	enum { LONGEST = (LNX_ADDR_MAX - 1 - PREFIX_LEN) / 2 };
	static const uint8_t addr[LNX_NAME_LEN] = { 1 };
	struct lnx_name name = { 1,
		{ { .provider = 1, .format = FI_ADDR_PSMX2, .addr = addr } } };
	uint8_t packed[LNX_NAME_LEN];
	char *text = malloc(LNX_ADDR_MAX);
	size_t sizes[2] = { 0 };

	assert_non_null(text);
	for (uint16_t len = 80; len < LNX_NAME_LEN; len++) {
		size_t size, written;

		name.link[0].len = len;
		size = lnx_name_pack(&name, packed);
		written = lnx_hex_write(&name, text);
		if (size && size <= LONGEST)
			assert_int_equal(written, PREFIX_LEN + 2 * size + 1);
		else
			assert_int_equal(written, 0);
		sizes[0] += size && written;
		sizes[1] += size && !written;
	}
	assert_true(sizes[0] && sizes[1]);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_with_the_prefix),
		cmocka_unit_test(every_character_has_its_value_or_none),
		cmocka_unit_test(digits_come_in_pairs_and_not_too_many),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_name_too_long_has_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
