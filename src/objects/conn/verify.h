/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_VERIFY_H
#define WF_OBJECTS_CONN_VERIFY_H

#include "objects/conn/remote.h"

/*
 * Verification of the identity of a peer that asked for a connection.
 *
 * A request to connect says at which port its sender listens, and any process of the
 * sender's host can say so. So the connection of an accepted request, or the request
 * itself where the transport has not accepted it yet, is *unverified* at first: nothing
 * that comes over it is delivered or answered, and no operation uses it. To verify it
 * the endpoint connects to the address as if there were no connection. The answer of
 * the listener there decides (enum wf_verify_answer). If no socket listens at the
 * address, no process can be meant but the one that asked, and the connection is used;
 * it is also used if the host cannot be connected to (firewalls).
 *
 * A connection that the endpoint made itself needs no verification. A working
 * connection is never replaced because of a request. There is at most one unverified
 * connection for each address: other requests that name the address are rejected
 * meanwhile, and the address is *contested*.
 *
 * The lock is that of remote.h.
 */

/* Functions of the transport; the caller holds the endpoint's lock and the lock of the
 * receive context. */
struct wf_verify_ops {
	/* Has @remote an unverified connection that has not failed? */
	bool (*is_unverified)(const struct wf_remote *remote);
	/* The connection is verified: it is read, and operations use it from now on.
	 * @answered: a listener at the address said so; else none answered, and the
	 * peer may be dead. */
	void (*use)(
		struct wf_remotes *remotes, struct wf_remote *remote, bool answered);
	/* The connection is from another process: close it without reading it. */
	void (*refuse)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* Was the address inserted with FI_FIREWALL_ADDR: it cannot be connected to? */
	bool (*is_firewalled)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* End this endpoint's attempt to connect, if there is one. */
	void (*drop_attempt)(struct wf_remotes *remotes, struct wf_remote *remote);
};

/* What the listener at the address answered to the endpoint's own request. */
enum wf_verify_answer {
	/* It accepted: it knows of no connection, so the unverified one is from another
	 * process, or from the process that listened there before. */
	WF_VERIFY_ACCEPTED,
	/* It rejected, and told that the unverified connection is its own. */
	WF_VERIFY_ITS_OWN,
	/* It rejected, and told that the unverified connection is not its own. */
	WF_VERIFY_NOT_ITS_OWN,
	/* It rejected because it has a connection with this endpoint or asks for one.
	 * That is the unverified one, unless the address is contested. */
	WF_VERIFY_SOME,
	/* It rejected for another reason: it is asked again later. */
	WF_VERIFY_UNSETTLED,
};

/* Has @remote an unverified connection? */
static inline bool wf_verify_pending(
	const struct wf_remotes *remotes, const struct wf_remote *remote)
{
	const struct wf_verify_ops *ops = remotes->ops->verify;

	return ops && ops->is_unverified(remote);
}

/* @remote has got an unverified connection, and no other one: begin to verify it. */
void wf_verify_begin(struct wf_remotes *remotes, struct wf_remote *remote);
/* Another request has named the address of the unverified connection: ask the listener
 * there. */
void wf_verify_contest(struct wf_remotes *remotes, struct wf_remote *remote);
/* The endpoint's own attempt was answered. True: that verified the connection, which is
 * used now; the attempt has not failed. No-op if none is unverified. */
bool wf_verify_answered(struct wf_remotes *remotes, struct wf_remote *remote,
	enum wf_verify_answer answer);
/* Connecting to the address failed with the positive errno @err before a socket of the
 * host accepted. Result as above. */
bool wf_verify_unreachable(
	struct wf_remotes *remotes, struct wf_remote *remote, int err);
/* Is the connection unverified, and its address known as one that cannot be connected
 * to? Then the connection is used now. */
bool wf_verify_firewalled(struct wf_remotes *remotes, struct wf_remote *remote);

#endif
