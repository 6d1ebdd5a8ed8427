/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/param.h"

#include <limits.h>
#include <stdint.h>

#include "objects/param.h"
#include "providers/shm/log.h"
#include "sys/compiler.h"

enum { EAGER_MAX = 32768 };

struct shm_params shm_params = {
	.tx_size = 1024,
	.rx_size = 1024,
	.inject_size = 4096,
	.eager_size = EAGER_MAX,
	.cma_size = SIZE_MAX,
	.nontemporal_size = (size_t)24 << 20,
	.ring_memory = (size_t)64 << 20,
	.unexpected_size = (size_t)2 << 30,
	.answer_size = (size_t)64 << 20,
	.connect_timeout = 30000,
	.refused_timeout = 5000,
};

/* Parameters of other implementations: accepted, and without effect. */
static struct {
	int use_dsa_sar, use_xpmem;
	size_t max_gdrcopy_size, buffer_threshold;
} others = {
	.max_gdrcopy_size = SIZE_MAX,
	.buffer_threshold = SIZE_MAX,
};

#define SIZE(name_, field, min_, max_, help_)                                          \
	WF_PARAM_SIZE(name_, &shm_params.field, min_, max_, help_)
#define BOOL(name_, field, help_) WF_PARAM_BOOL(name_, &shm_params.field, help_)

static const struct wf_param rows[] = {
	SIZE("tx_size", tx_size, 1, 1 << 24,
		"Operations that may be pending (default: 1024)"),
	SIZE("rx_size", rx_size, 1, 1 << 24,
		"Receives that may be posted (default: 1024)"),
	SIZE("inject_size", inject_size, 0, 65536,
		"Longest message that can be injected, in bytes (default: 4096)"),
	SIZE("eager_size", eager_size, 0, EAGER_MAX,
		"Longer messages wait at the sender until they are matched, in bytes "
		"(default: 32768)"),
	BOOL("disable_cma", disable_cma,
		"Never read or write the memory of another process, copy everything "
		"through shared memory (default: no)"),
	BOOL("disable_mapping", disable_mapping,
		"Never access the registered memory of another process without "
		"requests, nor let others access that of this one so (default: no)"),
	SIZE("cma_size", cma_size, 0, SIZE_MAX,
		"From this length on, messages that wait at the sender are copied by "
		"the receiver out of the sender's memory where that is allowed, in "
		"bytes; shorter ones go through shared memory while the sender makes "
		"progress (default: none is that long)"),
	SIZE("nontemporal_size", nontemporal_size, 0, SIZE_MAX,
		"From this length on, what comes through shared memory is stored past "
		"the caches where the processor can do that, in bytes (default: 24 "
		"MiB)"),
	SIZE("ring_memory", ring_memory, 0, SIZE_MAX,
		"Memory that an endpoint's wide rings may take, in bytes, of 4 MiB for "
		"each peer that gets many long messages; other peers have at most 512 "
		"KiB (default: 64 MiB)"),
	SIZE("unexpected_size", unexpected_size, 1 << 20, SIZE_MAX,
		"Memory that messages may take that wait for a receive, in bytes, of "
		"all peers of an endpoint; those of a peer that has as much as is free "
		"are left where they are (default: 2 GiB)"),
	SIZE("answer_size", answer_size, 1 << 20, SIZE_MAX,
		"Memory that answers may take that peers have not read, in bytes, of "
		"all peers of an endpoint; what a peer that has as much as is free "
		"sends is left where it is (default: 64 MiB)"),
	SIZE("connect_timeout", connect_timeout, 0, INT_MAX,
		"Milliseconds that operations wait for a peer that exists and does not "
		"answer; 0: for ever (default: 30000)"),
	SIZE("refused_timeout", refused_timeout, 0, INT_MAX,
		"Milliseconds after which operations end in an error that wait for a "
		"name "
		"that no endpoint has, or not yet (default: 5000; 0: the first time)"),
	WF_PARAM_BOOL("use_dsa_sar", &others.use_dsa_sar,
		"No effect: copies are made by the processor (default: no)"),
	WF_PARAM_BOOL("use_xpmem", &others.use_xpmem,
		"No effect: XPMEM is not used (default: no)"),
	WF_PARAM_SIZE("max_gdrcopy_size", &others.max_gdrcopy_size, 0, SIZE_MAX - 1,
		"No effect: there is no device memory (default: 3072)"),
	WF_PARAM_SIZE("buffer_threshold", &others.buffer_threshold, 0, SIZE_MAX - 1,
		"No effect: receivers always buffer unexpected messages up to "
		"eager_size "
		"(default: 1)"),
};

static void shm_param_tell(const char *name, const char *instead)
{
	shm_log(FI_LOG_INFO, FI_LOG_CORE, "parameter %s has no effect: %s\n", name,
		instead);
}

static void param_tell_others(void)
{
	if (others.use_dsa_sar)
		shm_param_tell("use_dsa_sar", "copies are made by the processor");
	if (others.use_xpmem)
		shm_param_tell("use_xpmem",
			"instead of XPMEM, cross-memory attach and shared memory are "
			"used");
	if (others.max_gdrcopy_size != SIZE_MAX)
		shm_param_tell("max_gdrcopy_size", "there is no device memory");
	if (others.buffer_threshold != SIZE_MAX)
		shm_param_tell("buffer_threshold",
			"unexpected messages up to eager_size are always buffered");
}

void shm_params_init(void)
{
	wf_params_read(&shm_fi, rows, WF_ARRAY_SIZE(rows));
	param_tell_others();
}
