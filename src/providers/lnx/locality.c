/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/lnx/locality.h"
#include "sys/calls.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

uint64_t lnx_hash(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

/* Hash a name without regard to case. */
static uint64_t locality_hash_name(uint64_t seed, const char *name)
{
	char c;

	for (; name && *name; name++) {
		c = (char)tolower((unsigned char)*name);
		seed = lnx_hash(seed, &c, 1);
	}
	return seed;
}

static bool locality_boot_id(uint64_t *ret)
{
	char text[64];
	ssize_t n;
	int fd = wf_sys_open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = wf_sys_read(fd, text, sizeof(text));
	(void)wf_sys_close(fd);
	if (n < 16)
		return false;
	*ret = lnx_hash(0, text, (size_t)n);
	return true;
}

static bool locality_add_inode(const char *path, uint64_t *hash)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*hash = lnx_hash(*hash, &st.st_dev, sizeof(st.st_dev));
	*hash = lnx_hash(*hash, &st.st_ino, sizeof(st.st_ino));
	return true;
}

static bool locality_is_ip(const struct fi_info *info)
{
	return info->addr_format == FI_SOCKADDR_IN ||
	       info->addr_format == FI_SOCKADDR_IN6;
}

/* Hash of the part of this machine that the member reaches, such as a container. */
static bool locality_reach_of(const struct fi_info *info, uint64_t *ret)
{
	uid_t uid = geteuid();

	if (!locality_boot_id(ret))
		return false;
	if (locality_is_ip(info))
		return locality_add_inode("/proc/self/ns/net", ret);
	*ret = lnx_hash(*ret, &uid, sizeof(uid));
	return locality_add_inode("/dev/shm", ret);
}

bool lnx_locality_is_local(const struct fi_info *info)
{
	return (info->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)) == FI_LOCAL_COMM;
}

bool lnx_locality_is_memory(const struct fi_info *info)
{
	return lnx_locality_is_local(info) && !locality_is_ip(info);
}

uint64_t lnx_locality_of(const struct fi_info *info)
{
	uint64_t hash = 0;

	/* If the machine has no identity, only this process counts as local: the number
	 * is random. */
	if (lnx_locality_is_local(info) && !locality_reach_of(info, &hash) &&
		wf_sys_getrandom(&hash, sizeof(hash), 0) != sizeof(hash))
		hash = (uint64_t)getpid() << 32 | (uintptr_t)info;
	return locality_hash_name(hash, info->fabric_attr->name);
}
