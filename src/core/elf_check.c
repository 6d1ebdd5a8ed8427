/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/elf_check.h"
#include "sys/calls.h"

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#error "unknown machine"
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

static bool elf_check_within(uint64_t offset, uint64_t len, uint64_t size)
{
	return offset <= size && len <= size - offset;
}

static bool elf_check_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	return wf_sys_pread(fd, buf, len, (off_t)offset) == (ssize_t)len;
}

const char *wf_elf_defect(int fd)
{
	struct stat st;
	Elf64_Ehdr head;
	Elf64_Phdr part;
	uint64_t size;

	if (fstat(fd, &st) || st.st_size < 0)
		return "cannot be examined";
	size = (uint64_t)st.st_size;
	if (!elf_check_read_at(fd, &head, sizeof(head), 0) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return "not a shared library";
	if (head.e_ident[EI_CLASS] != ELFCLASS64 ||
		head.e_ident[EI_DATA] != NATIVE_DATA ||
		head.e_machine != NATIVE_MACHINE)
		return "made for another machine";
	if (head.e_type != ET_DYN || head.e_phentsize != sizeof(part))
		return "not a shared library";
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		uint64_t at = i * sizeof(part);

		if (!elf_check_within(head.e_phoff, at + sizeof(part), size) ||
			!elf_check_read_at(
				fd, &part, sizeof(part), head.e_phoff + at) ||
			!elf_check_within(part.p_offset, part.p_filesz, size))
			return "cut short";
	}
	return NULL;
}
