/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/verbs/cm/cm.h"

/* Requests that may wait in a process: each is memory that a peer can take. */
enum { WAITING_MAX = 4096 };

/* Guards @waiting and @count. A leaf: nothing is called under it. */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list waiting = { &waiting, &waiting };
static unsigned int count;

static bool enlist(struct verbs_connreq *req)
{
	bool ok;

	(void)pthread_mutex_lock(&waiting_lock);
	ok = count < WAITING_MAX;
	if (ok) {
		count++;
		wf_list_push(&waiting, &req->link);
	}
	(void)pthread_mutex_unlock(&waiting_lock);
	return ok;
}

struct verbs_connreq *verbs_connreq_new(struct fid_pep *pep, struct rdma_cm_id *id)
{
	struct verbs_connreq *req = calloc(1, sizeof(*req));

	if (req) {
		req->handle.fclass = FI_CLASS_CONNREQ;
		req->pep = pep;
		req->id = id;
		if (enlist(req))
			return req;
	}
	verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "a connection request is rejected: %s\n",
		req ? "too many wait for an answer" : fi_strerror(FI_ENOMEM));
	free(req);
	return NULL;
}

/* One with that handle, or one of @pep. */
static struct verbs_connreq *take(const struct fid *handle, const struct fid_pep *pep)
{
	struct verbs_connreq *found = NULL;

	(void)pthread_mutex_lock(&waiting_lock);
	wf_list_foreach(link, &waiting)
	{
		struct verbs_connreq *req =
			wf_list_entry(link, struct verbs_connreq, link);

		if (handle ? &req->handle == handle : req->pep == pep) {
			wf_list_remove(&req->link);
			count--;
			found = req;
			break;
		}
	}
	(void)pthread_mutex_unlock(&waiting_lock);
	return found;
}

struct verbs_connreq *verbs_connreq_take(const struct fid *handle)
{
	return handle ? take(handle, NULL) : NULL;
}

struct verbs_connreq *verbs_connreq_take_any(const struct fid_pep *pep)
{
	return take(NULL, pep);
}

void verbs_connreq_reject(struct verbs_connreq *req, const struct verbs_cm_data *data)
{
	/* A peer that has given up cannot be told: no matter. */
	(void)verbs_lib.rdma.reject(
		req->id, data, data ? (uint8_t)verbs_cm_data_size(data) : 0);
	(void)verbs_lib.rdma.destroy_id(req->id);
	free(req);
}
