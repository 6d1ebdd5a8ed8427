/* SPDX-License-Identifier: BSD-2-Clause */
#include "refuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../sanitizer.h"

/* The allocator below ours. dlsym allocates, so it cannot be found that way. */
#if ADDRESS_SANITIZER
#define BELOW(name) __interceptor_##name
#else
#define BELOW(name) __libc_##name
#endif
extern void *BELOW(malloc)(size_t size);
extern void *BELOW(calloc)(size_t count, size_t size);
extern void *BELOW(realloc)(void *block, size_t size);
extern void *BELOW(memalign)(size_t alignment, size_t size);
extern void BELOW(free)(void *block);

/* The name that a function has for the linker: with large files, open is open64. */
#if defined(_FILE_OFFSET_BITS) && _FILE_OFFSET_BITS == 64
#define LARGE(name) #name "64"
#else
#define LARGE(name) #name
#endif

/* @lock guards all but the range of the library, which does not change. */
static struct {
	uintptr_t base, end;
	char path[PATH_MAX];
	pthread_mutex_t lock;
	struct refuse_places seen;
	uintptr_t offset; /* of the place that fails */
	unsigned int nth;
	bool failed;
} refuse = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Blocks of the library that are not freed, by their address: a table with open
 * addressing. */
enum { BLOCKS = 1 << 17 };
static struct {
	void *block[BLOCKS];
	uint16_t place[BLOCKS];
} blocks;

static int refuse_is_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "/libfabric.so"))
		return 0;
	(void)snprintf(refuse.path, sizeof(refuse.path), "%s", info->dlpi_name);
	refuse.base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD &&
			info->dlpi_addr + part->p_vaddr + part->p_memsz > refuse.end)
			refuse.end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
	}
	return 1;
}

void refuse_init(void)
{
	if (dl_iterate_phdr(refuse_is_library, NULL) == 1)
		return;
	(void)fprintf(stderr, "the library is not loaded\n");
	exit(1);
}

/* Called with the lock held. */
static size_t refuse_find(uintptr_t offset, const char *called)
{
	size_t i;

	for (i = 0; i < refuse.seen.count; i++)
		if (refuse.seen.place[i].offset == offset)
			return i;
	if (i == REFUSE_PLACES)
		abort();
	refuse.seen.place[i].offset = offset;
	refuse.seen.place[i].called = called;
	refuse.seen.count++;
	return i;
}

/* What a call at @caller is: of somebody else, of the library, or of the library and to
 * be refused. */
enum { FOREIGN = -1, REFUSED = -2 };

static int refuse_place(void *caller, const char *called)
{
	uintptr_t at = (uintptr_t)caller;
	struct refuse_place *place;
	int i;

	if (at < refuse.base || at >= refuse.end)
		return FOREIGN;
	(void)pthread_mutex_lock(&refuse.lock);
	i = (int)refuse_find(at - refuse.base, called);
	place = &refuse.seen.place[i];
	if (++place->calls == refuse.nth && place->offset == refuse.offset) {
		refuse.failed = true;
		i = REFUSED;
	}
	(void)pthread_mutex_unlock(&refuse.lock);
	return i;
}

static size_t block_slot(const void *block)
{
	return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15U >> 47) % BLOCKS;
}

static void *block_born(void *block, int place)
{
	size_t i = block_slot(block);

	if (place < 0 || !block)
		return block;
	(void)pthread_mutex_lock(&refuse.lock);
	while (blocks.block[i])
		i = (i + 1) % BLOCKS;
	blocks.block[i] = block;
	blocks.place[i] = (uint16_t)place;
	refuse.seen.place[place].live++;
	(void)pthread_mutex_unlock(&refuse.lock);
	return block;
}

/* Take what stands at @i out, and what follows on, where it would not be found any
 * more. */
static void block_take(size_t i)
{
	size_t next = i;

	for (;;) {
		size_t home;

		next = (next + 1) % BLOCKS;
		if (!blocks.block[next])
			break;
		home = block_slot(blocks.block[next]);
		if ((next - home) % BLOCKS < (next - i) % BLOCKS)
			continue;
		blocks.block[i] = blocks.block[next];
		blocks.place[i] = blocks.place[next];
		i = next;
	}
	blocks.block[i] = NULL;
}

static void block_dies(void *block)
{
	size_t i = block_slot(block);

	if (!block || !refuse.base)
		return;
	(void)pthread_mutex_lock(&refuse.lock);
	while (blocks.block[i] && blocks.block[i] != block)
		i = (i + 1) % BLOCKS;
	if (blocks.block[i]) {
		refuse.seen.place[blocks.place[i]].live--;
		block_take(i);
	}
	(void)pthread_mutex_unlock(&refuse.lock);
}

void refuse_begin(uintptr_t offset, unsigned int nth)
{
	(void)pthread_mutex_lock(&refuse.lock);
	for (size_t i = 0; i < refuse.seen.count; i++)
		refuse.seen.place[i].calls = 0;
	refuse.offset = offset;
	refuse.nth = nth;
	refuse.failed = false;
	(void)pthread_mutex_unlock(&refuse.lock);
}

bool refuse_end(void)
{
	refuse.nth = 0;
	return refuse.failed;
}

const struct refuse_places *refuse_seen(void)
{
	return &refuse.seen;
}

const char *refuse_library(void)
{
	return refuse.path;
}

#define PLACE(name) refuse_place(__builtin_return_address(0), name)
#define EXPORTED    __attribute__((visibility("default")))

/* ---- memory ------------------------------------------------------------------ */

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

