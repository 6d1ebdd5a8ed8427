/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CRC32C_H
#define WF_SYS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * CRC-32C (Castagnoli, as in RFC 3720): by the processor's instructions where it has
 * them. Any thread.
 */

/* The CRC of all bytes so far: @crc is that of the bytes before, 0 at the start. */
uint32_t wf_crc32c(uint32_t crc, const void *bytes, size_t len);

/* The same by tables, whatever the processor has. */
uint32_t wf_crc32c_tables(uint32_t crc, const void *bytes, size_t len);

#endif
