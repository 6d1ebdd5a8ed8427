/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library is loaded, used and unloaded again and again: nothing stays behind.
 *
 *   reload LIBRARY
 *
 * The program has an allocator of its own in front of the C library's, which counts
 * the blocks in use: by the library, by those that it loads and by the loader.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

enum { WARM_UP = 3, ROUNDS = 6 };

/* The program is built with hidden symbols. */
#define IN_FRONT __attribute__((visibility("default")))

static atomic_long blocks;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);

static void *counted(void *block)
{
	if (block)
		atomic_fetch_add(&blocks, 1);
	return block;
}

IN_FRONT void *malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

IN_FRONT void *calloc(size_t count, size_t size)
{
	return counted(__libc_calloc(count, size));
}

IN_FRONT void *realloc(void *old, size_t size)
{
	void *block = __libc_realloc(old, size);

	if (!old)
		return counted(block);
	if (!block && !size)
		atomic_fetch_sub(&blocks, 1);
	return block;
}

IN_FRONT void *aligned_alloc(size_t align, size_t size)
{
	return counted(__libc_memalign(align, size));
}

IN_FRONT int posix_memalign(void **ret, size_t align, size_t size)
{
	*ret = aligned_alloc(align, size);
	return *ret ? 0 : ENOMEM;
}

IN_FRONT void free(void *block)
{
	if (block)
		atomic_fetch_sub(&blocks, 1);
	__libc_free(block);
}

static struct {
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints, struct fi_info **ret);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **ret, void *ctx);
} api;

#define MUST(call)                                                                     \
	do {                                                                           \
		long ret_ = (long)(call);                                              \
		if (ret_) {                                                            \
			printf("not ok 1 - %s: %ld\n1..1\n", #call, ret_);             \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

/* An endpoint with all that belongs to it, opened and closed. */
static void open_and_close(struct fi_info *info)
{
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;

	MUST(api.fabric(info->fabric_attr, &fabric, NULL));
	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_cq_open(domain, &cq_attr, &cq, NULL));
	MUST(fi_av_open(domain, &av_attr, &av, NULL));
	MUST(fi_endpoint(domain, info, &ep, NULL));
	MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_ep_bind(ep, &av->fid, 0));
	MUST(fi_enable(ep));
	MUST(fi_close(&ep->fid));
	MUST(fi_close(&av->fid));
	MUST(fi_close(&cq->fid));
	MUST(fi_close(&domain->fid));
	MUST(fi_close(&fabric->fid));
}

static void use(const char *provider, enum fi_ep_type type)
{
	struct fi_info *info, *hints = api.dupinfo(NULL);

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = type;
	hints->caps = FI_MSG;
	if (!api.getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info)) {
		open_and_close(info);
		api.freeinfo(info);
	}
	api.freeinfo(hints);
}

static void load_and_unload(const char *library)
{
	static const char *const rdm[] = { "tcp", "shm", "lnx" };
	struct fi_info *all;
	void *dl = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	MUST(!dl);
	*(void **)&api.getinfo = dlsym(dl, "fi_getinfo");
	*(void **)&api.freeinfo = dlsym(dl, "fi_freeinfo");
	*(void **)&api.dupinfo = dlsym(dl, "fi_dupinfo");
	*(void **)&api.fabric = dlsym(dl, "fi_fabric");
	MUST(!api.getinfo || !api.freeinfo || !api.dupinfo || !api.fabric);
	MUST(api.getinfo(FI_VERSION(2, 0), NULL, NULL, 0, NULL, &all));
	api.freeinfo(all);
	use("udp", FI_EP_DGRAM);
	for (size_t i = 0; i < sizeof(rdm) / sizeof(rdm[0]); i++)
		use(rdm[i], FI_EP_RDM);
	MUST(dlclose(dl));
	MUST(!!dlopen(library, RTLD_NOW | RTLD_NOLOAD));
}

int main(int argc, char **argv)
{
	long before = 0, after;
	bool ok;

	if (argc != 2)
		return 2;
	/* Word lists make the configuration allocate, too. */
	(void)setenv("FI_LOG_LEVEL", "warn", 1);
	(void)setenv("FI_LOG_PROV", "tcp,udp,shm", 1);
	(void)setenv("FI_HOOK", "", 1);
	for (int i = 0; i < WARM_UP + ROUNDS; i++) {
		if (i == WARM_UP)
			before = atomic_load(&blocks);
		load_and_unload(argv[1]);
	}
	after = atomic_load(&blocks);
	ok = before > 0 && before == after;
	printf("%s 1 - nothing stays behind after %d rounds: %ld blocks, then "
	       "%ld\n1..1\n",
		ok ? "ok" : "not ok", ROUNDS, before, after);
	return !ok;
}
