/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_AV_FIXTURE_H
#define TESTS_UNIT_OBJECTS_AV_FIXTURE_H

/*
 * A domain without a provider, and an event queue that records events: all that an
 * address vector needs. The library's event queue is not linked, because its two
 * functions are defined in this file.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/av/av.h"

struct recorded_event {
	bool is_error;
	uint32_t event;
	struct fi_eq_err_entry err;
	struct fi_eq_entry entry;
};

enum { MAX_RECORDED = 512 };

static struct recorded_event recorded[MAX_RECORDED];
static size_t recorded_count;
static struct wf_eq *recorded_eq;
static bool recorder_is_full; /* It takes no event. */

ssize_t wf_eq_write(struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	struct recorded_event *r = &recorded[recorded_count++];

	assert_true(recorded_count <= MAX_RECORDED);
	assert_int_equal(len, sizeof(r->entry));
	if (recorder_is_full)
		return -FI_ENOMEM;
	recorded_eq = eq;
	r->is_error = false;
	r->event = event;
	memcpy(&r->entry, buf, len);
	return (ssize_t)len;
}

int wf_eq_write_err(struct wf_eq *eq, const struct fi_eq_err_entry *entry)
{
	struct recorded_event *r = &recorded[recorded_count++];

	assert_true(recorded_count <= MAX_RECORDED);
	if (recorder_is_full)
		return -FI_ENOMEM;
	recorded_eq = eq;
	r->is_error = true;
	r->err = *entry;
	return 0;
}

struct av_fixture {
	struct fi_provider fi;
	struct wf_prov prov;
	struct wf_fabric fabric;
	struct fi_domain_attr domain_attr;
	struct fi_info info;
	struct fi_ops_domain domain_ops;
	struct wf_domain domain;
	struct wf_eq eq;
};

static int av_fixture_setup(void **state)
{
	struct av_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fi.name = "test";
	f->prov.fi = &f->fi;
	f->prov.av_sets = true;
	f->fabric.prov = &f->prov;
	f->info.addr_format = FI_SOCKADDR_IN;
	f->info.domain_attr = &f->domain_attr;
	f->domain_attr.caps = FI_SHARED_AV | FI_AV_USER_ID;
	f->domain_ops.size = sizeof(f->domain_ops);
	f->domain.fid.ops = &f->domain_ops;
	f->domain.fabric = &f->fabric;
	f->domain.prov = &f->prov;
	f->domain.info = &f->info;
	pthread_mutex_init(&f->domain.control, NULL);
	f->eq.fid.fid.fclass = FI_CLASS_EQ;
	f->eq.fabric = &f->fabric;
	recorded_count = 0;
	recorder_is_full = false;
	*state = f;
	return 0;
}

static int av_fixture_teardown(void **state)
{
	struct av_fixture *f = *state;

	/* All objects of the domain were closed. */
	assert_int_equal(atomic_load(&f->domain.refs), 0);
	pthread_mutex_destroy(&f->domain.control);
	free(f);
	return 0;
}

#define AV_TEST(name)                                                                  \
	cmocka_unit_test_setup_teardown(name, av_fixture_setup, av_fixture_teardown)

static inline struct fid_av *av_fixture_open(
	struct av_fixture *f, struct fi_av_attr attr)
{
	struct fid_av *av = NULL;

	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, NULL), 0);
	assert_non_null(av);
	return av;
}

/* The source that the completion of a message from @addr reports. */
static inline fi_addr_t source_of(struct wf_av *av, const void *addr, size_t addrlen)
{
	return wf_av_report(av, wf_av_index(av, addr, addrlen));
}

static inline struct sockaddr_in in_addr_of(uint32_t host, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(host),
		.sin_port = htons(port),
	};
}

static inline struct sockaddr_in6 in6_addr_of(const char *host, uint16_t port)
{
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};

	assert_int_equal(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
	return in6;
}

/* Open an AV with @attr and close it: what opening it returned. */
static inline int av_try_open(struct av_fixture *f, struct fi_av_attr attr)
{
	struct fid_av *av = NULL;
	int ret = wf_av_open(&f->domain.fid, &attr, &av, NULL);

	if (!ret)
		assert_int_equal(fi_close(&av->fid), 0);
	else
		assert_null(av);
	return ret;
}

#endif
