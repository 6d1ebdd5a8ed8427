/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CRC32C_H
#define WF_SYS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * CRC-32C (Castagnoli, as in RFC 3720): by the processor's instructions where it has
 * them. Any thread.
 */

/* Append @len bytes to a message with the CRC @crc (0: an empty message). Returns the
 * new CRC. */
uint32_t wf_crc32c(uint32_t crc, const void *bytes, size_t len);

/* wf_crc32c by tables, without the processor's instructions. */
uint32_t wf_crc32c_tables(uint32_t crc, const void *bytes, size_t len);

#endif
