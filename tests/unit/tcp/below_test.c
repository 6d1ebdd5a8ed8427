/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint of shm below an endpoint of tcp: two of them in one process, without the
 * connection that would tell them of each other.
 */
#include "conn_fixture.h"

#include <rdma/fi_cm.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/tcp/local/below.h"
#include "providers/tcp/local/domain.h"
#include "sys/clock.h"
#include "../../time_limits.h"

/* The provider below is asked for through the library, which has another copy of it:
 * the copy beside this test is what a program finds. */

struct end {
	struct pair pair;
	struct fid_av *av;
	fi_addr_t other, below; /* the other end in tcp's AV, and below */
};

static void open_end(struct end *end, uint64_t caps)
{
	memset(end, 0, sizeof(*end));
	pair_open_rdm(&end->pair, caps, &end->av);
}

static void close_end(struct end *end)
{
	assert_int_equal(fi_close(&end->pair.ep->fid), 0);
	end->pair.ep = NULL;
	assert_int_equal(fi_close(&end->av->fid), 0);
	pair_close(&end->pair);
}

static int insert(struct end *end, const void *name, size_t len)
{
	int ret;

	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_insert(end->pair.tcp, end->other, name, len, &end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

static void know(struct end *end, struct end *other)
{
	const char *name = tcp_below_name(other->pair.tcp);
	union wf_sockaddr addr;
	size_t len = sizeof(addr);

	assert_non_null(name);
	assert_int_equal(fi_getname(&other->pair.ep->fid, &addr, &len), 0);
	/* So that the index is not 0 as well below. */
	assert_int_equal(fi_av_insert(end->av, "\2\0\0\1\177\0\0\1\0\0\0\0\0\0\0\0", 1,
				 NULL, 0, NULL),
		1);
	assert_int_equal(fi_av_insert(end->av, &addr, 1, &end->other, 0, NULL), 1);
	assert_int_equal(insert(end, name, strlen(name) + 1), 0);
}

static ssize_t start_op(struct end *end, struct wf_op *op)
{
	ssize_t ret;

	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_start(end->pair.tcp, end->below, op);
	wf_unlock(&end->pair.tcp->ep.lock);
	return ret;
}

/* With @flags besides those of every message. */
static ssize_t start_as(
	struct end *end, const void *text, size_t len, void *context, uint64_t flags)
{
	struct iovec iov = { (void *)(uintptr_t)text, len };
	struct wf_op op = { .kind = WF_OP_TSEND,
		.flags = FI_COMPLETION | flags,
		.iov = &iov,
		.iov_count = 1,
		.len = len,
		.addr = end->other,
		.tag = 7,
		.context = context };

	return start_op(end, &op);
}

static ssize_t start(struct end *end, const void *text, size_t len, void *context)
{
	return start_as(end, text, len, context, 0);
}

/* The next completion of @end, while both make progress. */
static struct fi_cq_tagged_entry wait_for(
	struct end *end, struct end *other, fi_addr_t *src)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));
	struct fi_cq_tagged_entry entry;

	while (fi_cq_readfrom(end->pair.cq, &entry, 1, src) != 1) {
		assert_false(wf_expired(deadline));
		/* Progress alone: the other end's completions stay. */
		(void)fi_cq_read(other->pair.cq, NULL, 0);
	}
	return entry;
}

