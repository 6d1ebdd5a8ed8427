/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>

#include "objects/fabric.h"
#include "objects/poll/poll.h"
#include "objects/poll/ready.h"
#include "objects/wait/set.h"

static int trywait_refused(const struct fid_fabric *fabric, const char *why)
{
	FI_WARN(wf_fabric_of((struct fid_fabric *)(uintptr_t)fabric)->prov->fi,
		FI_LOG_FABRIC, "trywait refused: %s\n", why);
	return -FI_EINVAL;
}

/* An imported CQ holds no entries, but its owner sleeps on its descriptors. */
static bool trywait_can_wait(struct fid *fid, struct wf_ready *ret_ready)
{
	return wf_ready_of(fid, ret_ready) || fid->fclass == FI_CLASS_CQ;
}

static int trywait_try_one(const struct fid_fabric *fabric, struct fid *fid)
{
	struct wf_ready ready;
	uint64_t ticket;

	if (!fid)
		return trywait_refused(fabric, "no object given");
	if (fid->fclass == FI_CLASS_WAIT) {
		struct wf_wait_set *set =
			wf_container_of(fid, struct wf_wait_set, fid.fid);

		return wf_wait_set_try(set, &ticket) ? 0 : -FI_EAGAIN;
	}
	if (!trywait_can_wait(fid, &ready))
		return trywait_refused(fabric,
			"event and completion queues, counters and wait "
			"sets that hold their events can be waited for");
	if (ready.wait->obj == FI_WAIT_SET)
		return wf_wait_set_try(ready.wait->set, &ticket) ? 0 : -FI_EAGAIN;
	if (ready.wait->obj == FI_WAIT_NONE)
		return trywait_refused(
			fabric, "the object was opened with FI_WAIT_NONE");
	return wf_ready_try(fid, &ready) ? 0 : -FI_EAGAIN;
}

int wf_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int ret = 0, err;

	if (count < 0 || (count && !fids))
		return -FI_EINVAL;
	/* Try all objects, so that each of them makes progress. */
	for (int i = 0; i < count; i++) {
		err = trywait_try_one(fabric, fids[i]);
		if (err && err != -FI_EAGAIN)
			return err;
		if (err)
			ret = err;
	}
	return ret;
}
