/* SPDX-License-Identifier: BSD-2-Clause */
/* Cards of any content: the true card of this process with the bytes of the input
 * added to it, so that some pass each check. Nothing but the true number comes of it.
 */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/local/proof.h"

enum { INSTANCE = 7 };

/* The name of the endpoint below. */
#define NAME "fi_shm://7:0:1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t own[TCP_WIRE_CARD];
	static struct tcp_proof proof;
	uint8_t card[TCP_WIRE_CARD];
	uint64_t number = 0;
	char name[TCP_PROOF_NAME] = NAME;
	enum tcp_apart apart;

	if (!proof.number && tcp_proof_make(&proof, INSTANCE, NAME, own))
		abort();
	for (size_t i = 0; i < sizeof(card); i++)
		card[i] = (uint8_t)(own[i] ^ (i < size ? data[i] : 0));
	apart = tcp_proof_read(card, INSTANCE, &number, name);
	if (apart >= TCP_APARTS || number != (apart ? 0 : proof.number) ||
		(!apart && strcmp(name, NAME)))
		abort();
	return 0;
}
