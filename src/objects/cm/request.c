/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cm/request.h"

#include <pthread.h>

/* Guards @waiting and @count. A leaf: no other lock is taken under it. */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list waiting = { &waiting, &waiting };
static unsigned int count;

static struct wf_cm_request *request_of(const struct wf_list *link)
{
	return wf_list_entry(link, struct wf_cm_request, link);
}

bool wf_cm_request_add(
	struct wf_cm_request *req, const struct wf_pep *pep, wf_cm_reject_fn reject)
{
	bool ok;

	req->handle.fclass = FI_CLASS_CONNREQ;
	req->pep = pep;
	req->reject = reject;
	(void)pthread_mutex_lock(&waiting_lock);
	ok = count < WF_CM_REQUESTS_MAX;
	if (ok) {
		count++;
		wf_list_push(&waiting, &req->link);
	}
	(void)pthread_mutex_unlock(&waiting_lock);
	return ok;
}

static struct wf_cm_request *request_take(
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg)
{
	struct wf_list *link;

	(void)pthread_mutex_lock(&waiting_lock);
	link = wf_list_find(&waiting, is, arg);
	if (link) {
		wf_list_remove(link);
		count--;
	}
	(void)pthread_mutex_unlock(&waiting_lock);
	return link ? request_of(link) : NULL;
}

/* The request to take: its handle, and the transport that it belongs to. */
struct wanted {
	const struct fid *handle;
	wf_cm_reject_fn reject;
};

static bool request_is_wanted(const struct wf_list *link, const void *arg)
{
	const struct wf_cm_request *req = request_of(link);
	const struct wanted *wanted = arg;

	return &req->handle == wanted->handle && req->reject == wanted->reject;
}

static bool request_came_to(const struct wf_list *link, const void *pep)
{
	return request_of(link)->pep == pep;
}

struct wf_cm_request *wf_cm_request_take(
	const struct fid *handle, wf_cm_reject_fn reject)
{
	return request_take(request_is_wanted, &(struct wanted){ handle, reject });
}

struct wf_cm_request *wf_cm_request_take_any(const struct wf_pep *pep)
{
	return request_take(request_came_to, pep);
}
