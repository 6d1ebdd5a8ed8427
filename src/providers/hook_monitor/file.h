/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_FILE_H
#define WF_HOOK_MONITOR_FILE_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "providers/hook_monitor/dir.h"
#include "providers/hook_monitor/format.h"
#include "sys/forks.h"
#include "sys/list.h"
#include "sys/peer_counts.h"

/*
 * The file of one fabric, and what is counted for it. Any thread may call; no lock is
 * held. A forked child neither writes nor removes the file of its parent.
 *
 * @lock guards the lists and everything below them. While it is held no lock is taken
 * but that of memory allocation.
 */
struct mon_file {
	uint64_t id; /* not 0, and of this file alone */
	unsigned int tick_max;
	uint32_t fork_depth; /* of the process that opened the file */
	struct mon_path path;
	int fd;
	struct wf_list link; /* in the list of open files */
	/* Number of the newest sample. Written with @lock. */
	_Atomic uint64_t answered;
	pthread_mutex_t lock;
	struct wf_list blocks; /* struct mon_block, by link */
	struct wf_list peers;  /* struct mon_peers, by link */
	bool ended;
	/* Totals at the newest sample. */
	struct mon_cell last[MON_FUNCTIONS][MON_BUCKETS];
	struct mon_sample sample; /* the sample that is being taken */
};

/* An endpoint that counts its peers. */
struct mon_peers {
	struct wf_list link;
	struct fid *fid;
	const struct wf_peer_counts_ops *ops; /* NULL: it does not count them */
};

/* Make the file of a fabric of the provider @prov_name. 0, or a negative fi_errno,
 * which is logged with the reason. */
int mon_file_open(const char *prov_name, struct mon_file **ret_file);
/* Take the last sample, remove the file unless it has to linger, and free @file. */
void mon_file_close(struct mon_file *file);
/* At the end of the process, for the files of fabrics that are open. */
void mon_files_end(void);

/* Take a sample if one is wanted. */
void mon_file_tick(struct mon_file *file);

void mon_file_add_peers(struct mon_file *file, struct mon_peers *peers);
void mon_file_remove_peers(struct mon_file *file, struct mon_peers *peers);

static inline bool mon_file_is_inherited(const struct mon_file *file)
{
	return wf_is_forked_since(file->fork_depth);
}

#endif