static void open_two(struct end *a, struct end *b)
{
	open_end(a, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	open_end(b, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	assert_int_equal(tcp_below_open(a->pair.tcp), 0);
	assert_int_equal(tcp_below_open(b->pair.tcp), 0);
	know(a, b);
	know(b, a);
}

static void a_message_goes_below(void **state)
{
	struct fi_cq_tagged_entry entry;
	struct end a, b;
	char in[16] = "";
	fi_addr_t src = 0;

	(void)state;
	open_two(&a, &b);
	assert_int_equal(
		fi_trecv(b.pair.ep, in, sizeof(in), NULL, b.other, 7, 0, in), 0);
	assert_int_equal(start(&a, "below", 6, &a), 0);
	entry = wait_for(&b, &a, &src);
	assert_ptr_equal(entry.op_context, in);
	assert_int_equal(entry.len, 6);
	assert_string_equal(in, "below");
	assert_int_equal(src, b.other);
	assert_ptr_equal(wait_for(&a, &b, &src).op_context, &a);
	assert_true(wf_list_empty(&a.pair.tcp->conns));
	close_end(&a);
	close_end(&b);
}

static int reach(struct end *end)
{
	int ret;

	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_reach(end->pair.tcp, end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

/* Messages that the peer left unread. */
struct heir {
	struct wf_unread unread;
	unsigned int count;
	char text[4][16];
	uint64_t tag[4];
};

static void take(struct wf_unread *unread, const struct wf_op *op)
{
	struct heir *heir = wf_container_of(unread, struct heir, unread);

	assert_true(heir->count < WF_ARRAY_SIZE(heir->text));
	assert_int_equal(op->kind, WF_OP_TSEND);
	assert_true(op->flags & FI_INJECT);
	assert_true(op->len <= sizeof(heir->text[0]));
	assert_int_equal(wf_iov_gather(heir->text[heir->count], op->iov, op->iov_count),
		op->len);
	heir->tag[heir->count++] = op->tag;
}

static void part_with(struct end *end, struct heir *heir)
{
	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	tcp_below_remove(
		end->pair.tcp, end->below, FI_ECANCELED, heir ? &heir->unread : NULL);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
}

static void part(struct end *end)
{
	part_with(end, NULL);
}

static bool is_reached(struct end *end)
{
	bool ret;

	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_is_reached(end->pair.tcp, end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

static void reach_each_other(struct end *a, struct end *b)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));

	while (reach(a)) {
		assert_false(wf_expired(deadline));
		(void)fi_cq_read(a->pair.cq, NULL, 0);
		(void)fi_cq_read(b->pair.cq, NULL, 0);
	}
}

/* Once the peer is reached, a message is with it whether it makes progress or not, and
 * its end receives the message before it ends the connection. */
static void a_connection_begins_and_ends(void **state)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));
	struct fi_cq_tagged_entry entry;
	struct end a, b;
	char in[16] = "";
	fi_addr_t src = 0;

	(void)state;
	open_two(&a, &b);
	assert_int_equal(start_as(&a, "below", 6, &a, WF_OP_REACHED), -FI_ENOTCONN);
	reach_each_other(&a, &b);
	assert_int_equal(
		fi_trecv(b.pair.ep, in, sizeof(in), NULL, b.other, 7, 0, in), 0);
	assert_int_equal(start_as(&a, "below", 6, &a, WF_OP_REACHED), 0);
	part(&b);
	entry = wait_for(&b, &a, &src);
	assert_ptr_equal(entry.op_context, in);
	assert_string_equal(in, "below");
	assert_int_equal(src, b.other);
	/* The other end notices; nothing waits for a new connection. */
	while (start_as(&a, "below", 6, &a, WF_OP_REACHED) != -FI_ENOTCONN) {
		assert_false(wf_expired(deadline));
		(void)fi_cq_read(a.pair.cq, NULL, 0);
	}
	part(&a);
	close_end(&a);
	close_end(&b);
}

static void expect_unread(struct heir *heir)
{
	assert_int_equal(heir->count, 2);
	assert_string_equal(heir->text[0], "first");
	assert_string_equal(heir->text[1], "second");
	assert_int_equal(heir->tag[0], 7);
	memset(heir, 0, sizeof(*heir));
	heir->unread.take = take;
}

/* What the peer has not begun to receive when it closes is handed over, whether the
 * endpoint below knows of the end or not; and nothing while the peer may receive it. */
static void what_a_peer_leaves_unread(void **state)
{
	struct heir heir = { .unread = { take } };
	struct end a, b;

	(void)state;
	for (int knows = 0; knows < 2; knows++) {
		open_two(&a, &b);
		reach_each_other(&a, &b);
		assert_true(is_reached(&a));
		assert_int_equal(start_as(&a, "first", 6, &a, WF_OP_REACHED), 0);
		assert_int_equal(start_as(&a, "second", 7, &a, WF_OP_REACHED), 0);
		close_end(&b);
		assert_false(is_reached(&a));
		for (int i = 0; knows && i < 10000; i++)
			(void)fi_cq_read(a.pair.cq, NULL, 0);
		part_with(&a, &heir);
		expect_unread(&heir);
		close_end(&a);
	}
	open_two(&a, &b);
	reach_each_other(&a, &b);
	assert_int_equal(start_as(&a, "first", 6, &a, WF_OP_REACHED), 0);
	part_with(&a, &heir);
	assert_int_equal(heir.count, 0);
	close_end(&a);
	close_end(&b);
}

