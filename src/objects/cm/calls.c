/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cm/internal.h"
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/name.h"

/* fi_connect, fi_accept, fi_shutdown and fi_getpeer of endpoints that connect. */

int wf_cm_refuse(const struct wf_prov *prov, const char *call, int err, const char *why)
{
	FI_LOG(prov->fi, FI_LOG_WARN, FI_LOG_EP_CTRL, "%s refused: %s\n", call, why);
	return err;
}

int wf_cm_check_data(const struct wf_prov *prov, const char *call, const void *data,
	size_t len, size_t most)
{
	if (len && !data)
		return wf_cm_refuse(prov, call, -FI_EINVAL, "a length without data");
	if (len <= most)
		return 0;
	FI_LOG(prov->fi, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"%s refused: %zu bytes of data, possible are %zu "
		"(FI_OPT_CM_DATA_SIZE)\n",
		call, len, most);
	return -FI_EINVAL;
}

/* An alias has the table of its endpoint. */
static struct wf_cm *cm_of(const struct fid_ep *fid)
{
	return wf_container_of(fid->cm, struct wf_cm, calls);
}

static int cm_calls_refuse(
	const struct wf_cm *cm, const char *call, int err, const char *why)
{
	return wf_cm_refuse(cm->ep->domain->prov, call, err, why);
}

static int calls_check_data(
	const struct wf_cm *cm, const char *call, const void *data, size_t len)
{
	return wf_cm_check_data(
		cm->ep->domain->prov, call, data, len, cm->ops->data_size);
}

/* Before the exchange: check that an EQ is bound, enable the endpoint, and let readers
 * of the EQ run the exchange. 0 or a negative FI_E code. */
static int calls_get_ready(struct wf_cm *cm, const char *call)
{
	struct wf_eq *eq = wf_ep_eq(cm->ep);
	int ret = 0;

	if (!eq)
		return cm_calls_refuse(cm, call, -FI_ENOEQ, "no event queue is bound");
	if (!cm->ep->enabled)
		ret = fi_enable(&cm->ep->fid);
	if (ret || cm->eq)
		return ret;
	ret = cm->ops->run(cm, eq);
	if (!ret)
		cm->eq = eq;
	return ret;
}

static int calls_read_dest(
	const struct wf_cm *cm, const void *addr, union wf_sockaddr *ret)
{
	const union wf_sockaddr any = wf_sockaddr_any(cm->family);
	const struct fi_info *info = cm->ep->info;
	size_t len = wf_sockaddr_len(&any);
	union wf_sockaddr dest;

	if (!addr) {
		addr = info->dest_addr;
		len = info->dest_addrlen;
	}
	if (!addr || wf_sockaddr_read(addr, len, &dest) ||
		dest.sa.sa_family != cm->family)
		return cm_calls_refuse(cm, "fi_connect", -FI_EINVAL,
			"not an address in the endpoint's format");
	*ret = dest;
	return 0;
}

/* Begin the exchange by @step. A failure before anything was sent is reported as an
 * event, as later failures are. @cm->lock is held. */
static void calls_begin(struct wf_cm *cm,
	int (*step)(struct wf_cm *cm, const void *data, size_t len), const void *data,
	size_t len)
{
	int err;

	cm->state = WF_CM_CONNECTING;
	err = step(cm, data, len);
	if (err)
		wf_cm_failed(cm, -err, -err, NULL, 0);
}

static int cm_connect(
	struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct wf_cm *cm = cm_of(fid);
	union wf_sockaddr dest;
	int ret = calls_check_data(cm, "fi_connect", param, len);

	if (!ret)
		ret = calls_read_dest(cm, addr, &dest);
	if (!ret)
		ret = calls_get_ready(cm, "fi_connect");
	if (ret)
		return ret;
	wf_lock(cm->lock);
	if (cm->state == WF_CM_NEW) {
		cm->active = true;
		cm->peer = dest;
		calls_begin(cm, cm->ops->connect, param, len);
	} else {
		ret = cm_calls_refuse(cm, "fi_connect", -FI_EOPBADSTATE,
			"an endpoint connects once, and not after a request");
	}
	wf_unlock(cm->lock);
	return ret;
}

static int cm_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct wf_cm *cm = cm_of(fid);
	int ret = calls_check_data(cm, "fi_accept", param, len);

	if (!ret)
		ret = calls_get_ready(cm, "fi_accept");
	if (ret)
		return ret;
	wf_lock(cm->lock);
	if (cm->state == WF_CM_ASKED)
		calls_begin(cm, cm->ops->accept, param, len);
	else
		ret = cm_calls_refuse(cm, "fi_accept", -FI_EOPBADSTATE,
			"the endpoint was not made from a connection request, or "
			"accepted it already");
	wf_unlock(cm->lock);
	return ret;
}

static int cm_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct wf_cm *cm = cm_of(fid);

	if (flags)
		return cm_calls_refuse(
			cm, "fi_shutdown", -FI_EINVAL, "flags are reserved");
	wf_ep_flush(cm->ep);
	return cm->ops->shutdown(cm);
}

static int cm_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	struct wf_cm *cm = cm_of(fid);
	int ret = -FI_ENOTCONN;

	if (!len || (*len && !addr))
		return -FI_EINVAL;
	wf_lock(cm->lock);
	if (wf_sockaddr_len(&cm->peer))
		ret = wf_name_give(&cm->peer, wf_sockaddr_len(&cm->peer), addr, len);
	wf_unlock(cm->lock);
	return ret;
}

int wf_cm_getopt(size_t data_size, int name, void *val, size_t *len)
{
	if (name != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (*len < sizeof(size_t)) {
		*len = sizeof(size_t);
		return -FI_ETOOSMALL;
	}
	*len = sizeof(size_t);
	*(size_t *)val = data_size;
	return 0;
}

void wf_cm_init(struct wf_cm *cm, const struct wf_cm_ops *ops, struct wf_ep *ep,
	struct wf_lock *lock, int family)
{
	cm->ops = ops;
	cm->ep = ep;
	cm->lock = lock;
	cm->family = family;
	cm->calls = *ep->fid.cm;
	cm->calls.connect = cm_connect;
	cm->calls.accept = cm_accept;
	cm->calls.shutdown = cm_shutdown;
	cm->calls.getpeer = cm_getpeer;
	ep->fid.cm = &cm->calls;
}
