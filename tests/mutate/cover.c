/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked into each program and library of a build with -fsanitize-coverage=trace-pc:
 * which basic blocks are executed. Each module has a file in the directory WEFT_COVER
 * with a byte for each byte of its code, which all processes share. So it is complete
 * also after a process was killed.
 */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden"), no_sanitize_coverage))

HIDDEN void __sanitizer_cov_trace_pc(void);

static uint8_t *executed;
static uintptr_t base;

struct module {
	uintptr_t base, end;
	const char *name;
};

/* Is this the module that the function belongs to? */
static int find_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t here = (uintptr_t)__sanitizer_cov_trace_pc;
	struct module *module = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || here < from || here >= from + p->p_memsz)
			continue;
		*module = (struct module){ info->dlpi_addr, from + p->p_memsz,
			info->dlpi_name };
		return 1;
	}
	return 0;
}

static void open_file(const struct module *module)
{
	const char *dir = getenv("WEFT_COVER"), *name = module->name;
	size_t len = module->end - module->base;
	char program[4096] = "", path[8192];
	void *mem;
	int fd;

	if (!dir)
		return;
	if (!name[0] && readlink("/proc/self/exe", program, sizeof(program) - 1) > 0)
		name = program;
	if (strrchr(name, '/'))
		name = strrchr(name, '/') + 1;
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (!ftruncate(fd, (off_t)len)) {
		mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mem != MAP_FAILED)
			executed = mem;
	}
	(void)close(fd);
}

__attribute__((constructor(101))) static void begin(void)
{
	struct module module;

	if (!dl_iterate_phdr(find_module, &module))
		return;
	base = module.base;
	open_file(&module);
}

void __sanitizer_cov_trace_pc(void)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);

	/* A child that a test forks from a handler may come here, too: no calls. */
	if (executed)
		executed[pc - base - 1] = 1;
}