/* As if so many connections had switched to memory. */
static void set_memory_conns(struct end *end, unsigned int memory_conns)
{
	wf_lock(&end->pair.tcp->ep.lock);
	end->pair.tcp->memory_conns = memory_conns;
	wf_unlock(&end->pair.tcp->ep.lock);
}

static ssize_t send_small(struct end *end, const char *text)
{
	ssize_t ret;

	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_send(
		end->pair.tcp, end->below, WF_OP_TSEND, text, strlen(text), 7);
	wf_unlock(&end->pair.tcp->ep.lock);
	return ret;
}

/* A child has no part in the memory of its parent, at whatever time it is forked. */
static void a_forked_child_uses_nothing(void **state)
{
	struct end a, b;
	pid_t child;
	int status;

	(void)state;
	open_two(&a, &b);
	reach_each_other(&a, &b);
	set_memory_conns(&a, 1);
	while (!wf_progress_is_partial(&a.pair.tcp->ep.progress))
		(void)fi_cq_read(a.pair.cq, NULL, 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		for (int i = 0; i < 1000; i++)
			(void)fi_cq_read(a.pair.cq, NULL, 0);
		_exit(send_small(&a, "small") != -FI_EAGAIN ||
			start_as(&a, "first", 6, &a, WF_OP_REACHED) !=
				-FI_EOPBADSTATE ||
			fi_close(&a.pair.ep->fid));
	}
	set_memory_conns(&a, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(is_reached(&a));
	assert_int_equal(start_as(&a, "first", 6, &a, WF_OP_REACHED), 0);
	part(&a);
	close_end(&a);
	close_end(&b);
}

/* The process that opens the endpoint is in its name, not the one that was forked and
 * asked for the provider below. */
static void a_child_has_its_own_name(void **state)
{
	char pid[32];
	struct end a;
	pid_t child;
	int status;

	(void)state;
	open_end(&a, FI_TAGGED);
	assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	close_end(&a);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)snprintf(pid, sizeof(pid), "//%d:", (int)getpid());
		open_end(&a, FI_TAGGED);
		_exit(tcp_below_open(a.pair.tcp) ||
			!strstr(tcp_below_name(a.pair.tcp), pid));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Messages with the tag of start(), which have arrived when one more has. */
static void save_one(struct end *from, struct end *to)
{
	char in[16];
	fi_addr_t src;

	assert_int_equal(start(from, "saved", 6, from), 0);
	(void)wait_for(from, to, &src);
	assert_int_equal(start(from, "last", 5, from), 0);
	assert_int_equal(
		fi_trecv(to->pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 7, 0, in),
		0);
	(void)wait_for(to, from, &src);
}

static fi_addr_t source_of_saved(struct end *end, struct end *other, fi_addr_t from)
{
	char in[16];
	fi_addr_t src = 0;

	assert_int_equal(
		fi_trecv(end->pair.ep, in, sizeof(in), NULL, from, 7, 0, in), 0);
	assert_ptr_equal(wait_for(end, other, &src).op_context, in);
	return src;
}

/* The source of messages, saved and new, is where the peer is in the AV of tcp. */
static void a_peer_leaves_the_av_and_comes_back(void **state)
{
	union wf_sockaddr addr;
	size_t len = sizeof(addr);
	struct end a, b;

	(void)state;
	open_two(&a, &b);
	save_one(&a, &b);
	save_one(&a, &b);
	save_one(&a, &b);
	assert_int_equal(fi_av_lookup(b.av, b.other, &addr, &len), 0);
	assert_int_equal(fi_av_remove(b.av, &b.other, 1, 0), 0);
	assert_true(source_of_saved(&b, &a, FI_ADDR_UNSPEC) == FI_ADDR_NOTAVAIL);
	/* Its index goes to another address. */
	assert_int_equal(fi_av_insert(b.av, "\2\0\0\2\177\0\0\1\0\0\0\0\0\0\0\0", 1,
				 NULL, 0, NULL),
		1);
	assert_int_equal(fi_av_insert(b.av, &addr, 1, &b.other, 0, NULL), 1);
	assert_int_equal(source_of_saved(&b, &a, b.other), b.other);
	assert_int_equal(source_of_saved(&b, &a, FI_ADDR_UNSPEC), b.other);
	save_one(&a, &b);
	assert_int_equal(source_of_saved(&b, &a, b.other), b.other);
	close_end(&a);
	close_end(&b);
}

/* Messages that were saved keep their source when the connection has ended. */
static void a_connection_ends_before_its_messages(void **state)
{
	struct end a, b;

	(void)state;
	open_two(&a, &b);
	save_one(&a, &b);
	part(&b);
	assert_int_equal(source_of_saved(&b, &a, b.other), b.other);
	part(&a);
	close_end(&a);
	close_end(&b);
}

/* FI_OPT_SHARED_MEMORY_PERMITTED=false. */
static void shared_memory_is_forbidden(void **state)
{
	struct end a;
	struct wf_ep *ep;

	(void)state;
	open_end(&a, FI_TAGGED);
	ep = &a.pair.tcp->ep;
	assert_int_equal(ep->xfer->forbid_shared_memory(ep), 0);
	assert_int_equal(tcp_below_open(a.pair.tcp), -FI_ENOSYS);
	assert_null(tcp_below_name(a.pair.tcp));
	assert_null(a.pair.tcp->below);
	close_end(&a);
}

/* All endpoints of a domain share the one below, whose regions are those of tcp's. */
static void one_domain_is_below(void **state)
{
	const struct wf_lower_domain *first = NULL, *second = NULL;
	const char *why;
	struct end a;

	(void)state;
	open_end(&a, FI_TAGGED);
	assert_int_equal(tcp_below_domain(a.pair.tcp, &first, &why), 0);
	assert_int_equal(tcp_below_domain(a.pair.tcp, &second, &why), 0);
	assert_ptr_equal(first->domain, second->domain);
	assert_ptr_equal(
		wf_domain_of(first->domain)->reached, &a.pair.tcp->ep.domain->mr_map);
	close_end(&a);
}

static void names_are_checked(void **state)
{
	char name[TCP_PROOF_NAME + 1];
	struct end a;

	(void)state;
	open_end(&a, FI_TAGGED);
	assert_int_equal(insert(&a, "x", 2), -FI_ENOSYS);
	assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	memset(name, 'x', sizeof(name));
	assert_int_equal(insert(&a, name, 0), -FI_EINVAL);
	assert_int_equal(insert(&a, name, 8), -FI_EINVAL);
	assert_int_equal(insert(&a, "a\0b", 4), -FI_EINVAL);
	name[TCP_PROOF_NAME] = 0;
	assert_int_equal(insert(&a, name, sizeof(name)), -FI_EINVAL);
	close_end(&a);
}

static void open_both(struct end *a, struct end *b, uint64_t caps)
{
	open_end(a, caps);
	open_end(b, caps);
	assert_int_equal(tcp_below_open(a->pair.tcp), 0);
	assert_int_equal(tcp_below_open(b->pair.tcp), 0);
	know(a, b);
	know(b, a);
}

enum { SHARED_KEY = 42, ELEMENTS = 2048, BYTES = ELEMENTS * sizeof(uint64_t) };

static struct fid_mr *reg(struct end *end, void *memory, uint64_t access)
{
	struct fid_mr *mr;

	assert_int_equal(fi_mr_reg(end->pair.domain, memory, BYTES, access, 0,
				 SHARED_KEY, 0, &mr, NULL),
		0);
	return mr;
}

/* Access the first @len bytes of the other end's region and wait for the answer. */
static void access_region(
	struct end *end, struct end *other, enum wf_op_kind kind, void *buf, size_t len)
{
	struct iovec iov = { buf, len };
	struct fi_rma_iov rma = { 0, len, SHARED_KEY };
	struct wf_op op = { .kind = kind,
		.flags = FI_COMPLETION | FI_DELIVERY_COMPLETE,
		.iov = &iov,
		.iov_count = 1,
		.rma = &rma,
		.rma_count = 1,
		.len = len,
		.addr = end->other,
		.context = buf };
	fi_addr_t src;

	assert_int_equal(start_op(end, &op), 0);
	assert_ptr_equal(wait_for(end, other, &src).op_context, buf);
}

static void regions_above_are_reached(void **state)
{
	static uint64_t memory[ELEMENTS], buf[ELEMENTS];
	struct fid_mr *mr;
	struct end a, b;

	(void)state;
	open_both(&a, &b, FI_MSG | FI_RMA);
	mr = reg(&b, memory, FI_REMOTE_READ | FI_REMOTE_WRITE);
	buf[0] = 7;
	buf[ELEMENTS - 1] = 8;
	access_region(&a, &b, WF_OP_WRITE, buf, 8);
	assert_int_equal(memory[0], 7);
	assert_int_equal(memory[ELEMENTS - 1], 0);
	access_region(&a, &b, WF_OP_WRITE, buf, BYTES);
	assert_int_equal(memory[ELEMENTS - 1], 8);
	memory[1] = 9;
	access_region(&a, &b, WF_OP_READ, buf, BYTES);
	assert_int_equal(buf[1], 9);
	assert_true(wf_list_empty(&a.pair.tcp->conns));
	assert_int_equal(fi_close(&mr->fid), 0);
	close_end(&a);
	close_end(&b);
}

/* As large as tcp takes them, with comparands and results of the same size. */
static void large_atomics(void **state)
{
	static uint64_t memory[ELEMENTS], operands[ELEMENTS], compare[ELEMENTS],
		result[ELEMENTS];
	struct iovec iov = { operands, BYTES }, with = { compare, BYTES },
		     into = { result, BYTES };
	struct fi_rma_iov rma = { 0, BYTES, SHARED_KEY };
	struct wf_op_atomic atomic = { .datatype = FI_UINT64,
		.op = FI_CSWAP,
		.count = ELEMENTS,
		.size = BYTES,
		.result = &into,
		.result_count = 1,
		.compare = &with,
		.compare_count = 1 };
	struct wf_op op = { .kind = WF_OP_COMPARE,
		.flags = FI_COMPLETION,
		.iov = &iov,
		.iov_count = 1,
		.rma = &rma,
		.rma_count = 1,
		.len = BYTES,
		.atomic = &atomic,
		.context = result };
	struct fid_mr *mr;
	struct end a, b;
	fi_addr_t src;

	(void)state;
	open_both(&a, &b, FI_MSG | FI_ATOMIC);
	mr = reg(&b, memory, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (unsigned int i = 0; i < ELEMENTS; i++) {
		memory[i] = i;
		compare[i] = i % 2 ? i : i + 1;
		operands[i] = i + ELEMENTS;
	}
	op.addr = a.other;
	assert_int_equal(start_op(&a, &op), 0);
	assert_ptr_equal(wait_for(&a, &b, &src).op_context, result);
	for (unsigned int i = 0; i < ELEMENTS; i++) {
		assert_int_equal(result[i], i);
		assert_int_equal(memory[i], i % 2 ? i + ELEMENTS : i);
	}
	assert_int_equal(fi_close(&mr->fid), 0);
	close_end(&a);
	close_end(&b);
}

/* The error of a write that the other end refuses. */
static struct fi_cq_err_entry refused_write(
	struct end *end, struct end *other, uint64_t flags)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000)), word = 1;
	struct iovec iov = { &word, sizeof(word) };
	struct fi_rma_iov rma = { 0, sizeof(word), SHARED_KEY };
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	struct wf_op op = { .kind = WF_OP_WRITE,
		.flags = flags,
		.iov = &iov,
		.iov_count = 1,
		.rma = &rma,
		.rma_count = 1,
		.len = sizeof(word),
		.addr = end->other };

	assert_int_equal(start_op(end, &op), 0);
	while (fi_cq_read(end->pair.cq, &entry, 1) != -FI_EAVAIL) {
		assert_false(wf_expired(deadline));
		(void)fi_cq_read(other->pair.cq, NULL, 0);
	}
	assert_int_equal(fi_cq_readerr(end->pair.cq, &err, 0), 1);
	return err;
}

