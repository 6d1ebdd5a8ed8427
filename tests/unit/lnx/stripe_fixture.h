/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_LNX_STRIPE_FIXTURE_H
#define TESTS_UNIT_LNX_STRIPE_FIXTURE_H

/*
 * Striping of one endpoint without the members below: the test is the private endpoints
 * and their queues, the receive context, the completion queue, the memory registration,
 * and the clock. Each operation that striping starts is kept in "posted" until the test
 * ends it, in any order and with any result.
 */
#include "unit.h"

#include <stdbool.h>
#include <time.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/life/flush.h"
#include "providers/lnx/addr.h"
#include "providers/lnx/param.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/compiler.h"

enum { RAILS = 3, POSTED_MAX = 512, ENDED_MAX = 64 };

struct fi_provider lnx_fi = { .name = "lnx" };
struct lnx_params lnx_params;

/* Sanitizers have functions with the names of these, too. */
#define VISIBLE __attribute__((visibility("default")))

/* ---- the clock ---- */

static uint64_t now_ns;

VISIBLE int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	ret->tv_sec = (time_t)(now_ns / 1000000000u);
	ret->tv_nsec = (long)(now_ns % 1000000000u);
	return 0;
}

/* ---- memory ---- */

/* Allocations fail after so many; see open_stripe. */
static unsigned int allocations_left;

static bool may_allocate(void)
{
	return allocations_left && allocations_left--;
}

VISIBLE void *__wrap_malloc(size_t len);
VISIBLE void *__wrap_calloc(size_t count, size_t len);
VISIBLE void *__wrap_realloc(void *at, size_t len);
void *__wrap_wf_pool_get(struct wf_pool *pool);
void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t len);
void *__real_realloc(void *at, size_t len);
void *__real_wf_pool_get(struct wf_pool *pool);

void *__wrap_malloc(size_t len)
{
	return may_allocate() ? __real_malloc(len) : NULL;
}

void *__wrap_calloc(size_t count, size_t len)
{
	return may_allocate() ? __real_calloc(count, len) : NULL;
}

void *__wrap_realloc(void *at, size_t len)
{
	return may_allocate() ? __real_realloc(at, len) : NULL;
}

void *__wrap_wf_pool_get(struct wf_pool *pool)
{
	return may_allocate() ? __real_wf_pool_get(pool) : NULL;
}

/* ---- the members ---- */

/* An operation that a private endpoint has taken. */
struct posted {
	unsigned int rail;
	bool is_read;
	struct lnx_call *call;
	fi_addr_t addr;
	uint64_t flags;
	struct lnx_stripe_msg msg; /* of a control message */
	uint64_t at, key;          /* of a read */
	size_t len;
	struct iovec iov[8];
	size_t iov_count;
};

static struct {
	struct fid_fabric fabric;
	struct fid_ep ep[RAILS];
	struct fid_cq cq[RAILS];
	struct fid_av av[RAILS];
	struct posted posted[POSTED_MAX];
	unsigned int posted_count;
	ssize_t refuses[RAILS];       /* what operations are answered; 0: taken */
	unsigned int refused[RAILS];  /* number of operations that were not taken */
	bool is_unknown[RAILS];       /* addresses are not inserted */
	unsigned int inserted[RAILS]; /* addresses */
	uint8_t last_inserted[32];    /* with what is behind it */
	unsigned int polls[RAILS];    /* calls that read a queue */
	/* What queues have: entries, then perhaps one error. */
	struct fi_cq_msg_entry entry[RAILS][POSTED_MAX];
	unsigned int entries[RAILS], taken[RAILS];
	struct fi_cq_err_entry error[RAILS];
	bool has_error[RAILS];
	int trywait[RAILS];
	unsigned int trywaits[RAILS];
	/* Registrations: what the next ones are answered, and those that are open. */
	int register_ret[RAILS];
	unsigned int register_keyless; /* so many fail first, for want of a key */
	unsigned int regions[RAILS];
	struct fi_mr_attr attr;
	struct iovec attr_iov[8];
} below;

static unsigned int rail_of(const void *object, const void *first, size_t size)
{
	return (unsigned int)(((const char *)object - (const char *)first) /
			      (ptrdiff_t)size);
}

static struct posted *take(struct fid_ep *ep, bool is_read)
{
	unsigned int rail = rail_of(ep, below.ep, sizeof(*ep));
	struct posted *posted;

