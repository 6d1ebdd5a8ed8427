/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONFORMANCE_CONFORMANCE_H
#define TESTS_CONFORMANCE_CONFORMANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../time_limits.h"

/*
 * One body per requirement over the public API, run for each provider and endpoint
 * type. Every case runs in a process of its own with a time limit; it returns when
 * it passed, and leaves through a failed CHECK or through SKIP otherwise.
 */

/* Properties of a run; fixed before the first case. */
struct cf_target {
	const char *provider;
	enum fi_ep_type type;
	uint32_t addr_format; /* FI_FORMAT_UNSPEC: that of the first answer */
	uint32_t version;     /* version of the API that the cases ask for */
	bool apart;           /* The two endpoints have domains of their own. */
	/* Pairs have exchanged messages and are idle when a case begins. */
	bool greeted;
	bool one_apart;   /* One endpoint of each pair may not use shared memory. */
	bool local;       /* Pass descriptors although FI_MR_LOCAL is not asked for. */
	const char *node; /* a node of this host; NULL: the loopback address */
};
extern struct cf_target cf_target;

struct cf_case {
	/* The behaviour that the case shows, in words joined by '_'. */
	const char *name;
	/* Requirement numbers that the case shows, separated by spaces. */
	const char *reqs;
	uint64_t caps; /* The case is skipped if the provider lacks one of these. */
	void (*run)(void);
};

/* A file of cases: { #name, "REQ-001", caps, name } rows. */
#define CF_CASE(fn, requirements, capabilities)                                        \
	{                                                                              \
		.name = #fn, .reqs = requirements, .caps = capabilities, .run = fn     \
	}
#define CF_SUITE(suite, ...)                                                           \
	const struct cf_case cf_##suite##_cases[] = { __VA_ARGS__, { .name = NULL } }

_Noreturn void cf_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void cf_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SKIP(...) cf_skip(__VA_ARGS__)