static void check_named(struct end *end, const struct fi_cq_err_entry *err)
{
	union wf_sockaddr addr;
	size_t len = sizeof(addr);

	assert_int_equal(err->src_addr, end->other);
	assert_int_equal(fi_av_lookup(end->av, end->other, &addr, &len), 0);
	assert_int_equal(err->err_data_size, len);
	assert_memory_equal(err->err_data, &addr, len);
}

/* An error from below names the peer as tcp does, whether the operation was kept until
 * its answer or not. */
static void errors_name_the_peer(void **state)
{
	static uint64_t memory[ELEMENTS];
	struct fi_cq_err_entry err;
	struct fid_mr *mr;
	struct end a, b;

	(void)state;
	open_both(&a, &b, FI_MSG | FI_RMA);
	mr = reg(&b, memory, FI_REMOTE_READ);
	err = refused_write(&a, &b, FI_COMPLETION | FI_DELIVERY_COMPLETE);
	assert_int_equal(err.err, FI_EACCES);
	check_named(&a, &err);
	assert_int_equal(fi_close(&mr->fid), 0);
	err = refused_write(&a, &b, FI_INJECT);
	assert_int_equal(err.err, FI_EKEYREJECTED);
	check_named(&a, &err);
	assert_int_equal(memory[0], 0);
	close_end(&a);
	close_end(&b);
}

