/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

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

/* What a run is about; fixed before the first case. */
struct cf_target {
	const char *provider;
	enum fi_ep_type type;
	uint32_t addr_format; /* FI_FORMAT_UNSPEC: whatever comes first */
	uint32_t version;     /* of the API that the cases ask for */
	bool apart;           /* the two sides have domains of their own */
	bool greeted; /* pairs have exchanged messages and are idle when a case begins
		       */
	bool local;   /* pass descriptors though FI_MR_LOCAL is not asked for */
	const char *node; /* of this host; NULL: the loopback */
};
extern struct cf_target cf_target;

struct cf_case {
	const char *name; /* the behaviour, in words joined by '_' */
	const char *reqs; /* requirement numbers it shows, separated by spaces */
	uint64_t caps;    /* skipped where the provider lacks one of these */
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

/* A call that returns 0 or a negative fabric errno. */
#define CHECK_OK(call)                                                                 \
	do {                                                                           \
		long long ret_ = (long long)(call);                                    \
		if (ret_ != 0)                                                         \
			cf_fail(__FILE__, __LINE__, "%s returned %lld (%s)", #call,    \
				ret_, fi_strerror((int)-ret_));                        \
	} while (0)

/* A call that fails, whichever the code. */
#define CHECK_FAILS(call)                                                              \
	do {                                                                           \
		long long ret_ = (long long)(call);                                    \
		if (ret_ >= 0)                                                         \
			cf_fail(__FILE__, __LINE__,                                    \
				"%s returned %lld, wanted a failure", #call, ret_);    \
	} while (0)

/* One of two codes that a requirement leaves open. */
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

/* FI_LOCAL_MR, whose name warns: what FI_MR_LOCAL was before 1.5. */
#define CF_LOCAL_MR (1ULL << 55)

#define CF_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- objects ------------------------------------------------------------------- */

/* Everything for two endpoints that talk to each other inside one process. Members
 * that a case does not need stay NULL; cf_close closes what is open, in order. */
struct cf_side {
	struct fid_domain *domain; /* its own; NULL: the environment's */
	struct fid_ep *ep;
	struct fid_cq *tx_cq, *rx_cq; /* the same queue unless split was asked for */
	struct fid_cntr *tx_cntr, *rx_cntr;
	struct fid_av *av;
	fi_addr_t peer; /* the other side, as inserted in @av */
	fi_addr_t self;
};

struct cf_env {
	struct fi_info *hints;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;   /* always there with connected endpoints */
	struct fid_pep *pep; /* what side 1 was accepted from */
	struct fid_ep *srx;  /* that both sides receive from, when asked for */
	struct cf_side side[2];
};

struct cf_options {
	uint64_t caps;     /* added to the hints */
	uint64_t cq_flags; /* e.g. FI_SELECTIVE_COMPLETION, for both directions */
	enum fi_cq_format cq_format; /* UNSPEC: FI_CQ_FORMAT_DATA */
	size_t cq_size;
	enum fi_wait_obj wait_obj;
	bool one_av;                           /* both sides share it */
	bool shared_rx;                        /* one shared receive context */
	bool split_cqs;                        /* a CQ for each direction */
	bool counters;                         /* bound for FI_SEND and FI_RECV */
	bool bind_eq;                          /* an EQ, bound to both endpoints */
	bool not_enabled;                      /* stop before fi_enable, unconnected */
	void (*adjust)(struct fi_info *hints); /* last word on the hints */
	/* More to bind to the endpoint of @side, which is @env's first or second. */
	void (*bind)(struct cf_env *env, struct cf_side *side);
};

/* Hints that select the target; the caller frees. */
struct fi_info *cf_hints(void);

/* Whether there is a pair with these options to be opened. */
bool cf_offers(const struct cf_options *options);
/* Ask for FI_DELIVERY_COMPLETE by default where it is offered, as `adjust` of options.
 * What a transport without it completes has been acknowledged. */
void cf_delivered(struct fi_info *hints);
/* Let mr_mode be 0 where the provider serves programs without any of its bits. */
void cf_fewest_mr_bits(struct fi_info *hints, uint32_t version);
/* Skip a case about mr_mode 0 where the provider needs some of its bits, as devices do.
 */
void cf_need_no_mr_bits(void);
/* Whether the provider has @caps with endpoints of any type. */
bool cf_provider_has(uint64_t caps);

/* fi_getinfo for the target on the loopback, FI_SOURCE, any service; without address
 * format, wherever it is. Negative errno, or 0 with @ret_info to be freed. */
int cf_getinfo(
	uint32_t version, const struct fi_info *hints, struct fi_info **ret_info);
int cf_getinfo_flags(uint32_t version, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* A node of the target's address format that is this host: the one that was named, the
 * loopback, or the number of this process as a name. */
const char *cf_loopback(void);

/* For cases that need an address with no endpoint: first of all, so that no other
 * process on this host gets the port of an endpoint that the case has closed. Where
 * network namespaces are not permitted, another process may, which is rare. */
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
/* Is it a device that matches messages with receives? It has no tags, nothing posted
 * can be cancelled, and of a message that is too long it says just that. */
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

/* An endpoint from @info with what @options ask for, enabled unless they say no. */
void cf_open_side(struct cf_env *env, struct cf_side *side, struct fi_info *info,
	const struct cf_options *options);
/* Side 1, in a domain of its own where that was asked for and nothing is shared. */
void cf_open_other_side(
	struct cf_env *env, struct fi_info *info, const struct cf_options *options);

/* ---- connections (FI_EP_MSG) ---- */

/* A struct fi_eq_cm_entry with room for its data. */
struct cf_cm_event {
	struct {
		fid_t fid;
		struct fi_info *info;
	} entry;
	uint8_t data[1024];
};

/* Skip the case for other types of endpoints. */
void cf_need_connected(void);

/* A listening env->pep on env->eq; @name gets its address. Returns that one's length.
 */
size_t cf_listen(struct cf_env *env, void *name, size_t size);
/* The next event, which must be @wanted. Returns the bytes of connection data. */
size_t cf_eq_wait(struct cf_env *env, uint32_t wanted, struct cf_cm_event *event);
/* The next event, which must be an error. */
void cf_eq_wait_err(struct cf_env *env, struct fi_eq_err_entry *err);
/* No event may come for a while. */
void cf_eq_quiet(struct cf_env *env);
/* Open both sides, connect and wait until both know. */
void cf_connect_pair(struct cf_env *env, const struct cf_options *options);

/* Single objects on an open domain. */
struct fid_ep *cf_new_ep(struct cf_env *env);
struct fid_cq *cf_new_cq(struct cf_env *env, enum fi_wait_obj wait_obj);
struct fid_cntr *cf_new_cntr(struct cf_env *env, enum fi_wait_obj wait_obj);
struct fid_av *cf_new_av(struct cf_env *env);

/* Loopback address with @port in the format of @info, which must be of IP (skips
 * otherwise). Returns its length. */
size_t cf_ip_addr(const struct fi_info *info, void *addr, uint16_t port);
uint16_t cf_ip_port(const void *addr);
/* One of this host's addresses in any format, at most 64 bytes of it: a number with IP
 * is a port, and else a part of the name. No. 0 is one that nobody can be at. */
size_t cf_addr(const struct fi_info *info, void *addr, uint16_t number);
uint16_t cf_addr_number(const void *addr);
/* @count of them in a row, as fi_av_insert takes them; numbers from @number up. */
void *cf_addrs(const struct fi_info *info, uint16_t number, size_t count);
/* One that an endpoint can be given: the port is left to the system. */
size_t cf_free_addr(const struct fi_info *info, void *addr);

/* Memory that the other side may access. */
struct cf_region {
	struct fid_mr *mr;
	uint8_t *bytes;
	bool owned; /* the bytes are freed with it */
	size_t len;
	uint64_t addr, key; /* as the initiator names it */
};
/* Register @bytes (allocated and cleared here when NULL) for side @side of @env. */
void cf_open_region(struct cf_env *env, int side, struct cf_region *region, void *bytes,
	size_t len, uint64_t access);
/* Frees the bytes that cf_open_region allocated. */
void cf_close_region(struct cf_region *region);

/* ---- transfers ----------------------------------------------------------------- */

/* How long an event may take to come. */
#define CF_TIMEOUT_MS limit_ms(5000)

/* fi_cq_read until an entry comes; fails on an error entry or after the timeout. */
void cf_cq_wait(struct fid_cq *cq, void *entry);
/* As cf_cq_wait, for @context. Returns the flags, which every format but CONTEXT has.
 */
uint64_t cf_cq_wait_for(struct fid_cq *cq, const void *context);
/* As cf_cq_wait for an error entry; fails when a success comes. */
void cf_cq_wait_err(struct fid_cq *cq, struct fi_cq_err_entry *entry);
/* fi_cancel of an operation that waits; skips the case where the provider cannot. */
void cf_cancel(struct fid *fid, void *context);
/* The same, whatever it answers. */
ssize_t cf_try_cancel(struct fid *fid, void *context);
/* Nothing may come for a while (reads the CQ @reads times). */
void cf_cq_quiet(struct fid_cq *cq);
/* Drive both sides of the open pair, as manual progress asks of an application. */
void cf_progress(void);
/* Retry @call while it answers -FI_EAGAIN, driving @cq and the open pair. */
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
 * sender is looked at: some transports keep none that has no receive. */
void cf_post_recvs(struct cf_env *env, size_t count);
/* Send @len patterned bytes from side 0 to side 1 and check what arrives. */
void cf_exchange(struct cf_env *env, size_t len);
void cf_fill(void *buf, size_t len, unsigned int seed);
void cf_verify(const void *buf, size_t len, unsigned int seed);

/* Milliseconds of the monotonic clock, for time-outs of waits. */
uint64_t cf_now_ms(void);

#endif
