/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <sys/mman.h>

#include "sys/pages.h"

static char *pages_map(size_t size)
{
	void *mem = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static size_t pages_misfit(const char *mem, size_t size)
{
	return (uintptr_t)mem & (size - 1);
}

void *wf_pages_get(size_t size)
{
	char *mem = pages_map(size);
	size_t head;

	/* A new mapping is mostly next to the last one, and so is aligned as well. */
	if (!mem || !pages_misfit(mem, size))
		return mem;
	(void)munmap(mem, size);
	mem = pages_map(2 * size);
	if (!mem)
		return NULL;
	head = size - pages_misfit(mem, size);
	if (head)
		(void)munmap(mem, head);
	if (size - head)
		(void)munmap(mem + head + size, size - head);
	return mem + head;
}

void wf_pages_put(void *mem, size_t size)
{
	/* The number of mappings of a process is limited, and a hole may need one more.
	 * Then the memory is released all the same, and only the address range stays in
	 * use. */
	if (munmap(mem, size))
		(void)madvise(mem, size, MADV_DONTNEED);
}
