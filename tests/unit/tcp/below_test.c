/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint below: messages, sources, regions and errors, which are those of tcp's
 * endpoint.
 */
#include "below_fixture.h"

#include "objects/local/domain.h"

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
	assert_null(wf_local_name(a.pair.tcp->below));
	assert_null(a.pair.tcp->below);
	close_end(&a);
}

/* All endpoints of a domain share the one below, whose regions are those of tcp's. */
static void one_domain_is_below(void **state)
{
	struct wf_local_domain *domain;
	struct fid_domain *first;
	struct wf_ep *ep;
	const char *why;
	struct end a;

	(void)state;
	open_end(&a, FI_TAGGED);
	ep = &a.pair.tcp->ep;
	domain = ep->domain->prov_data;
	assert_int_equal(wf_local_domain_open(domain, ep, &why), 0);
	first = domain->below.domain;
	assert_int_equal(wf_local_domain_open(domain, ep, &why), 0);
	assert_ptr_equal(domain->below.domain, first);
	assert_ptr_equal(wf_domain_of(first)->reached, &ep->domain->mr_map);
	close_end(&a);
}

static void names_are_checked(void **state)
{
	char name[WF_PROOF_NAME + 1];
	struct end a;

	(void)state;
	open_end(&a, FI_TAGGED);
	assert_int_equal(insert(&a, "x", 2), -FI_ENOSYS);
	assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	memset(name, 'x', sizeof(name));
	assert_int_equal(insert(&a, name, 0), -FI_EINVAL);
	assert_int_equal(insert(&a, name, 8), -FI_EINVAL);
	assert_int_equal(insert(&a, "a\0b", 4), -FI_EINVAL);
	name[WF_PROOF_NAME] = 0;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_goes_below),
		cmocka_unit_test(a_peer_leaves_the_av_and_comes_back),
		cmocka_unit_test(a_connection_ends_before_its_messages),
		cmocka_unit_test(shared_memory_is_forbidden),
		cmocka_unit_test(one_domain_is_below),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(regions_above_are_reached),
		cmocka_unit_test(large_atomics),
		cmocka_unit_test(errors_name_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
