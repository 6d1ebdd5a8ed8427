/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_PROVIDER_FIXTURE_H
#define TESTS_UNIT_COLL_PROVIDER_FIXTURE_H

#include "providers/coll/coll.h"
#include "providers/coll/control.h"
#include "providers/coll/group.h"
#include "providers/coll/xfer.h"

#include "members.h"

/* The provider as a whole, with the two members of members.h, whose endpoints and
 * groups of off_coll the test has. */

/* ---- the groups of the members ---- */

static struct coll_ep *eps[MEMBERS];
static struct coll_group *groups[MEMBERS];
static unsigned int opened, joins;

int __wrap_coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);
int __real_coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);

int __wrap_coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context)
{
	int ret = __real_coll_join(wf, addr, flags, ret_mc, context);

	if (!ret)
		groups[joins++ % MEMBERS] =
			wf_container_of(*ret_mc, struct coll_group, mc);
	return ret;
}

static void use_engine(const char *engine)
{
	assert_int_equal(setenv("FI_OFF_COLL_ENGINE", engine, 1), 0);
	coll = coll_prov_ini();
	opened = joins = 0;
}

static void open_joined(const char *engine)
{
	use_engine(engine);
	assert_int_equal(open_all(), 0);
	assert_int_equal(wait_joined(), 0);
}

static void poll_on(void)
{
	for (int i = 0; i < 100; i++)
		poll_members();
}

/* Opens the next endpoint, if it is set. */
static int (*opens_endpoint)(struct wf_domain *at, struct fi_info *with,
	struct fid_ep **ret_ep, uint64_t flags, void *context);

int __wrap_coll_endpoint(struct wf_domain *at, struct fi_info *with,
	struct fid_ep **ret_ep, uint64_t flags, void *context);
int __real_coll_endpoint(struct wf_domain *at, struct fi_info *with,
	struct fid_ep **ret_ep, uint64_t flags, void *context);

int __wrap_coll_endpoint(struct wf_domain *at, struct fi_info *with,
	struct fid_ep **ret_ep, uint64_t flags, void *context)
{
	if (opens_endpoint)
		return opens_endpoint(at, with, ret_ep, flags, context);
	assert_int_equal(__real_coll_endpoint(at, with, ret_ep, flags, context), 0);
	eps[opened++ % MEMBERS] =
		coll_ep_of(wf_container_of(*ret_ep, struct wf_ep, fid));
	return 0;
}

/* Open all, and do not begin to join. */
static inline void open_apart(void)
{
	use_engine("p2p");
	assert_int_equal(shm->fabric(info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(open_objects(&members[i]), 0);
}

#endif