	if (below.refuses[rail]) {
		below.refused[rail]++;
		return NULL;
	}
	assert_true(below.posted_count < POSTED_MAX);
	posted = &below.posted[below.posted_count++];
	*posted = (struct posted){ .rail = rail, .is_read = is_read };
	return posted;
}

static ssize_t answer_of(struct fid_ep *ep)
{
	return below.refuses[rail_of(ep, below.ep, sizeof(*ep))];
}

static ssize_t below_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct posted *posted = take(ep, false);

	if (!posted)
		return answer_of(ep);
	assert_int_equal(msg->iov_count, 1);
	assert_true(lnx_stripe_read(
		msg->msg_iov[0].iov_base, msg->msg_iov[0].iov_len, &posted->msg));
	posted->call = msg->context;
	posted->addr = msg->addr;
	posted->flags = flags;
	assert_int_equal(posted->call->rail, posted->rail);
	return 0;
}

static ssize_t below_readmsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct posted *posted = take(ep, true);

	if (!posted)
		return answer_of(ep);
	assert_int_equal(msg->rma_iov_count, 1);
	assert_true(msg->iov_count >= 1 && msg->iov_count <= 8);
	posted->call = msg->context;
	posted->addr = msg->addr;
	posted->flags = flags;
	posted->at = msg->rma_iov[0].addr;
	posted->key = msg->rma_iov[0].key;
	posted->len = msg->rma_iov[0].len;
	posted->iov_count = msg->iov_count;
	memcpy(posted->iov, msg->msg_iov, msg->iov_count * sizeof(*msg->msg_iov));
	assert_int_equal(posted->call->rail, posted->rail);
	return 0;
}

static ssize_t below_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	unsigned int rail = rail_of(cq, below.cq, sizeof(*cq));
	size_t left = below.entries[rail] - below.taken[rail];

	below.polls[rail]++;
	if (!left)
		return below.has_error[rail] ? -FI_EAVAIL : -FI_EAGAIN;
	count = WF_MIN(count, left);
	memcpy(buf, &below.entry[rail][below.taken[rail]],
		count * sizeof(below.entry[0][0]));
	below.taken[rail] += (unsigned int)count;
	return (ssize_t)count;
}

static ssize_t below_cq_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
	unsigned int rail = rail_of(cq, below.cq, sizeof(*cq));

	(void)flags;
	if (!below.has_error[rail])
		return -FI_EAGAIN;
	below.has_error[rail] = false;
	*buf = below.error[rail];
	return 1;
}

static int below_av_insert(struct fid_av *av, const void *addr, size_t count,
	fi_addr_t *ret_addr, uint64_t flags, void *context)
{
	unsigned int rail = rail_of(av, below.av, sizeof(*av));

	(void)context;
	assert_int_equal(flags, 0);
	assert_int_equal(count, 1);
	memcpy(below.last_inserted, addr, sizeof(below.last_inserted));
	if (below.is_unknown[rail])
		return 0;
	below.inserted[rail]++;
	*ret_addr = 100 * (rail + 1);
	return 1;
}

static int below_av_remove(
	struct fid_av *av, fi_addr_t *addr, size_t count, uint64_t flags)
{
	unsigned int rail = rail_of(av, below.av, sizeof(*av));

	assert_int_equal(flags, 0);
	assert_int_equal(count, 1);
	assert_int_equal(*addr, 100 * (rail + 1));
	below.inserted[rail]--;
	return 0;
}

static int below_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	unsigned int rail = rail_of(fids[0], below.cq, sizeof(below.cq[0]));

	assert_ptr_equal(fabric, &below.fabric);
	assert_int_equal(count, 1);
	below.trywaits[rail]++;
	return below.trywait[rail];
}

/* ---- memory registration ---- */

static struct fid_mr region_fid;

int __wrap_wf_lower_region_open(struct wf_lower_region *ret,
	const struct wf_lower_domain *domain, const struct wf_lower_region *base,
	const struct fi_mr_attr *attr, uint64_t flags);
void __wrap_wf_lower_region_close(
	struct wf_lower_region *region, const struct wf_lower_domain *domain);

static struct lnx_domain domain;

