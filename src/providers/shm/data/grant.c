/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/conn/socket.h"
#include "providers/shm/data/await.h"
#include "providers/shm/data/lease.h"
#include "sys/calls.h"
#include "sys/mapping.h"
#include "sys/membarrier.h"

/* Direct access at the target: which regions are granted, and revocation. */

enum {
	/* Limit of requests of one connection; further ones are refused. */
	QUESTIONS_MAX = 1 << 16,
};

static struct shm_grants *words_of(struct shm_conn *conn)
{
	return &conn->region->grants[conn->out_lane];
}

uint64_t shm_ipc_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/ipc", &st) ? 0 : st.st_ino;
}

/* Do accesses to the region have effects at the target that direct ones would not have?
 */
static bool is_counted(const struct shm_conn *conn, const struct wf_mr *mr)
{
	const struct wf_ep *ep = &conn->ep->ep;

	return mr->cntr || wf_ep_counts(ep, WF_CNTR_REMOTE_READ) ||
	       wf_ep_counts(ep, WF_CNTR_REMOTE_WRITE);
}

/* Describe the memory of the region, which is in one piece, to a peer that maps it:
 * *@ret_fd is the descriptor to send, or -1. Returns NULL, or the reason why it cannot
 * be mapped. */
static const char *describe_mapping(
	const struct wf_mr *mr, struct shm_grant_packet *packet, int *ret_fd)
{
	bool writable = mr->access & FI_REMOTE_WRITE;
	uintptr_t base = (uintptr_t)mr->iov[0].iov_base;
	struct wf_mapping mapping;
	int seals;

	if (wf_mapping_find(mr->iov[0].iov_base, mr->len, &mapping))
		return "it is not in one mapping";
	if (!mapping.shared)
		return "its memory is not shared";
	packet->offset = mapping.offset + (base - mapping.start);
	if (mapping.sysv) {
		packet->how = SHM_GRANT_SYSV;
		packet->shmid = mapping.inode;
		packet->ipc_ns = shm_ipc_namespace();
		return packet->ipc_ns ? NULL : "its namespace is unknown";
	}
	*ret_fd = wf_mapping_open(&mapping, writable);
	if (*ret_fd < 0)
		return "this process has no descriptor of its memory";
	seals = fcntl(*ret_fd, F_GET_SEALS);
	packet->how = SHM_GRANT_FILE;
	return seals >= 0 && seals & F_SEAL_SHRINK
		       ? NULL
		       : "its file may shrink (no F_SEAL_SHRINK)";
}

/* The same to a peer that maps it, or has the kernel copy. */
static const char *describe(
	const struct wf_mr *mr, struct shm_grant_packet *packet, int *ret_fd)
{
	const char *why;

	if (mr->iov_count != 1 || !mr->len)
		return "it has several pieces";
	why = describe_mapping(mr, packet, ret_fd);
	if (!why || shm_params.disable_cma)
		return why;
	if (*ret_fd >= 0)
		(void)wf_sys_close(*ret_fd);
	*ret_fd = -1;
	packet->how = SHM_GRANT_COPY;
	packet->offset = (uintptr_t)mr->iov[0].iov_base;
	return NULL;
}

static struct shm_granting *granting_of(struct shm_conn *conn)
{
	if (!conn->granting)
		conn->granting = calloc(1, sizeof(*conn->granting));
	return conn->granting;
}

static struct shm_grant *find_free(struct shm_granting *granting)
{
	for (unsigned int i = 0; i < SHM_GRANTS; i++)
		if (!granting->grant[i].mr)
			return &granting->grant[i];
	return NULL;
}

/* Make the grant valid. The map's lock is held. */
static void publish(struct shm_conn *conn, struct shm_grant *grant, struct wf_mr *mr,
	struct shm_grant_packet *packet)
{
	struct shm_granting *granting = conn->granting;

	grant->conn = conn;
	grant->mr = mr;
	wf_list_push(&mr->grants, &grant->link);
	packet->index = (uint16_t)(grant - granting->grant);
	packet->serial = ++granting->serial;
	packet->base = mr->base;
	packet->len = mr->len;
	packet->access = mr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE);
	packet->fence = !wf_membarrier_join();
	/* release: the peer that loads the number finds the memory in its current
	 * state. */
	atomic_store_explicit(&words_of(conn)->serial[packet->index], packet->serial,
		memory_order_release);
}

/* Make the grant invalid. The peer may continue an access that it has begun. */
static void invalidate(struct shm_grant *grant)
{
	struct shm_grants *words = words_of(grant->conn);
	size_t index = (size_t)(grant - grant->conn->granting->grant);

	/* G4 */
	atomic_store_explicit(&words->serial[index], 0, memory_order_relaxed);
}

static void forget(struct shm_grant *grant)
{
	wf_list_remove(&grant->link);
	grant->mr = NULL;
}

/* Returns NULL: *@ret_grant is the grant, and @packet is complete; or the reason why
 * the region is not granted. The map's lock is held. */
static const char *grant_region(struct shm_conn *conn, uint64_t addr,
	struct shm_grant_packet *packet, struct shm_grant **ret_grant, int *ret_fd)
{
	struct shm_granting *granting = granting_of(conn);
	struct shm_grant *grant;
	const char *why;
	struct wf_mr *mr;