#define CHECK(cond)                                                                    \
	do {                                                                           \
		if (!(cond))                                                           \
			cf_fail(__FILE__, __LINE__, "%s", #cond);                      \
	} while (0)

/* Integers of any width and sign, compared as 64-bit values. */
#define CHECK_EQ(got, wanted)                                                          \
	do {                                                                           \
		long long got_ = (long long)(got), wanted_ = (long long)(wanted);      \
		if (got_ != wanted_)                                                   \
			cf_fail(__FILE__, __LINE__, "%s is %lld, wanted %s = %lld",    \
				#got, got_, #wanted, wanted_);                         \
	} while (0)

/* A call that must return 0; else it is a negative fi_errno. */
#define CHECK_OK(call)                                                                 \
	do {                                                                           \
		long long ret_ = (long long)(call);                                    \
		if (ret_ != 0)                                                         \
			cf_fail(__FILE__, __LINE__, "%s returned %lld (%s)", #call,    \
				ret_, fi_strerror((int)-ret_));                        \
	} while (0)

/* A call that must fail, with any code. */
#define CHECK_FAILS(call)                                                              \
	do {                                                                           \
		long long ret_ = (long long)(call);                                    \
		if (ret_ >= 0)                                                         \
			cf_fail(__FILE__, __LINE__,                                    \
				"%s returned %lld, wanted a failure", #call, ret_);    \
	} while (0)

/* The result is one of two codes that a requirement permits. */
#define CHECK_EITHER(got, one, other)                                                  \
	do {                                                                           \
		long long got_ = (long long)(got);                                     \
		if (got_ != (long long)(one) && got_ != (long long)(other))            \
			cf_fail(__FILE__, __LINE__, "%s is %lld, wanted %s or %s",     \
				#got, got_, #one, #other);                             \
	} while (0)

#define CHECK_STR(got, wanted)                                                         \
	do {                                                                           \
		const char *got_ = (got), *wanted_ = (wanted);                         \
		if (!got_ || strcmp(got_, wanted_))                                    \
			cf_fail(__FILE__, __LINE__, "%s is \"%s\", wanted \"%s\"",     \
				#got, got_ ? got_ : "(null)", wanted_);                \
	} while (0)

/* Skip a case about behaviour that the API version of the run does not have. */
#define NEED_API(major, minor)                                                         \
	do {                                                                           \
		if (cf_target.version < FI_VERSION(major, minor))                      \
			SKIP("needs API %d.%d", major, minor);                         \
	} while (0)

/* FI_LOCAL_MR, whose name gives a deprecation warning: FI_MR_LOCAL before version
 * 1.5. */
#define CF_LOCAL_MR (1ULL << 55)

#define CF_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- objects ------------------------------------------------------------------- */

/* Everything for two endpoints that talk to each other inside one process. Members
 * that a case does not need stay NULL; cf_close closes what is open, in order. */
struct cf_side {
	struct fid_domain *domain; /* its own domain; NULL: that of the environment */
	struct fid_ep *ep;
	/* One queue, unless split queues were asked for. */
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_cntr *tx_cntr, *rx_cntr;
	struct fid_av *av;
	fi_addr_t peer; /* the other endpoint, as inserted in @av */
	fi_addr_t self;
};

struct cf_env {
	struct fi_info *hints;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;   /* always open for connected endpoints */
	struct fid_pep *pep; /* the passive endpoint from which side 1 was accepted */
	struct fid_ep *srx;  /* the receive context of both endpoints, if asked for */
	struct cf_side side[2];
};

struct cf_options {
	uint64_t caps;     /* added to the hints */
	uint64_t cq_flags; /* such as FI_SELECTIVE_COMPLETION, for both directions */
	enum fi_cq_format cq_format; /* UNSPEC: FI_CQ_FORMAT_DATA */
	size_t cq_size;
	enum fi_wait_obj wait_obj;
	bool one_av;      /* Both endpoints share one AV. */
	bool shared_rx;   /* Both endpoints share one receive context. */
	bool split_cqs;   /* Each direction has a CQ of its own. */
	bool counters;    /* Counters are bound for FI_SEND and FI_RECV. */
	bool bind_eq;     /* An EQ is bound to both endpoints. */
	bool not_enabled; /* Stop before fi_enable; the endpoints are not connected. */
	void (*adjust)(struct fi_info *hints); /* called last, to change the hints */
	/* Called to bind more objects to the endpoint of @side, the first or second of
	 * @env. */
	void (*bind)(struct cf_env *env, struct cf_side *side);
};

/* Hints that select the target; the caller frees. */
struct fi_info *cf_hints(void);

/* Can a pair with these options be opened? */
bool cf_offers(const struct cf_options *options);
/* For the `adjust` of options: ask for FI_DELIVERY_COMPLETE by default if it is
 * offered. A transport without it completes what has been acknowledged. */
void cf_delivered(struct fi_info *hints);
/* Set mr_mode to 0 if the provider serves programs that set none of its bits. */
void cf_fewest_mr_bits(struct fi_info *hints, uint32_t version);
/* Skip a case about mr_mode 0 if the provider needs some of its bits, as devices do. */
void cf_need_no_mr_bits(void);
/* Has the provider @caps with endpoints of any type? */
bool cf_provider_has(uint64_t caps);

/* fi_getinfo for the target on the loopback address, with FI_SOURCE and any service, or
 * without an address if the format has none. Returns 0, and @ret_info has to be freed;
 * or a negative errno. */
int cf_getinfo(
	uint32_t version, const struct fi_info *hints, struct fi_info **ret_info);
int cf_getinfo_flags(uint32_t version, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* A node of the target's address format that is on this host: the one that was given,
 * the loopback address, or a name that contains the number of this process. */
const char *cf_loopback(void);

/* For cases that need an address without an endpoint; to be called first, so that no
 * other process on this host gets the port of an endpoint that the case has closed. If
 * network namespaces are not permitted, another process may get it, which is rare. */
void cf_own_ports(void);

/* Where @info has FI_MR_LOCAL: buffers that cases pass to endpoints of @domain without
 * a descriptor are registered. Before the first endpoint is opened. */
void cf_local_domain(const struct fi_info *info, struct fid_domain *domain);

void cf_open_fabric(struct cf_env *env, const struct cf_options *options);
void cf_open_domain(struct cf_env *env, const struct cf_options *options);
/* Both sides with CQs, and with AVs and names exchanged or, with connected endpoints,
 * side 0 connected to side 1. @options may be NULL. */
void cf_open_pair(struct cf_env *env, const struct cf_options *options);
/* The same where queues with options->wait_obj are offered; false, and nothing is open,
 * where they are not. */
bool cf_open_waiting_pair(struct cf_env *env, const struct cf_options *options);
/* Make reliable endpoints that connect on their own do so now: from then on either side
 * can wait alone. Pairs that are opened with a wait object have met. */
void cf_meet(struct cf_env *env);
/* Skip a case that has no meaning for connected endpoints. */
void cf_need_connectionless(void);
/* Is the provider a device that matches messages with receives? It then has no tags,
 * posted operations cannot be cancelled, and the error of a message that is too long
 * has no further details. */
bool cf_device_matches(const struct cf_env *env);
/* Checks that every fi_close succeeds. */
void cf_close(struct cf_env *env);

/* Close one object that a case opened itself. */
#define CF_CLOSE(object)                                                               \
	do {                                                                           \
		if (object)                                                            \
			CHECK_OK(fi_close(&(object)->fid));                            \
		(object) = NULL;                                                       \
	} while (0)

/* Open an endpoint of @info with @options, enabled unless they forbid it. */
void cf_open_side(struct cf_env *env, struct cf_side *side, struct fi_info *info,
	const struct cf_options *options);
/* Open side 1, in a domain of its own if that was asked for and the sides share no
 * object. */
void cf_open_other_side(
	struct cf_env *env, struct fi_info *info, const struct cf_options *options);

/* ---- connections (FI_EP_MSG) ---- */

/* A struct fi_eq_cm_entry with space for its data. */
struct cf_cm_event {
	struct {
		fid_t fid;
		struct fi_info *info;
	} entry;
	uint8_t data[1024];
};

/* Skip the case for other types of endpoints. */
void cf_need_connected(void);

/* Let env->pep listen on env->eq; @name gets its address. Returns the length of the
 * address. */
size_t cf_listen(struct cf_env *env, void *name, size_t size);
/* Wait for the next event, which must be @wanted. Returns the length of the connection
 * data. */
size_t cf_eq_wait(struct cf_env *env, uint32_t wanted, struct cf_cm_event *event);
/* Wait for the next event, which must be an error. */
void cf_eq_wait_err(struct cf_env *env, struct fi_eq_err_entry *err);
/* No event may arrive for a while. */
void cf_eq_quiet(struct cf_env *env);
/* Open both sides, connect them and wait until both have the event. */
void cf_connect_pair(struct cf_env *env, const struct cf_options *options);

/* Open single objects on an open domain. */
struct fid_ep *cf_new_ep(struct cf_env *env);
struct fid_cq *cf_new_cq(struct cf_env *env, enum fi_wait_obj wait_obj);
struct fid_cntr *cf_new_cntr(struct cf_env *env, enum fi_wait_obj wait_obj);
struct fid_av *cf_new_av(struct cf_env *env);

/* Loopback address with @port in the format of @info, which must be an IP format (else
 * the case is skipped). Returns its length. */
size_t cf_ip_addr(const struct fi_info *info, void *addr, uint16_t port);
uint16_t cf_ip_port(const void *addr);
/* Address @number of this host in any format, at most 64 bytes: with IP the number is a
 * port, else a part of the name. No endpoint can have number 0. */
size_t cf_addr(const struct fi_info *info, void *addr, uint16_t number);
uint16_t cf_addr_number(const void *addr);
/* @count such addresses in a row, as for fi_av_insert; their numbers are consecutive
 * from @number up. */
void *cf_addrs(const struct fi_info *info, uint16_t number, size_t count);
/* An address that an endpoint can be opened with: the system chooses the port. */
size_t cf_free_addr(const struct fi_info *info, void *addr);

/* Memory that the other side can access. */
struct cf_region {
	struct fid_mr *mr;
	uint8_t *bytes;
	bool owned; /* The memory is freed with the region. */
	size_t len;
	uint64_t addr, key; /* as the initiator uses it */
};
/* Register @bytes (NULL: allocated and zeroed) for side @side of @env. */
void cf_open_region(struct cf_env *env, int side, struct cf_region *region, void *bytes,
	size_t len, uint64_t access);
/* Frees the bytes that cf_open_region allocated. */
void cf_close_region(struct cf_region *region);

/* ---- transfers ----------------------------------------------------------------- */

/* Time limit for an event, in milliseconds. */
#define CF_TIMEOUT_MS limit_ms(5000)

/* Call fi_cq_read until there is an entry; fails on an error entry or after the time
 * limit. */
void cf_cq_wait(struct fid_cq *cq, void *entry);
/* Like cf_cq_wait, for @context. Returns the flags, which every format but CONTEXT
 * has. */
uint64_t cf_cq_wait_for(struct fid_cq *cq, const void *context);
/* Like cf_cq_wait, for an error entry; fails if a success arrives. */
void cf_cq_wait_err(struct fid_cq *cq, struct fi_cq_err_entry *entry);
/* Call fi_cancel for a waiting operation; skips the case if the provider does not
 * support it. */
void cf_cancel(struct fid *fid, void *context);
/* The same, with any result. */
ssize_t cf_try_cancel(struct fid *fid, void *context);
/* No entry may arrive for a while (reads the CQ @reads times). */
void cf_cq_quiet(struct fid_cq *cq);
/* Call fi_trywait until a thread may sleep on the descriptor of @cq; the queue must be
 * empty. */
void cf_arm(struct cf_env *env, struct fid_cq *cq);
/* Make progress at both sides of the open pair, as applications with manual progress
 * do. */
void cf_progress(void);
/* Repeat @call while it returns -FI_EAGAIN, making progress of @cq and the open
 * pair. */
#define CF_RETRY(cq, call)                                                             \
	do {                                                                           \
		uint64_t deadline_ = cf_now_ms() + CF_TIMEOUT_MS;                      \
		long long again_;                                                      \
		while ((again_ = (long long)(call)) == -FI_EAGAIN &&                   \
			cf_now_ms() < deadline_) {                                     \
			(void)fi_cq_read(cq, NULL, 0);                                 \
			cf_progress();                                                 \
		}                                                                      \
		if (again_)                                                            \
			cf_fail(__FILE__, __LINE__, "%s returned %lld (%s)", #call,    \
				again_, fi_strerror((int)-again_));                    \
	} while (0)

/* Post a receive on side 1, send from side 0. */
void cf_post_recv(struct cf_env *env, void *buf, size_t len, void *context);
void cf_post_send(struct cf_env *env, const void *buf, size_t len, void *context);
/* Post @count receives on side 1, at most 8, for small messages of which only the
 * sender is checked, because some transports do not keep a message without a
 * receive. */
void cf_post_recvs(struct cf_env *env, size_t count);
/* Send @len bytes of a pattern from side 0 to side 1 and check what arrives. */
void cf_exchange(struct cf_env *env, size_t len);
void cf_fill(void *buf, size_t len, unsigned int seed);
void cf_verify(const void *buf, size_t len, unsigned int seed);
/* New pages of zeros, @len bytes; they may stay until the case ends. Large buffers are
 * taken from here and not static: leak checkers read static memory after each case. */
void *cf_map(size_t len);

/* Milliseconds of the monotonic clock, for time-outs of waits. */
uint64_t cf_now_ms(void);

#endif
