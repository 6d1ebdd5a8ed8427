/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CQ_INTERNAL_H
#define WF_OBJECTS_CQ_INTERNAL_H

#include "objects/cq/cq.h"

/* Declarations that only the files of the completion queue share. */

struct wf_cq_error {
	struct wf_list link;
	/* Ring head when the error was written: entries before it are read first. */
	uint32_t stamp;
	struct fi_cq_err_entry entry;
	uint8_t data[]; /* Copy of the writer's err_data; entry.err_data points here. */
};

/* read.c */
ssize_t wf_cq_read(struct fid_cq *fid, void *buf, size_t count);
ssize_t wf_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src);

/* wait.c */
ssize_t wf_cq_sread(
	struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout);
ssize_t wf_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
	const void *cond, int timeout);
int wf_cq_signal(struct fid_cq *fid);

/* forked.c: the queue cannot be read in a forked child from now on. */
void wf_cq_in_child(struct wf_fork_hook *hook);

/* err.c */
ssize_t wf_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags);
const char *wf_cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data,
	char *buf, size_t len);
/* Returns 0 or -FI_ENOMEM. */
int wf_cq_errors_init(struct wf_cq *cq);
void wf_cq_errors_done(struct wf_cq *cq);

#endif
