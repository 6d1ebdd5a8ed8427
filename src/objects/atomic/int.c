/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/type.h"

/* Atomic operations on integers of 8 to 64 bits. */

#define NAME     int8
#define T        int8_t
#define WORD     uint8_t
#define UNSIGNED uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     uint8
#define T        uint8_t
#define WORD     uint8_t
#define UNSIGNED uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     int16
#define T        int16_t
#define WORD     uint16_t
#define UNSIGNED uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     uint16
#define T        uint16_t
#define WORD     uint16_t
#define UNSIGNED uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     int32
#define T        int32_t
#define WORD     uint32_t
#define UNSIGNED uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     uint32
#define T        uint32_t
#define WORD     uint32_t
#define UNSIGNED uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     int64
#define T        int64_t
#define WORD     uint64_t
#define UNSIGNED uint64_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME     uint64
#define T        uint64_t
#define WORD     uint64_t
#define UNSIGNED uint64_t
#define ORDERED
#include "objects/atomic/type.inl"
