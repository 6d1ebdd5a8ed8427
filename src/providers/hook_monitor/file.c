/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include "providers/hook_monitor/count.h"
#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/param.h"
#include "sys/calls.h"
#include "sys/compiler.h"
#include "sys/fds.h"
#include "sys/file_size.h"

/* Guards the list of the files of open fabrics. */
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list files = { &files, &files };

static bool file_write_at(int fd, const void *from, size_t size, size_t offset)
{
	errno = ENOSPC; /* the reason of a short write, or of none */
	return wf_file_may_have(offset + size) &&
	       wf_sys_pwrite(fd, from, size, (off_t)offset) == (ssize_t)size;
}

/* False: the file was truncated. */
static bool file_read_wanted(const struct mon_file *file, uint64_t *ret)
{
	return wf_sys_pread(file->fd, ret, sizeof(*ret),
		       offsetof(struct mon_layout, wanted)) == (ssize_t)sizeof(*ret);
}

static int file_write_layout(int fd)
{
	struct mon_layout *layout = calloc(1, sizeof(*layout));
	bool written;

	if (!layout)
		return -ENOMEM;
	memcpy(layout->magic, MON_MAGIC, sizeof(layout->magic));
	layout->version = MON_VERSION;
	layout->size = sizeof(*layout);
	layout->functions = MON_FUNCTIONS;
	layout->buckets = MON_BUCKETS;
	written = file_write_at(fd, layout, sizeof(*layout), 0);
	free(layout);
	return written ? 0 : -errno;
}

/* The sampler takes a file without this lock as that of a process that died. */
static int file_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock) ? -errno : 0;
}

/* A forked child closes its copy of the descriptor: the copy would keep the lock. */
static int file_prepare(int fd, const char **ret_what)
{
	int err = wf_forks_count();

	*ret_what = "watching for fork";
	if (!err)
		err = wf_fds_own(fd);
	if (err)
		return err;
	*ret_what = "writing the file";
	err = file_write_layout(fd);
	if (err)
		return err;
	*ret_what = "locking the file";
	return file_lock(fd);
}

static int file_make(
	struct mon_file *file, const char *prov_name, const char **ret_what)
{
	int err;

	file->fd = mon_path_new(&file->path, prov_name, ret_what);
	if (file->fd < 0)
		return file->fd;
	err = file_prepare(file->fd, ret_what);
	if (err) {
		mon_path_remove(&file->path);
		mon_path_done(&file->path);
		wf_fds_close(file->fd);
	}
	return err;
}

static void file_init(struct mon_file *file)
{
	static _Atomic uint64_t ids;

	file->id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
	file->tick_max = (unsigned int)WF_MAX(mon_params.tick_max, 1);
	file->fork_depth = wf_fork_depth;
	(void)pthread_mutex_init(&file->lock, NULL);
	wf_list_init(&file->blocks);
	wf_list_init(&file->peers);
	(void)pthread_mutex_lock(&files_lock);
	wf_list_push(&files, &file->link);
	(void)pthread_mutex_unlock(&files_lock);
}

/* One warning in a process: other fabrics fail for the same reason. */
static void file_log_failure(const char *prov_name, const char *what, int err)
{
	static atomic_bool logged;
	bool first = !atomic_exchange_explicit(&logged, true, memory_order_relaxed);

	FI_LOG(&mon_fi, first ? FI_LOG_WARN : FI_LOG_INFO, FI_LOG_FABRIC,
		"%s is not monitored: %s: %s (basepath %s)\n", prov_name, what,
		strerror(-err), mon_params.basepath);
}

int mon_file_open(const char *prov_name, struct mon_file **ret_file)
{
	struct mon_file *file = calloc(1, sizeof(*file));
	const char *what = "memory";
	int err = file ? file_make(file, prov_name, &what) : -ENOMEM;

	if (err) {
		file_log_failure(prov_name, what, err);
		free(file);
		return err;
	}
	file_init(file);
	FI_INFO(&mon_fi, FI_LOG_FABRIC, "%s is monitored by the file %s\n", prov_name,
		file->path.name);
	*ret_file = file;
	return 0;
}

/* The counters are those since the sample before. @lock is held. */
static void file_add_blocks(struct mon_file *file, struct mon_sample *sample)
{
	const struct mon_cell *last = &file->last[0][0];
	struct mon_cell *cell = &sample->cell[0][0];

	for (unsigned int i = 0; i < MON_FUNCTIONS * MON_BUCKETS; i++)
		cell[i] = (struct mon_cell){ -last[i].count, -last[i].sum };
	wf_list_foreach(item, &file->blocks)
	{
		struct mon_block *block = wf_list_entry(item, struct mon_block, link);

		for (unsigned int i = 0; i < MON_FUNCTIONS * MON_BUCKETS; i++) {
			cell[i].count += atomic_load_explicit(
				&(&block->cell[0][0])[i].count, memory_order_relaxed);
			cell[i].sum += atomic_load_explicit(
				&(&block->cell[0][0])[i].sum, memory_order_relaxed);
		}
	}
}

