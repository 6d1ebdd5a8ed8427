/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "objects/cq/internal.h"

/*
 * Error entries. struct fi_cq_err_entry grew twice, and an application tells only by
 * the API version of its fabric how large its structure is: nothing is written beyond
 * that size.
 *
 *   API          bytes  last member       err_data
 *   before 1.5   72     err_data          points to our copy
 *   before 1.20  80     err_data_size     copied, if a buffer was given
 *   now          88     src_addr          the same
 */

static size_t err_entry_size(uint32_t api_version)
{
	if (FI_VERSION_LT(api_version, FI_VERSION(1, 5)))
		return offsetof(struct fi_cq_err_entry, err_data_size);
	if (FI_VERSION_LT(api_version, FI_VERSION(1, 20)))
		return offsetof(struct fi_cq_err_entry, src_addr);
	return sizeof(struct fi_cq_err_entry);
}

int wf_cq_errors_init(struct wf_cq *cq)
{
	wf_list_init(&cq->errors);
	cq->error_spare = malloc(sizeof(*cq->error_spare));
	return cq->error_spare ? 0 : -FI_ENOMEM;
}

/* cq->lock is held. */
static struct wf_cq_error *err_error_take_spare(struct wf_cq *cq)
{
	struct wf_cq_error *spare = cq->error_spare;

	cq->error_spare = NULL;
	return spare;
}

/* Free @error, or keep it as the spare one. cq->lock is held. */
static void err_error_give(struct wf_cq *cq, struct wf_cq_error *error)
{
	if (cq->error_spare)
		free(error);
	else
		cq->error_spare = error;
}

static void err_error_fill(struct wf_cq_error *error,
	const struct fi_cq_err_entry *entry, size_t data_size)
{
	error->entry = *entry;
	error->entry.err_data = data_size ? error->data : NULL;
	error->entry.err_data_size = data_size;
	if (data_size)
		memcpy(error->data, entry->err_data, data_size);
}

ssize_t wf_cq_write_err(struct wf_cq *cq, const struct fi_cq_err_entry *entry)
{
	size_t data_size = entry->err_data ? entry->err_data_size : 0;
	size_t limit = cq->domain->info->domain_attr->max_err_data;
	struct wf_cq_error *error;

	if (cq->owner != &cq->self)
		return cq->owner->owner_ops->writeerr(cq->owner, entry);

	if (limit)
		data_size = WF_MIN(data_size, limit);
	error = malloc(sizeof(*error) + data_size);

	wf_lock(&cq->lock);
	if (!error) {
		error = err_error_take_spare(cq);
		data_size = 0;
	}
	if (error) {
		err_error_fill(error, entry, data_size);
		error->stamp = wf_cq_ring_head(&cq->ring);
		wf_list_push(&cq->errors, &error->link);
		atomic_fetch_add_explicit(&cq->error_count, 1, memory_order_relaxed);
	}
	wf_unlock(&cq->lock);
	if (!error) {
		FI_WARN(cq->domain->prov->fi, FI_LOG_CQ,
			"out of memory: an error completion is lost\n");
		return -FI_ENOMEM;
	}
	wf_wait_signal(&cq->wait);
	return 0;
}

/* Remove and return the first error; NULL: there is none, or an entry comes before
 * it. */
static struct wf_cq_error *err_pop_error(struct wf_cq *cq)
{
	struct wf_cq_error *error = NULL;

	wf_lock(&cq->lock);
	if (!wf_list_empty(&cq->errors)) {
		error = wf_list_entry(cq->errors.next, struct wf_cq_error, link);
		if (error->stamp != wf_cq_ring_tail(&cq->ring)) {
			error = NULL;
		} else {
			wf_list_remove(&error->link);
			atomic_fetch_sub_explicit(
				&cq->error_count, 1, memory_order_relaxed);
		}
	}
	wf_unlock(&cq->lock);
	return error;
}

/* Keep @error until the next error is read: the application may read err_data through
 * the pointer in its entry. Gives up the error kept before. */
static void err_error_keep(struct wf_cq *cq, struct wf_cq_error *error)
{
	wf_lock(&cq->lock);
	if (cq->error_read)
		err_error_give(cq, cq->error_read);
	cq->error_read = error;
	wf_unlock(&cq->lock);
}

/* Is @data the err_data that an earlier call returned? Then the application reads into
 * the same entry again without clearing it, and gives no buffer of its own. */
static bool err_is_kept(struct wf_cq *cq, const void *data)
{
	const struct wf_cq_error *kept;
	bool same;

	wf_lock(&cq->lock);
	kept = cq->error_read;
	same = kept && data == kept->data;
	wf_unlock(&cq->lock);
	return same;
}

ssize_t wf_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct wf_cq *cq = wf_cq_of(fid);
	size_t size = err_entry_size(cq->domain->api_version);
	bool sized = size > offsetof(struct fi_cq_err_entry, err_data_size);
	struct wf_cq_error *error;
	void *user_data = NULL;
	size_t user_size = 0;

	(void)flags; /* fi_cq(3) defines none */
	if (!atomic_load_explicit(&cq->error_count, memory_order_relaxed))
		return -FI_EAGAIN;
	if (sized && buf->err_data_size && buf->err_data &&
		!err_is_kept(cq, buf->err_data)) {
		user_data = buf->err_data;
		user_size = buf->err_data_size;
	}
	error = err_pop_error(cq);
	if (!error)
		return -FI_EAGAIN;

	if (user_data) {
		user_size = WF_MIN(user_size, error->entry.err_data_size);
		memcpy(user_data, error->data, user_size);
		error->entry.err_data = user_data;
		error->entry.err_data_size = user_size;
	}
	memcpy(buf, &error->entry, size);
	err_error_keep(cq, error);
	return 1;
}

const char *wf_cq_strerror(
	struct fid_cq *fid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno);

	(void)fid;
	(void)err_data; /* err_data is a raw address: it adds nothing to the text */
	if (buf && len)
		(void)snprintf(buf, len, "%s", text);
	return buf && len ? buf : text;
}

void wf_cq_errors_done(struct wf_cq *cq)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&cq->errors)))
		free(wf_list_entry(link, struct wf_cq_error, link));
	free(cq->error_read);
	free(cq->error_spare);
	cq->error_read = cq->error_spare = NULL;
}
