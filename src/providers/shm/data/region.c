/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/sealed.h"

/* The file cannot shrink: an access behind the end of a shrunken file would raise
 * SIGBUS. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

enum { WARM_BYTES = 16 << 10 };

static int map(int fd, struct shm_region **ret_region)
{
	void *mem = mmap(NULL, sizeof(struct shm_region), PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	/* A forked child does not get the memory: the peer would take its writes for
	 * those of this process. */
	(void)madvise(mem, sizeof(struct shm_region), MADV_DONTFORK);
	*ret_region = mem;
	return 0;
}

int shm_region_new(int *ret_fd, struct shm_region **ret_region)
{
	int fd = wf_sealed_file("weft-shm", sizeof(struct shm_region)), ret;

	if (fd < 0)
		return fd;
	ret = map(fd, ret_region);
	if (ret)
		(void)wf_sys_close(fd);
	else
		*ret_fd = fd;
	return ret;
}

int shm_region_map(int fd, struct shm_region **ret_region)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) ||
		st.st_size != sizeof(struct shm_region))
		return -EINVAL;
	return map(fd, ret_region);
}

void shm_region_warm(struct shm_region *region)
{
#ifdef MADV_POPULATE_WRITE
	/* Linux before 5.14 refuses this, and it fails if memory is short: then the
	 * first access populates each page. */
	for (unsigned int i = 0; i < WF_ARRAY_SIZE(region->lane); i++)
		(void)madvise(&region->lane[i],
			offsetof(struct shm_lane, bytes) + WARM_BYTES,
			MADV_POPULATE_WRITE);
#else
	(void)region;
#endif
}

void shm_region_unmap(struct shm_region *region)
{
	(void)munmap(region, sizeof(*region));
}