int __wrap_wf_lower_region_open(struct wf_lower_region *ret,
	const struct wf_lower_domain *at, const struct wf_lower_region *base,
	const struct fi_mr_attr *attr, uint64_t flags)
{
	/* Member 0 is not a rail. */
	unsigned int rail = rail_of(at, &domain.member[1], sizeof(*at));

	assert_null(base);
	assert_int_equal(flags, 0);
	if (below.register_ret[rail])
		return below.register_ret[rail];
	if (rail && below.register_keyless) {
		below.register_keyless--;
		return -FI_ENOKEY;
	}
	below.attr = *attr;
	memcpy(below.attr_iov, attr->mr_iov, attr->iov_count * sizeof(*attr->mr_iov));
	assert_null(ret->fid);
	ret->fid = &region_fid;
	below.regions[rail]++;
	return 0;
}

void __wrap_wf_lower_region_close(
	struct wf_lower_region *region, const struct wf_lower_domain *at)
{
	unsigned int rail = rail_of(at, &domain.member[1], sizeof(*at));

	if (!region->fid)
		return;
	region->fid = NULL;
	below.regions[rail]--;
}

static inline unsigned int regions_open(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < RAILS; i++)
		count += below.regions[i];
	return count;
}

/* ---- the application's queue and the receive context ---- */

/* A transmission or a receive that ended. */
struct ended {
	void *context; /* of a transmission */
	struct fi_peer_rx_entry *entry;
	uint64_t flags, data;
	uint64_t op_flags;
	size_t len, olen;
	fi_addr_t src;
	int err;
};

static struct ended ended[ENDED_MAX];
static unsigned int ended_count;
static unsigned int freed_entries;

static struct ended *new_ended(void)
{
	assert_true(ended_count < ENDED_MAX);
	return memset(&ended[ended_count++], 0, sizeof(*ended));
}

void __wrap_wf_ep_tx_done(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len);
void __wrap_wf_ep_tx_err(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err);
void __wrap_wf_srx_end(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src);
void __wrap_wf_srx_fail(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, size_t olen, uint64_t data, fi_addr_t src, int err);

void __wrap_wf_ep_tx_done(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len)
{
	struct ended *end = new_ended();

	(void)ep;
	assert_int_equal(cntr, WF_CNTR_SEND);
	end->context = context;
	end->op_flags = op_flags;
	end->flags = comp_flags;
	end->len = len;
}

void __wrap_wf_ep_tx_err(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err)
{
	__wrap_wf_ep_tx_done(ep, cntr, context, op_flags, comp_flags, len);
	ended[ended_count - 1].err = err;
}

void __wrap_wf_srx_end(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src)
{
	__wrap_wf_srx_fail(ep, entry, flags, len, 0, data, src, 0);
}

void __wrap_wf_srx_fail(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, size_t olen, uint64_t data, fi_addr_t src, int err)
{
	struct ended *end = new_ended();

	(void)ep;
	end->entry = entry;
	end->flags = flags;
	end->len = len;
	end->olen = olen;
	end->data = data;
	end->src = src;
	end->err = err;
}

static void free_entry(struct fi_peer_rx_entry *entry)
{
	(void)entry;
	freed_entries++;
}

static struct fi_ops_srx_owner srx_ops = {
	.size = sizeof(srx_ops),
	.free_entry = free_entry,
};

/* A posted receive into @count buffers. */
static inline struct fi_peer_rx_entry receive_into(struct iovec *iov, size_t count)
{
	static struct fid_peer_srx srx = { .owner_ops = &srx_ops };

	return (struct fi_peer_rx_entry){
		.srx = &srx, .iov = iov, .count = count, .flags = FI_TAGGED
	};
}

/* ---- the rest of lnx ---- */

/* Heads that were started, and how the next ones are answered. */
static struct {
	struct wf_op op;
	struct lnx_outbound *out;
	unsigned int count;
	ssize_t ret;
	bool ends;    /* it has left before the call returns ... */
	int ends_err; /* ... with this result */
} heads;

ssize_t lnx_start_head(struct lnx_ep *ep, struct wf_op *op, struct lnx_outbound *out)
{
	heads.op = *op;
	heads.out = out;
	heads.count++;
	if (!heads.ret && heads.ends)
		lnx_stripe_head_done(ep, out, heads.ends_err);
	return heads.ret;
}