static uint32_t epoch_after(struct end *end, unsigned int reads)
{
	for (unsigned int i = 0; i < reads; i++)
		(void)fi_cq_read(end->pair.cq, NULL, 0);
	return end->pair.tcp->epoch;
}

static void wake(struct end *end)
{
	wf_lock(&end->pair.tcp->ep.lock);
	wf_progress_wake(&end->pair.tcp->ep.progress);
	wf_unlock(&end->pair.tcp->ep.lock);
}

/* While all peers are reached by memory, few progress calls look at the sockets; all do
 * as soon as there is something to do, or a thread may sleep. */
static void most_calls_are_partial(void **state)
{
	/* The coarse clock is read in each eighth call, and a sequence has at most
	 * 256 calls. */
	enum { READS = 4096, MOST = READS / 8 + 1, FEWEST = READS / 257 };
	struct wf_progress *item;
	struct end a, b;
	uint32_t epoch;
	char in[16] = "";
	fi_addr_t src;

	(void)state;
	open_two(&a, &b);
	item = &b.pair.tcp->ep.progress;
	epoch = epoch_after(&b, 1);
	assert_int_equal(epoch_after(&b, 100), epoch + 100);
	assert_false(wf_progress_is_partial(item));
	set_memory_conns(&b, 1);
	epoch = epoch_after(&b, 1);
	assert_in_range(epoch_after(&b, READS) - epoch, FEWEST, MOST);
	/* The endpoint below is polled all the same. */
	assert_int_equal(
		fi_trecv(b.pair.ep, in, sizeof(in), NULL, b.other, 7, 0, in), 0);
	assert_int_equal(start(&a, "below", 6, &a), 0);
	(void)wait_for(&b, &a, &src);
	assert_string_equal(in, "below");
	for (int i = 0; i < 3; i++) {
		epoch = epoch_after(&b, 300);
		wake(&b);
		assert_false(wf_progress_is_partial(item));
		assert_int_equal(epoch_after(&b, 1), epoch + 1);
		assert_true(wf_progress_is_partial(item));
	}
	wf_lock(&b.pair.tcp->ep.lock);
	(void)tcp_arm(&b.pair.tcp->ep);
	wf_unlock(&b.pair.tcp->ep.lock);
	epoch = b.pair.tcp->epoch;
	assert_int_equal(epoch_after(&b, 100), epoch + 100);
	set_memory_conns(&b, 0);
	close_end(&a);
	close_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_goes_below),
		cmocka_unit_test(a_connection_begins_and_ends),
		cmocka_unit_test(what_a_peer_leaves_unread),
		cmocka_unit_test(a_forked_child_uses_nothing),
		cmocka_unit_test(a_child_has_its_own_name),
		cmocka_unit_test(a_peer_leaves_the_av_and_comes_back),
		cmocka_unit_test(a_connection_ends_before_its_messages),
		cmocka_unit_test(shared_memory_is_forbidden),
		cmocka_unit_test(one_domain_is_below),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(regions_above_are_reached),
		cmocka_unit_test(large_atomics),
		cmocka_unit_test(errors_name_the_peer),
		cmocka_unit_test(most_calls_are_partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