static void file_add_peers(struct mon_file *file, struct mon_sample *sample)
{
	wf_list_foreach(item, &file->peers)
	{
		const struct mon_peers *peers =
			wf_list_entry(item, struct mon_peers, link);
		struct wf_peer_counts counts = { 0 };

		peers->ops->get(peers->fid, &counts);
		sample->peers_shm += counts.shm;
		sample->peers_sockets += counts.sockets;
	}
}

/* The next sample has what this one had. */
static void file_remember(struct mon_file *file)
{
	struct mon_cell *last = &file->last[0][0];
	const struct mon_cell *cell = &file->sample.cell[0][0];

	for (unsigned int i = 0; i < MON_FUNCTIONS * MON_BUCKETS; i++) {
		last[i].count += cell[i].count;
		last[i].sum += cell[i].sum;
	}
}

/* Take the sample @number. @lock is held. */
static void file_take(struct mon_file *file, uint64_t number, bool ended)
{
	struct mon_sample *sample = &file->sample;
	size_t slot = number % MON_SLOTS;

	sample->number = number;
	sample->ended = ended;
	sample->peers_shm = sample->peers_sockets = 0;
	file_add_blocks(file, sample);
	file_add_peers(file, sample);
	/* The sampler reads the number first, so it is written last. */
	if (!file_write_at(file->fd, sample, sizeof(*sample),
		    offsetof(struct mon_layout, sample) + slot * sizeof(*sample)) ||
		!file_write_at(file->fd, &number, sizeof(number),
			offsetof(struct mon_layout, answered))) {
		FI_WARN_SPARSE(&mon_fi, FI_LOG_FABRIC,
			"no sample was written to %s: %s\n", file->path.name,
			strerror(errno));
		return;
	}
	file_remember(file);
	atomic_store_explicit(&file->answered, number, memory_order_relaxed);
}

static bool file_is_answered(const struct mon_file *file, uint64_t wanted)
{
	/* relaxed: the number is compared again with the lock held. */
	return wanted == atomic_load_explicit(&file->answered, memory_order_relaxed);
}

static void file_tick(struct mon_file *file)
{
	uint64_t wanted;

	if (!file_read_wanted(file, &wanted) || file_is_answered(file, wanted))
		return;
	/* Another thread that holds the lock takes the sample. */
	if (pthread_mutex_trylock(&file->lock))
		return;
	/* Read again: others may have answered this request, and a later one. */
	if (!file->ended && file_read_wanted(file, &wanted) &&
		!file_is_answered(file, wanted))
		file_take(file, wanted, false);
	(void)pthread_mutex_unlock(&file->lock);
}

/* The caller of the counted function may still need errno. */
void mon_file_tick(struct mon_file *file)
{
	int saved = errno;

	if (!mon_file_is_inherited(file))
		file_tick(file);
	errno = saved;
}

static void file_end(struct mon_file *file)
{
	uint64_t wanted = 0;

	(void)pthread_mutex_lock(&file->lock);
	if (!file->ended) {
		file->ended = true;
		(void)file_read_wanted(file, &wanted);
		file_take(file, wanted + 1, true);
		if (!mon_params.linger)
			mon_path_remove(&file->path);
	}
	(void)pthread_mutex_unlock(&file->lock);
}

static void file_free(struct mon_file *file)
{
	struct wf_list *item;

	while ((item = wf_list_pop(&file->blocks)))
		free(wf_list_entry(item, struct mon_block, link));
	(void)pthread_mutex_destroy(&file->lock);
	free(file);
}

/* A forked child has closed the descriptor already, and keeps the memory: the locks may
 * be held by threads that it does not have. */
void mon_file_close(struct mon_file *file)
{
	if (!mon_file_is_inherited(file)) {
		(void)pthread_mutex_lock(&files_lock);
		wf_list_remove(&file->link);
		(void)pthread_mutex_unlock(&files_lock);
		file_end(file);
		wf_fds_close(file->fd);
		mon_path_done(&file->path);
		file_free(file);
	}
}

void mon_files_end(void)
{
	(void)pthread_mutex_lock(&files_lock);
	wf_list_foreach(item, &files)
	{
		struct mon_file *file = wf_list_entry(item, struct mon_file, link);

		if (!mon_file_is_inherited(file))
			file_end(file);
	}
	(void)pthread_mutex_unlock(&files_lock);
	mon_params_done();
}

void mon_file_add_peers(struct mon_file *file, struct mon_peers *peers)
{
	if (!peers->ops || mon_file_is_inherited(file))
		return;
	(void)pthread_mutex_lock(&file->lock);
	wf_list_push(&file->peers, &peers->link);
	(void)pthread_mutex_unlock(&file->lock);
}

void mon_file_remove_peers(struct mon_file *file, struct mon_peers *peers)
{
	if (!peers->ops || mon_file_is_inherited(file))
		return;
	(void)pthread_mutex_lock(&file->lock);
	wf_list_remove(&peers->link);
	(void)pthread_mutex_unlock(&file->lock);
}