/* Rails that a name reaches: one link for each. */
unsigned int lnx_stripe_pair(const struct lnx_domain *at, const struct lnx_name *name,
	int ret_pair[LNX_MAX_LINKS])
{
	(void)at;
	for (unsigned int i = 0; i < RAILS; i++)
		ret_pair[i] = i < name->count ? (int)i : -1;
	return RAILS;
}

/* The address of any peer in the AV. */
const void *__wrap_wf_av_addr_slow(struct wf_av *av, uint64_t index);

const void *__wrap_wf_av_addr_slow(struct wf_av *av, uint64_t index)
{
	static const uint8_t bytes[16];

	(void)av;
	(void)index;
	return bytes;
}

static bool has_no_address;

bool lnx_addr_read(const struct lnx_link *link, uint32_t format, const void *addr,
	size_t len, struct lnx_addr *ret)
{
	static const uint8_t bytes[16];

	(void)link;
	(void)format;
	(void)addr;
	(void)len;
	ret->name.count = RAILS;
	for (unsigned int i = 0; i < RAILS; i++)
		ret->name.link[i] =
			(struct lnx_name_link){ .addr = bytes, .len = sizeof(bytes) };
	return !has_no_address;
}

/* ---- the endpoint ---- */

static struct fi_ops_msg msg_ops = { .size = sizeof(msg_ops),
	.sendmsg = below_sendmsg };
static struct fi_ops_rma rma_ops = { .size = sizeof(rma_ops),
	.readmsg = below_readmsg };
static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops), .read = below_cq_read, .readerr = below_cq_readerr
};
static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops), .insert = below_av_insert, .remove = below_av_remove
};
static struct fi_ops_fabric fabric_ops = { .size = sizeof(fabric_ops),
	.trywait = below_trywait };

static struct lnx_link link_of_four = { .count = RAILS + 1,
	.rails = RAILS,
	.member = { { .name = "shm:shm", .memory = true }, { .name = "tcp:a" },
		{ .name = "tcp:b" }, { .name = "tcp:c" } } };
static struct wf_domain wf_domain = { .name = (char *)"links" };
static const struct wf_av_format av_format = { .name = "none", .addr_len = 16 };
static struct wf_av wf_av;
static struct lnx_av av;
static struct lnx_ep *ep;
static struct lnx_stripe *s;
static const uint8_t my_name[4] = { 'n', 'a', 'm', 'e' };

static void open_rails(void)
{
	below.fabric.ops = &fabric_ops;
	for (unsigned int i = 0; i < RAILS; i++) {
		struct lnx_stripe_rail *rail = &s->rail[i];

		below.ep[i].msg = &msg_ops;
		below.ep[i].rma = &rma_ops;
		below.cq[i].ops = &cq_ops;
		below.av[i].ops = &av_ops;
		domain.member[i + 1].fabric = &below.fabric;
		rail->member = i + 1;
		rail->below.domain = &domain.member[i + 1];
		rail->below.fid = &below.ep[i];
		rail->av = &below.av[i];
		rail->cq.fid = &below.cq[i];
		rail->tx_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
	}
}

static inline int open_stripe(void **state)
{
	(void)state;
	memset(&below, 0, sizeof(below));
	memset(&heads, 0, sizeof(heads));
	memset(&domain, 0, sizeof(domain));
	ended_count = freed_entries = 0;
	has_no_address = false;
	now_ns = UINT64_C(1000000000000);
	allocations_left = UINT32_MAX;
	lnx_params.stripe_size = 1000;
	domain.wf = &wf_domain;
	domain.link = &link_of_four;
	domain.count = RAILS + 1;
	domain.stripe_rails = 0xe;
	ep = calloc(1, sizeof(*ep));
	s = calloc(1, sizeof(*s));
	assert_true(ep && s);
	s->rail = calloc(LNX_MAX_LINKS, sizeof(*s->rail));
	assert_non_null(s->rail);
	ep->domain = &domain;
	ep->count = RAILS + 1;
	ep->stripe = s;
	wf_av.table.format = &av_format;
	wf_av.index_mask = UINT64_MAX >> 8;
	av.wf = &wf_av;
	ep->av = &av;
	ep->wf.av = &wf_av;
	s->ep = ep;
	s->count = RAILS;
	s->iov_limit = 4;
	s->timer_fd = -1;
	s->heads.ops = &lnx_stripe_head_ops;
	wf_lock_init(&s->lock, WF_LOCK_MUTEX);
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++) {
		wf_list_init(&s->receivers[i]);
		wf_list_init(&s->out[i]);
		wf_list_init(&s->in[i]);
	}
	wf_list_init(&s->active);
	wf_list_init(&s->waiting);
	wf_pool_init(&s->chunks, sizeof(struct lnx_chunk));
	wf_pool_init(&s->controls, sizeof(struct lnx_control));
	memcpy(s->name, my_name, sizeof(my_name));
	s->name_len = sizeof(my_name);
	open_rails();
	return 0;
}

