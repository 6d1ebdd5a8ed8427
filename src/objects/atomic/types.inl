/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All datatypes of atomic operations. Includes the file that GENERATE names once for
 * each of them, with these macros, which that file undefines by including
 * objects/atomic/type_end.inl:
 *
 *   NAME      a name of the type, for identifiers
 *   T         the type in C
 *   WORD      unsigned integer of the same size that C11 swaps; or
 *   WIDE      16 bytes; or neither
 *   ORDERED   < and > mean something
 *   UNSIGNED  integers: the unsigned type, at least of int's size, for arithmetic
 *             that wraps
 *
 *   PARTS, PART_BYTES  for types with padding: the number of equal parts of a value,
 * and the bytes in each that hold the value
 */

/* Integers. */

#define NAME     int8
#define T        int8_t
#define WORD     uint8_t
#define UNSIGNED uint32_t
#define ORDERED
#include GENERATE

#define NAME     uint8
#define T        uint8_t
#define WORD     uint8_t
#define UNSIGNED uint32_t
#define ORDERED
#include GENERATE

#define NAME     int16
#define T        int16_t
#define WORD     uint16_t
#define UNSIGNED uint32_t
#define ORDERED
#include GENERATE

#define NAME     uint16
#define T        uint16_t
#define WORD     uint16_t
#define UNSIGNED uint32_t
#define ORDERED
#include GENERATE

#define NAME     int32
#define T        int32_t
#define WORD     uint32_t
#define UNSIGNED uint32_t
#define ORDERED
#include GENERATE

#define NAME     uint32
#define T        uint32_t
#define WORD     uint32_t
#define UNSIGNED uint32_t
#define ORDERED
#include GENERATE

#define NAME     int64
#define T        int64_t
#define WORD     uint64_t
#define UNSIGNED uint64_t
#define ORDERED
#include GENERATE

#define NAME     uint64
#define T        uint64_t
#define WORD     uint64_t
#define UNSIGNED uint64_t
#define ORDERED
#include GENERATE

/* Integers of 128 bits. */

#define NAME int128
#define T    __int128
#define WIDE
#define UNSIGNED wf_u128
#define ORDERED
#include GENERATE

#define NAME uint128
#define T    wf_u128
#define WIDE
#define UNSIGNED wf_u128
#define ORDERED
#include GENERATE

/* Real numbers. */

#define NAME float
#define T    float
#define WORD uint32_t
#define ORDERED
#include GENERATE

#define NAME double
#define T    double
#define WORD uint64_t
#define ORDERED
#include GENERATE

#define NAME long_double
#define T    long double
#define WIDE
#define ORDERED
#define PARTS      1
#define PART_BYTES WF_LONG_DOUBLE_BYTES
#include GENERATE

/* Complex numbers, which have no order. */

#define NAME float_complex
#define T    float _Complex
#define WORD uint64_t
#include GENERATE

#define NAME double_complex
#define T    double _Complex
#define WIDE
#include GENERATE

#define NAME       long_double_complex
#define T          long double _Complex
#define PARTS      2
#define PART_BYTES WF_LONG_DOUBLE_BYTES
#include GENERATE

#undef GENERATE