	if (!granting)
		return "no memory";
	if (granting->questions >= QUESTIONS_MAX)
		return "the peer asks too often";
	granting->questions++;
	grant = find_free(granting);
	if (!grant)
		return "too many regions are in use";
	if (wf_mr_lookup(wf_ep_mr_map(&conn->ep->ep), packet->key, addr, 0, 0, &mr))
		return "there is no such region";
	if (is_counted(conn, mr))
		return "accesses are counted";
	why = describe(mr, packet, ret_fd);
	if (why)
		return why;
	publish(conn, grant, mr, packet);
	*ret_grant = grant;
	return NULL;
}

static const char *how(const struct shm_grant_packet *packet)
{
	return packet->how == SHM_GRANT_COPY ? ", by copies of the kernel" : "";
}

static void answer(struct shm_conn *conn, uint64_t key, uint64_t addr)
{
	struct shm_grant_packet packet = { .magic = SHM_GRANT_MAGIC, .key = key };
	struct wf_mr_map *map = wf_ep_mr_map(&conn->ep->ep);
	struct shm_grant *grant = NULL;
	const char *why;
	int fd = -1;

	/* The lock is held until the packet is sent, so that the region of the
	 * descriptor exists. */
	wf_lock(&map->lock);
	why = shm_params.disable_mapping
		      ? "FI_SHM_DISABLE_MAPPING is set"
		      : grant_region(conn, addr, &packet, &grant, &fd);
	if (why)
		packet.how = SHM_GRANT_REFUSED;
	if (shm_socket_send(conn->watch.fd, &packet, sizeof(packet), why ? -1 : fd) &&
		!why) {
		why = "the socket is full";
		invalidate(grant);
		forget(grant);
	}
	wf_unlock(&map->lock);
	if (fd >= 0)
		(void)wf_sys_close(fd);
	shm_log(FI_LOG_INFO, FI_LOG_MR, "region 0x%llx: %s accesses it %s%s\n",
		(unsigned long long)key, shm_conn_name(conn),
		why ? "by requests: " : "directly", why ? why : how(&packet));
}

int shm_recv_ask(struct shm_conn *conn, const struct shm_record *rec)
{
	uint64_t addr;

	if (rec->len != sizeof(addr))
		return -FI_EPROTO;
	memcpy(&addr, rec->blob, sizeof(addr));
	/* The peer needs to know when all records were read. */
	conn->tells = true;
	answer(conn, rec->word, addr);
	return 0;
}

/* Is the peer in the middle of an access by this grant? */
static bool is_accessing(const void *arg)
{
	const struct shm_grant *grant = arg;
	uint32_t mine = (uint32_t)(grant - grant->conn->granting->grant) + 1;

	/* G5: acquire, pairs with G3. */
	return atomic_load_explicit(
		       &words_of(grant->conn)->busy, memory_order_acquire) == mine;
}

/* Wait until the peer's access has ended. An access takes less than a millisecond. */
static void await(const struct shm_grant *grant)
{
	if (!shm_await(grant->conn, is_accessing, grant))
		shm_log(FI_LOG_WARN, FI_LOG_MR,
			"a region is closed that %s is accessing, and does not go on\n",
			shm_conn_name(grant->conn));
}

/* Has the region been removed from the map? Else the application has bound a counter,
 * or changed the mapping: transfers under way go on, and are counted when they end. */
static bool is_closed(const struct wf_mr *mr, struct shm_conn *conn)
{
	struct wf_mr *found;

	return wf_mr_lookup(wf_ep_mr_map(&conn->ep->ep), mr->fid.key, mr->base, 0, 0,
		       &found) ||
	       found != mr;
}

static struct shm_grant *grant_at(struct wf_list *link)
{
	return wf_list_entry(link, struct shm_grant, link);
}

static void revoke_lease(struct shm_grant *grant)
{
	if (!is_closed(grant->mr, grant->conn))
		return;
	shm_lease_revoke(grant->lease);
	forget(grant);
}

void shm_grant_revoke(struct wf_mr *mr)
{
	const struct shm_grant *first = grant_at(mr->grants.next);

	/* A forked child does not use the connections of its parent. */
	if (first->conn->ep->pid != getpid()) {
		wf_list_init(&mr->grants);
		return;
	}
	wf_list_foreach(it, &mr->grants)
	{
		if (!grant_at(it)->lease)
			invalidate(grant_at(it));
	}
	(void)wf_membarrier();
	wf_list_foreach_safe(it, &mr->grants)
	{
		struct shm_grant *grant = grant_at(it);

		if (grant->lease) {
			revoke_lease(grant);
			continue;
		}
		await(grant);
		forget(grant);
	}
}

void shm_grant_end(struct shm_conn *conn)
{
	struct wf_mr_map *map = wf_ep_mr_map(&conn->ep->ep);
	struct shm_grant *grants, *end;

	if (!conn->granting)
		return;
	grants = conn->granting->grant;
	end = grants + SHM_GRANTS;
	wf_lock(&map->lock);
	for (struct shm_grant *grant = grants; grant < end; grant++)
		if (grant->mr)
			invalidate(grant);
	(void)wf_membarrier();
	for (struct shm_grant *grant = grants; grant < end; grant++) {
		if (!grant->mr)
			continue;
		await(grant);
		forget(grant);
	}
	wf_unlock(&map->lock);
	free(conn->granting);
	conn->granting = NULL;
}
