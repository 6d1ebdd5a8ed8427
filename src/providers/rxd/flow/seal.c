/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/seal.h"

#include <string.h>

#include "sys/crc32c.h"

uint32_t rxd_seal(const struct iovec *iov, size_t count)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < count; i++)
		crc = wf_crc32c(crc, iov[i].iov_base, iov[i].iov_len);
	return crc;
}

bool rxd_seal_check(const uint8_t *packet, size_t *len)
{
	size_t bare = *len - RXD_SEAL_SIZE;
	uint32_t seal;

	if (*len < RXD_SEAL_SIZE)
		return false;
	memcpy(&seal, packet + bare, sizeof(seal));
	if (seal != wf_crc32c(0, packet, bare))
		return false;
	*len = bare;
	return true;
}
