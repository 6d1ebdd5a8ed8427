/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/copy/remote.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "providers/shm/conn/peer.h"
#include "sys/membarrier.h"
#include "sys/sealed.h"

/* Regions of a peer: the table, and what was found in it. */

/* ---- the table ---- */

static const struct shm_table *remote_map_table(const struct shm_conn *conn)
{
	const struct shm_table *table;
	const void *mem;

	if (wf_sealed_map(SHM_TABLE_NAME, (uint32_t)conn->process.pid,
		    conn->access.table_fd, sizeof(struct shm_table), &mem))
		return NULL;
	table = mem;
	/* The process may be another one by now. */
	if (table->instance == conn->process.instance)
		return table;
	wf_sealed_unmap(mem, sizeof(*table));
	return NULL;
}

static struct shm_remote *remote_open(struct shm_conn *conn)
{
	struct shm_remote *remote = calloc(1, sizeof(*remote));

	if (!remote)
		return NULL;
	remote->table = remote_map_table(conn);
	if (!remote->table) {
		free(remote);
		return NULL;
	}
	remote->visits = &conn->segment->visits[!conn->out_lane];
	remote->fence = !wf_membarrier_join() || remote->table->flags & SHM_TABLE_FENCE;
	if (remote->table->flags & SHM_TABLE_NO_COPIES)
		conn->access.copied = false;
	return remote;
}

/* NULL: the peer publishes no regions, or its table cannot be read. The table is mapped
 * for the first operation. */
static struct shm_remote *remote_of(struct shm_conn *conn)
{
	if (wf_likely(conn->access.remote != NULL))
		return conn->access.remote;
	if (conn->access.table_fd < 0 || conn->process.pid <= 0 ||
		shm_params.disable_mapping)
		return NULL;
	/* The peer waits for accesses from now on. */
	if (atomic_load_explicit(&conn->segment->visits[!conn->out_lane].open,
		    memory_order_acquire) != 1)
		return NULL;
	conn->access.remote = remote_open(conn);
	if (!conn->access.remote) {
		shm_log(FI_LOG_INFO, FI_LOG_MR,
			"regions of %s are accessed by requests: its table cannot be "
			"mapped\n",
			shm_conn_name(conn));
		conn->access.table_fd = -1;
	}
	return conn->access.remote;
}

void shm_window_unmap(struct shm_window *window)
{
	if (window->at && window->sysv)
		(void)shmdt(window->map);
	else if (window->at)
		(void)munmap(window->map, window->map_len);
	window->at = NULL;
}

void shm_window_close(struct shm_window *window)
{
	shm_window_unmap(window);
	*window = (struct shm_window){ .serial = 0 };
}

void shm_remote_done(struct shm_conn *conn)
{
	struct shm_remote *remote = conn->access.remote;

	if (!remote)
		return;
	for (unsigned int i = 0; i < SHM_WINDOWS; i++)
		shm_window_close(&remote->window[i]);
	wf_sealed_unmap(remote->table, sizeof(*remote->table));
	free(remote);
	conn->access.remote = NULL;
}

void shm_visit_first(struct shm_remote *remote)
{
	atomic_store_explicit(&remote->visits->used, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	remote->used = true;
}

/* ---- entries ---- */

/* Do the numbers make sense? They are the peer's. */
static bool remote_is_sound(const struct shm_described *region)
{
	uint64_t left = region->len, end;

	if (region->count > SHM_IOV_LIMIT ||
		__builtin_add_overflow(region->base, region->len, &end))
		return false;
	for (uint32_t i = 0; i < region->count; i++) {
		if (region->piece[i].len > left ||
			__builtin_add_overflow(
				region->piece[i].base, region->piece[i].len, &end) ||
			end > UINTPTR_MAX)
			return false;
		left -= region->piece[i].len;
	}
	return !left;
}

static void copy_words(
	struct shm_described *to, const volatile struct shm_described *from)
{
	const volatile uint64_t *words = (const volatile uint64_t *)from;
	uint64_t copy[sizeof(*to) / sizeof(uint64_t)];

	static_assert(sizeof(*to) % sizeof(uint64_t) == 0, "whole words");
	for (size_t i = 0; i < WF_ARRAY_SIZE(copy); i++)
		copy[i] = words[i];
	memcpy(to, copy, sizeof(copy));
}

/* Read an entry, which its owner may change meanwhile. Returns its serial number. */
static uint64_t remote_read_entry(
	const struct shm_entry *entry, struct shm_described *to)
{
	enum { TRIES = 4 };
	uint64_t serial = 0;

	for (int i = 0; i < TRIES; i++) {
		serial = atomic_load_explicit(&entry->serial, memory_order_acquire);
		if (serial == SHM_SERIAL_NONE)
			return serial;
		copy_words(to, &entry->region);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&entry->serial, memory_order_relaxed) ==
			serial)
			return serial;
	}
	return SHM_SERIAL_CHANGING;
}

/* Look @key up in the table. MEMORY: *@window has the region; LANE: it may exist. */
static enum shm_reach remote_look_up(
	const struct shm_table *table, uint64_t key, struct shm_window *window)
{
	uint32_t at = shm_table_first(key);
	struct shm_described region;
	uint64_t serial;

	for (uint32_t i = 0; i < SHM_TABLE_PROBES; i++, at++) {
		at %= SHM_TABLE_SIZE;
		serial = remote_read_entry(&table->entry[at], &region);
		if (serial == SHM_SERIAL_NONE || region.key != key)
			continue;
		if (serial == SHM_SERIAL_CHANGING || !remote_is_sound(&region))
			return SHM_REACH_LANE;
		*window = (struct shm_window){
			.serial = serial, .index = at, .region = region
		};
		return SHM_REACH_MEMORY;
	}
	/* acquire: pairs with the release in leave_out. */
	return atomic_load_explicit(&table->left_out, memory_order_acquire)
		       ? SHM_REACH_LANE
		       : SHM_REACH_REFUSED;
}

/* Does the region exist still? */
static bool remote_is_current(
	const struct shm_remote *remote, const struct shm_window *window)
{
	return window->serial &&
	       atomic_load_explicit(&remote->table->entry[window->index].serial,
		       memory_order_acquire) == window->serial;
}

enum shm_reach shm_remote_find(
	struct shm_conn *conn, uint64_t key, struct shm_window **ret_window)
{
	struct shm_remote *remote = remote_of(conn);
	struct shm_window *window;
	enum shm_reach reach;

	if (!remote)
		return SHM_REACH_LANE;
	window = &remote->window[(key * 0x9e3779b97f4a7c15u >> 40) % SHM_WINDOWS];
	if (window->at && window->region.key != key &&
		remote_is_current(remote, window))
		window = &remote->spare;
	*ret_window = window;
	if (wf_likely(window->region.key == key && remote_is_current(remote, window)))
		return SHM_REACH_MEMORY;
	shm_window_close(window);
	if (remote->small_key == key)
		remote->small_left = 0;
	reach = remote_look_up(remote->table, key, window);
	window->is_examined = window == &remote->spare;
	return reach;
}

bool shm_remote_has_no_copies(struct shm_conn *conn, uint64_t key)
{
	struct shm_window *window;

	return shm_remote_find(conn, key, &window) == SHM_REACH_MEMORY &&
	       window->no_copies;
}
