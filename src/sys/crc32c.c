/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/crc32c.h"

#include <pthread.h>
#include <string.h>

#include "sys/compiler.h"

/* All polynomials have the coefficient of the highest power in bit 0. */
enum { SLICES = 8 };
#define POLYNOMIAL UINT32_C(0x82f63b78)

/* tables[k][b]: the CRC register after byte b and k zero bytes. */
static uint32_t tables[SLICES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void crc32c_fill_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][byte] = crc;
	}
	for (int k = 1; k < SLICES; k++)
		for (int byte = 0; byte < 256; byte++) {
			uint32_t before = tables[k - 1][byte];

			tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
		}
}

static uint32_t crc32c_one_byte(uint32_t crc, uint8_t byte)
{
	return crc >> 8 ^ tables[0][(crc ^ byte) & 0xff];
}

uint32_t wf_crc32c_tables(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	(void)pthread_once(&tables_once, crc32c_fill_tables);
	crc = ~crc;
	for (; len >= SLICES; at += SLICES, len -= SLICES) {
		uint32_t low =
			crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 |
				      (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);

		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^
		      tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
		      tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
		      tables[0][at[7]];
	}
	for (; len > 0; at++, len--)
		crc = crc32c_one_byte(crc, *at);
	return ~crc;
}

#if defined(__x86_64__)

#include <immintrin.h>

#define HAS_INSTRUCTIONS                                                               \
	(__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
#define USES_INSTRUCTIONS __attribute__((target("sse4.2,pclmul")))

/* Bytes in each of three blocks that are computed at the same time: the instruction
 * takes three cycles, and the processor begins one in each cycle. */
enum { BLOCK = 256 };

/* x^(8 * n - 33) modulo the polynomial, where n is the number of bytes in one block and
 * in two. Multiplying a CRC register by it appends n zero bytes. */
#define BY_ONE UINT32_C(0xb9e02b86)
#define BY_TWO UINT32_C(0xdd7e3b0c)

static inline uint64_t crc32c_word(const uint8_t *at)
{
	uint64_t bits;

	memcpy(&bits, at, sizeof(bits));
	return bits;
}

USES_INSTRUCTIONS static inline uint64_t crc32c_move_on(uint64_t crc, uint32_t by)
{
	const __m128i product = _mm_clmulepi64_si128(
		_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi64_si128((int64_t)by), 0);

	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

USES_INSTRUCTIONS static uint64_t crc32c_three_blocks(uint64_t crc, const uint8_t *at)
{
	uint64_t second = 0, third = 0;

	for (size_t i = 0; i < BLOCK; i += sizeof(uint64_t)) {
		crc = _mm_crc32_u64(crc, crc32c_word(at + i));
		second = _mm_crc32_u64(second, crc32c_word(at + BLOCK + i));
		third = _mm_crc32_u64(third, crc32c_word(at + 2 * BLOCK + i));
	}
	return crc32c_move_on(crc, BY_TWO) ^ crc32c_move_on(second, BY_ONE) ^ third;
}

USES_INSTRUCTIONS static uint32_t crc32c_by_instructions(
	uint32_t crc, const uint8_t *at, size_t len)
{
	uint64_t bits = ~crc;

	for (; len >= (size_t)3 * BLOCK;
		at += (size_t)3 * BLOCK, len -= (size_t)3 * BLOCK)
		bits = crc32c_three_blocks(bits, at);
	for (; len >= sizeof(uint64_t); at += sizeof(uint64_t), len -= sizeof(uint64_t))
		bits = _mm_crc32_u64(bits, crc32c_word(at));
	for (; len > 0; at++, len--)
		bits = _mm_crc32_u8((uint32_t)bits, *at);
	return ~(uint32_t)bits;
}

#elif defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

#define HAS_INSTRUCTIONS 1

static uint32_t crc32c_by_instructions(uint32_t crc, const uint8_t *at, size_t len)
{
	uint64_t word;

	crc = ~crc;
	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		crc = __crc32cd(crc, word);
	}
	for (; len > 0; at++, len--)
		crc = __crc32cb(crc, *at);
	return ~crc;
}

#else

#define HAS_INSTRUCTIONS       0
#define crc32c_by_instructions wf_crc32c_tables

#endif

uint32_t wf_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	if (wf_likely(HAS_INSTRUCTIONS))
		return crc32c_by_instructions(crc, bytes, len);
	return wf_crc32c_tables(crc, bytes, len);
}