EXPORTED void *malloc(size_t size)
{
	int place = PLACE("malloc");

	return place == REFUSED ? no_memory() : block_born(BELOW(malloc)(size), place);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	int place = PLACE("calloc");

	return place == REFUSED ? no_memory()
				: block_born(BELOW(calloc)(count, size), place);
}

static void *resized(void *block, size_t size, int place)
{
	void *other;

	if (place == REFUSED)
		return no_memory();
	block_dies(block);
	other = BELOW(realloc)(block, size);
	return block_born(other, place);
}

EXPORTED void *realloc(void *block, size_t size)
{
	return resized(block, size, PLACE("realloc"));
}

EXPORTED void *reallocarray(void *block, size_t count, size_t size)
{
	int place = PLACE("reallocarray");
	size_t all;

	if (__builtin_mul_overflow(count, size, &all))
		return no_memory();
	return resized(block, all, place);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	int place = PLACE("aligned_alloc");

	return place == REFUSED ? no_memory()
				: block_born(BELOW(memalign)(alignment, size), place);
}

EXPORTED int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int place = PLACE("posix_memalign");
	void *block = place == REFUSED ? NULL : BELOW(memalign)(alignment, size);

	if (!block)
		return ENOMEM;
	*ret = block_born(block, place);
	return 0;
}

static char *copied(const char *text, size_t len, int place)
{
	char *copy = place == REFUSED ? no_memory() : BELOW(malloc)(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return block_born(copy, place);
}

EXPORTED char *strdup(const char *text)
{
	return copied(text, strlen(text), PLACE("strdup"));
}

EXPORTED char *strndup(const char *text, size_t len)
{
	return copied(text, strnlen(text, len), PLACE("strndup"));
}

EXPORTED int asprintf(char **ret, const char *format, ...)
{
	int place = PLACE("asprintf"), len;
	va_list args;

	if (place == REFUSED)
		return -1;
	va_start(args, format);
	len = vasprintf(ret, format, args);
	va_end(args);
	if (len >= 0)
		(void)block_born(*ret, place);
	return len;
}

EXPORTED void free(void *block)
{
	block_dies(block);
	BELOW(free)(block);
}

/* ---- descriptors, mappings, threads -------------------------------------------- */

static void *next_symbol(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

/* int NAME(PARAMETERS), which calls the function of the system with ARGUMENTS unless it
 * fails with CODE. SYMBOL: its name for the linker. */
#define REFUSABLE(name, symbol, code, parameters, arguments)                           \
	EXPORTED int name parameters                                                   \
	{                                                                              \
		static int(*below) parameters;                                         \
                                                                                       \
		if (PLACE(#name) == REFUSED) {                                         \
			errno = code;                                                  \
			return -1;                                                     \
		}                                                                      \
		if (!below)                                                            \
			*(void **)&below = next_symbol(symbol);                        \
		return below arguments;                                                \
	}

REFUSABLE(socket, "socket", EMFILE, (int family, int type, int protocol),
	(family, type, protocol))
REFUSABLE(socketpair, "socketpair", EMFILE,
	(int family, int type, int protocol, int fds[2]), (family, type, protocol, fds))
REFUSABLE(listen, "listen", EADDRINUSE, (int fd, int backlog), (fd, backlog))
REFUSABLE(accept4, "accept4", EMFILE,
	(int fd, struct sockaddr *addr, socklen_t *len, int flags),
	(fd, addr, len, flags))
REFUSABLE(eventfd, "eventfd", EMFILE, (unsigned int count, int flags), (count, flags))
REFUSABLE(timerfd_create, "timerfd_create", EMFILE, (clockid_t clock, int flags),
	(clock, flags))
REFUSABLE(epoll_create1, "epoll_create1", EMFILE, (int flags), (flags))
REFUSABLE(memfd_create, "memfd_create", EMFILE, (const char *name, unsigned int flags),
	(name, flags))
REFUSABLE(shm_open, "shm_open", EMFILE, (const char *name, int flags, mode_t mode),
	(name, flags, mode))
REFUSABLE(ftruncate, LARGE(ftruncate), ENOSPC, (int fd, off_t size), (fd, size))

EXPORTED int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	static int (*below)(int epfd, int op, int fd, struct epoll_event *event);

	/* Only what is added takes memory. */
	if (op == EPOLL_CTL_ADD && PLACE("epoll_ctl") == REFUSED) {
		errno = ENOMEM;
		return -1;
	}
	if (!below)
		*(void **)&below = next_symbol("epoll_ctl");
	return below(epfd, op, fd, event);
}

EXPORTED int open(const char *path, int flags, ...)
{
	static int (*below)(const char *path, int flags, ...);
	mode_t mode = 0;
	va_list args;

	if (PLACE("open") == REFUSED) {
		errno = EMFILE;
		return -1;
	}
	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (!below)
		*(void **)&below = next_symbol(LARGE(open));
	return below(path, flags, mode);
}

EXPORTED void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	static void *(*below)(
		void *addr, size_t len, int prot, int flags, int fd, off_t offset);

	if (PLACE("mmap") == REFUSED) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (!below)
		*(void **)&below = next_symbol(LARGE(mmap));
	return below(addr, len, prot, flags, fd, offset);
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*start)(void *arg), void *arg)
{
	static int (*below)(pthread_t * thread, const pthread_attr_t *attr,
		void *(*start)(void *arg), void *arg);

	if (PLACE("pthread_create") == REFUSED)
		return EAGAIN;
	if (!below)
		*(void **)&below = next_symbol("pthread_create");
	return below(thread, attr, start, arg);
}