/* The lock is free after each call of striping, and what was under way is given
 * back. */
static inline int close_stripe(void **state)
{
	(void)state;
	assert_true(wf_trylock(&s->lock));
	wf_unlock(&s->lock);
	lnx_stripe_free_in(s);
	lnx_stripe_free_out(s);
	assert_int_equal(regions_open(), 0);
	assert_int_equal(s->injected, 0);
	wf_pool_done(&s->chunks);
	wf_pool_done(&s->controls);
	wf_lock_done(&s->lock);
	free(s->rail);
	free(s);
	free(ep);
	return 0;
}

/* ---- what the test does ---- */

static inline void reach_by_all(struct lnx_contact *contact)
{
	contact->rails = (1u << RAILS) - 1;
	for (unsigned int i = 0; i < RAILS; i++)
		contact->addr[i] = 100 * (i + 1);
}

/* A peer that striped messages can be sent to. */
static inline struct lnx_receiver *add_receiver(void)
{
	struct lnx_receiver *receiver = calloc(1, sizeof(*receiver));

	assert_non_null(receiver);
	assert_true(lnx_stripe_grow(&s->receiver, s->receiver_count));
	reach_by_all(&receiver->contact);
	receiver->nonce = UINT64_C(0x1234) << 32 | s->receiver_count;
	receiver->index = s->receiver_count;
	receiver->hash = 77;
	receiver->state = LNX_RECEIVER_READY;
	s->receiver[s->receiver_count++] = receiver;
	wf_list_push(&s->receivers[receiver->index], &receiver->link);
	return receiver;
}

/* A peer that was given a token and has not shown it. */
static inline struct lnx_sender *add_sender(void)
{
	struct lnx_sender *sender = calloc(1, sizeof(*sender));

	assert_non_null(sender);
	assert_true(lnx_stripe_grow(&s->sender, s->sender_count));
	reach_by_all(&sender->contact);
	s->sender[s->sender_count++] = sender;
	s->greeted++;
	sender->nonce = UINT64_C(0x4321) << 32 | s->sender_count;
	sender->token = (uint64_t)s->sender_count << LNX_STRIPE_INDEX_SHIFT |
			UINT64_C(0xabcdef) << LNX_STRIPE_OP_BITS;
	return sender;
}

static inline uint32_t busy(void)
{
	return atomic_load(&s->busy);
}

/* Take the operation at @at out of those that were posted. */
static inline struct posted pop(unsigned int at)
{
	struct posted posted;

	assert_true(at < below.posted_count);
	posted = below.posted[at];
	below.posted_count--;
	memmove(&below.posted[at], &below.posted[at + 1],
		(below.posted_count - at) * sizeof(posted));
	return posted;
}

/* The operation ends. */
static inline void finish(struct posted posted, int err)
{
	posted.call->done(s, posted.call, err, posted.len);
}

/* The oldest control message, which is of @kind and is delivered. */
static inline struct lnx_stripe_msg heard(uint8_t kind)
{
	for (unsigned int i = 0; i < below.posted_count; i++) {
		struct posted posted = below.posted[i];

		if (posted.is_read)
			continue;
		assert_int_equal(posted.msg.kind, kind);
		(void)pop(i);
		assert_int_equal(posted.flags, FI_COMPLETION | FI_DELIVERY_COMPLETE);
		assert_int_equal(posted.addr, 100 * (posted.rail + 1));
		finish(posted, 0);
		return posted.msg;
	}
	fail_msg("no control message");
	return (struct lnx_stripe_msg){ .kind = 0 };
}

static inline unsigned int posted_controls(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < below.posted_count; i++)
		count += !below.posted[i].is_read;
	return count;
}

static inline unsigned int posted_reads(void)
{
	return below.posted_count - posted_controls();
}

#endif
