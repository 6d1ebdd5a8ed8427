/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/wire/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sys/calls.h"
#include "sys/sealed.h"

/* The file cannot shrink: an access behind the end of a shrunken file would raise
 * SIGBUS. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

enum { WARM_BYTES = 16 << 10 };

static int segment_map(int fd, struct shm_segment **ret_segment)
{
	void *mem = mmap(NULL, sizeof(struct shm_segment), PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	/* A forked child does not get the memory: the peer would take its writes for
	 * those of this process. */
	(void)madvise(mem, sizeof(struct shm_segment), MADV_DONTFORK);
	*ret_segment = mem;
	return 0;
}

int shm_segment_new(int *ret_fd, struct shm_segment **ret_segment)
{
	int fd = wf_sealed_file("weft-shm", sizeof(struct shm_segment)), ret;

	if (fd < 0)
		return fd;
	ret = segment_map(fd, ret_segment);
	if (ret)
		(void)wf_sys_close(fd);
	else
		*ret_fd = fd;
	return ret;
}

int shm_segment_map(int fd, struct shm_segment **ret_segment)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) ||
		st.st_size != sizeof(struct shm_segment))
		return -EINVAL;
	return segment_map(fd, ret_segment);
}

void shm_segment_warm(struct shm_segment *segment)
{
#ifdef MADV_POPULATE_WRITE
	/* Linux before 5.14 refuses this, and it fails if memory is short: then the
	 * first access populates each page. */
	for (unsigned int i = 0; i < WF_ARRAY_SIZE(segment->lane); i++)
		(void)madvise(&segment->lane[i],
			offsetof(struct shm_lane, bytes) + WARM_BYTES,
			MADV_POPULATE_WRITE);
#else
	(void)segment;
#endif
}

void shm_segment_unmap(struct shm_segment *segment)
{
	(void)munmap(segment, sizeof(*segment));
}
