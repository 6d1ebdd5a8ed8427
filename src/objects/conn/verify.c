/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/verify.h"

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

enum { NAME_LEN = 256 }; /* of a peer in log lines */

static void conn_verify_use(
	struct wf_remotes *remotes, struct wf_remote *remote, bool answered)
{
	remote->contested = false;
	remotes->ops->verify->use(remotes, remote, answered);
}

/* Connect to the address, unless an attempt is under way or due later. */
static void verify_ask(struct wf_remotes *remotes, struct wf_remote *remote)
{
	wf_remote_wanted(remotes, remote);
	wf_remote_schedule(remotes, remote);
}

void wf_verify_begin(struct wf_remotes *remotes, struct wf_remote *remote)
{
	remote->contested = false;
	if (wf_verify_firewalled(remotes, remote))
		return;
	/* The peer's host is reachable now, even if earlier attempts failed. */
	remote->retry_ns = 0;
	verify_ask(remotes, remote);
}

void wf_verify_contest(struct wf_remotes *remotes, struct wf_remote *remote)
{
	remote->contested = true;
	verify_ask(remotes, remote);
}

static void conn_verify_refuse(struct wf_remotes *remotes, struct wf_remote *remote)
{
	const struct wf_remote_ops *ops = remotes->ops;
	char text[NAME_LEN];

	FI_WARN_SPARSE(ops->prov, FI_LOG_EP_CTRL,
		"connection closed: its other end said that it is %s, and the listener "
		"there knows nothing of it\n",
		ops->name(remote, text, sizeof(text)));
	remote->contested = false;
	ops->verify->refuse(remotes, remote);
}

bool wf_verify_answered(struct wf_remotes *remotes, struct wf_remote *remote,
	enum wf_verify_answer answer)
{
	bool proven = answer == WF_VERIFY_ITS_OWN ||
		      (answer == WF_VERIFY_SOME && !remote->contested);

	if (!wf_verify_pending(remotes, remote))
		return false;
	if (proven)
		conn_verify_use(remotes, remote, true);
	else if (answer == WF_VERIFY_ACCEPTED || answer == WF_VERIFY_NOT_ITS_OWN)
		conn_verify_refuse(remotes, remote);
	return proven;
}

bool wf_verify_unreachable(
	struct wf_remotes *remotes, struct wf_remote *remote, int err)
{
	if (!wf_verify_pending(remotes, remote) ||
		(err != FI_ECONNREFUSED && err != FI_EHOSTUNREACH &&
			err != FI_ENETUNREACH && err != FI_ETIMEDOUT))
		return false;
	conn_verify_use(remotes, remote, false);
	return true;
}

bool wf_verify_firewalled(struct wf_remotes *remotes, struct wf_remote *remote)
{
	const struct wf_verify_ops *ops = remotes->ops->verify;

	if (!wf_verify_pending(remotes, remote) || !ops->is_firewalled(remotes, remote))
		return false;
	ops->drop_attempt(remotes, remote);
	conn_verify_use(remotes, remote, false);
	return true;
}
