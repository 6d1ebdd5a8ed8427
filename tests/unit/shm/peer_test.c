/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw_fixture.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/shm/conn/conn.h"

/* What an endpoint does with a peer over some exchanges: answers that come twice,
 * messages that it reads out of the peer's memory, what it holds for the peer. */

enum { UNEXPECTED_LIMIT = 4 << 20 };

/* ---- operations of the endpoint ---- */

/* The id of the request that comes next. */
static uint64_t take_request(struct raw *raw, uint8_t kind)
{
	const struct shm_slot *slot = raw_head(raw);
	uint64_t id;

	assert_non_null(slot);
	assert_int_equal(shm_head_kind(atomic_load(&slot->head)), kind);
	memcpy(&id, slot->blob, sizeof(id));
	raw_next(raw);
	return id;
}

static void acknowledge(struct raw *raw, uint64_t id)
{
	assert_true(raw_put(raw, SHM_REC_ACK, 0, 0, &id, sizeof(id)));
	raw_drive(raw);
}

/* The answer to an operation that is over is none to the next one. Small writes with a
 * fence have ids. */
static void an_answer_twice(void **state)
{
	uint64_t first, second;
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	raw_post_write(&raw, FI_FENCE | FI_COMPLETION);
	first = take_request(&raw, SHM_REC_WRITE);
	acknowledge(&raw, first);
	assert_int_equal(raw.completions, 1);
	raw_post_write(&raw, FI_FENCE | FI_COMPLETION);
	second = take_request(&raw, SHM_REC_WRITE);
	assert_int_not_equal(first, second);
	assert_true(raw_put(&raw, SHM_REC_ACK, 0, 0, &first, sizeof(first)));
	raw_fail(&raw);
	assert_int_equal(raw.completions, 1);
	raw_close(&raw);
}

/* Messages that the peer took itself, one after the other, each have a token. */
static void tokens_are_used_again(void **state)
{
	enum { COUNT = 2 * SHM_TOKENS };
	static uint8_t large[1 << 16];
	const struct shm_slot *slot;
	struct shm_rts rts;
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	for (unsigned int i = 0; i < COUNT; i++) {
		assert_int_equal(
			fi_tsend(raw.ep, large, sizeof(large), NULL, raw.peer, 7, NULL),
			0);
		slot = raw_head(&raw);
		assert_non_null(slot);
		memcpy(&rts, slot->blob, sizeof(rts));
		raw_next(&raw);
		assert_true(rts.token < SHM_TOKENS);
		acknowledge(&raw, rts.id);
		assert_int_equal(raw.completions, i + 1);
	}
	raw_close(&raw);
}

/* ---- messages of the peer that wait for their match ---- */

/* Announce a message of @len bytes at @from, or with another length, @told, in one
 * buffer. */
static void announce(struct raw *raw, uint64_t id, void *from, size_t len, size_t told)
{
	struct shm_rts rts = { .id = id, .len = told, .count = 1 };

	rts.iov[0].base = (uintptr_t)from;
	rts.iov[0].len = len;
	atomic_store(&raw->region->tokens[0][rts.token].id, id);
	assert_true(raw_put(raw, SHM_REC_TAGGED_RTS, 0, 7, &rts, sizeof(rts)));
}

static void buffers_of_another_length(void **state)
{
	static uint8_t bytes[1 << 16];
	struct raw raw;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		raw_open(&raw, FI_WAIT_NONE);
		announce(&raw, 5, bytes, sizeof(bytes), sizeof(bytes) + 1 - 2 * i);
		raw_drive(&raw);
		assert_true(raw_closed(&raw));
		raw_close(&raw);
	}
}

static void receive(struct raw *raw, void *buf, size_t len)
{
	assert_int_equal(
		fi_trecv(raw->ep, buf, len, NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
}

/* The id of the sink, when the endpoint clears message @id to be sent. */
static uint64_t await_clearance(struct raw *raw, uint64_t id)
{
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS), sink;
	const struct shm_slot *slot;

	while (!(slot = raw_head(raw))) {
		assert_true(wf_now_ns() < deadline);
		raw_drive(raw);
	}
	assert_int_equal(shm_head_kind(atomic_load(&slot->head)), SHM_REC_CTS);
	assert_int_equal(slot->word, id);
	memcpy(&sink, slot->blob, sizeof(sink));
	raw_next(raw);
	return sink;
}

static void stream(struct raw *raw, uint64_t sink, const uint8_t *from, size_t len)
{
	while (len) {
		size_t step = WF_MIN(len, (size_t)SHM_INLINE_MAX);

		while (!raw_put(raw, SHM_REC_DATA, 0, sink, from, step))
			raw_drive(raw);
		from += step;
		len -= step;
	}
	raw_drive(raw);
}

static bool may_attach(void)
{
	uint64_t value = 1, copy = 0;
	struct iovec to = { &copy, sizeof(copy) }, from = { &value, sizeof(value) };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(copy);
}

/* Memory of the peer that ends before its message does: the peer is asked to send it,
 * and what was read already is sent again. */
static void memory_that_ends_early(void **state)
{
	enum { HALF = 1 << 20, LEN = 2 * HALF };
	static uint8_t in[LEN], out[LEN];
	uint8_t *memory;
	uint64_t sink;
	struct raw raw;

	(void)state;
	if (!may_attach())
		skip();
	memory = mmap(
		NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + HALF, HALF, PROT_NONE), 0);
	for (size_t i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 31 + i / 4096);
	raw_open(&raw, FI_WAIT_NONE);
	receive(&raw, in, sizeof(in));
	announce(&raw, 5, memory, LEN, LEN);
	sink = await_clearance(&raw, 5);
	/* It does not come, so the endpoint takes what it can. */
	assert_int_equal(await_clearance(&raw, 5), sink);
	stream(&raw, sink, out, LEN);
	assert_int_equal(raw.completions, 1);
	assert_memory_equal(in, out, LEN);
	assert_int_equal(munmap(memory, LEN), 0);
	raw_close(&raw);
}

/* Records end where they like, and buffers elsewhere. */
static void a_stream_into_several_buffers(void **state)
{
	enum { LEN = 1000 };
	static uint8_t in[LEN], out[LEN];
	const struct iovec iov[] = { { in, 30 }, { in + 30, 333 },
		{ in + 363, LEN - 363 } };
	struct shm_rts rts = { .id = 5, .len = LEN, .count = 1, .token = SHM_TOKENS };
	struct raw raw;

	(void)state;
	for (size_t i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 31 + i / 256);
	rts.iov[0].base = (uintptr_t)out;
	rts.iov[0].len = LEN;
	raw_open(&raw, FI_WAIT_NONE);
	assert_int_equal(
		fi_trecvv(raw.ep, iov, NULL, 3, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
	assert_true(raw_put(&raw, SHM_REC_TAGGED_RTS, 0, 7, &rts, sizeof(rts)));
	stream(&raw, await_clearance(&raw, 5), out, LEN);
	assert_int_equal(raw.completions, 1);
	assert_memory_equal(in, out, LEN);
	raw_close(&raw);
}

/* An endpoint that sleeps takes a message out of the peer's memory when the peer does
 * not send it, though nothing wakes it. */
static void asleep_while_a_message_waits(void **state)
{
	static uint8_t in[1 << 16], out[1 << 16];
	struct pollfd poll_fd = { .events = POLLIN };
	struct fid *fids[1];
	struct raw raw;

	(void)state;
	if (!may_attach())
		skip();
	raw_open(&raw, FI_WAIT_FD);
	fids[0] = &raw.cq->fid;
	assert_int_equal(fi_control(&raw.cq->fid, FI_GETWAIT, &poll_fd.fd), 0);
	memset(out, 3, sizeof(out));
	receive(&raw, in, sizeof(in));
	announce(&raw, 5, out, sizeof(out), sizeof(out));
	for (int i = 0; i < 1000 && !raw.completions; i++) {
		if (!fi_trywait(raw.fabric, fids, 1))
			assert_int_equal(poll(&poll_fd, 1, RAW_LIMIT_MS), 1);
		raw_drive(&raw);
	}
	assert_int_equal(raw.completions, 1);
	assert_memory_equal(in, out, sizeof(in));
	raw_close(&raw);
}

/* ---- what is held for the peer ---- */

/* The bytes of unexpected messages are given back when they are received: as many may
 * arrive again. */
static void unexpected_bytes_come_back(void **state)
{
	/* More than half of what a peer may have, with what the library adds to
	 * each. */
	enum { COUNT = 12000 };
	static uint8_t bytes[SHM_INLINE_MAX];
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	for (unsigned int round = 1; round <= 3; round++) {
		for (unsigned int i = 0; i < COUNT; i++) {
			uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS);

			while (!raw_put(
				&raw, SHM_REC_TAGGED, 0, 7, bytes, sizeof(bytes))) {
				assert_true(wf_now_ns() < deadline);
				raw_drive(&raw);
			}
		}
		for (int i = 0; i < 8; i++)
			raw_drive(&raw);
		for (unsigned int i = 0; i < COUNT; i++) {
			receive(&raw, bytes, sizeof(bytes));
			raw_drive(&raw);
		}
		assert_int_equal(raw.completions, round * COUNT);
	}
	raw_close(&raw);
}

static uint64_t skipped_ns; /* how far the clock of this program is ahead */

/* Instead of the system's, for the library as well. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	int err = (int)syscall(SYS_clock_gettime, id, ret);
	uint64_t ns = (uint64_t)ret->tv_nsec + skipped_ns;

	ret->tv_sec += (time_t)(ns / 1000000000u);
	ret->tv_nsec = (long)(ns % 1000000000u);
	return err;
}

/* Progress calls that include some looks at the sockets. */
static void look_at_sockets(struct raw *raw)
{
	for (int i = 0; i < 5000; i++)
		raw_drive(raw);
}

/* A process that connects and sends nothing is dropped after five seconds. */
static void silent_caller(void **state)
{
	struct raw raw;
	char byte;
	int fd;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	assert_int_equal(shm_socket_connect(raw.name, &fd), 0);
	look_at_sockets(&raw);
	skipped_ns += 4000000000u;
	look_at_sockets(&raw);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	skipped_ns += 1000000000u;
	look_at_sockets(&raw);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
	shm_socket_close(fd);
	raw_close(&raw);
}

/* Kinds that there are none of, and flags. */
static void records_of_no_kind(void **state)
{
	static const struct {
		uint8_t kind, flags;
	} rows[] = {
		{ SHM_REC_NONE, 0 },
		{ SHM_REC_KINDS, 0 },
		{ SHM_REC_KINDS + 1, 0 },
		{ UINT8_MAX, 0 },
		{ SHM_REC_MSG, (uint8_t)~SHM_FLAGS_KNOWN },
	};
	const uint64_t word = 1;
	struct raw raw;

	(void)state;
	for (unsigned int i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		raw_open(&raw, FI_WAIT_NONE);
		assert_true(raw_put(
			&raw, rows[i].kind, rows[i].flags, word, &word, sizeof(word)));
		raw_fail(&raw);
		raw_close(&raw);
	}
}

/* ---- requests to connect that cross ---- */

static int accept_one(int listener)
{
	int spare = -1, fd;

	assert_int_equal(shm_socket_accept(listener, &spare, &fd), 0);
	return fd;
}

/* Memory of which each access waits for ever; NULL: the kernel has none. */
static void *blocking_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	void *page;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return NULL;
	page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range = (struct uffdio_range){ (uintptr_t)page, 4096 };
	return page != MAP_FAILED && !ioctl(fd, UFFDIO_REGISTER, &range) ? page : NULL;
}

static _Noreturn void meet_a_probe_that_blocks(void)
{
	uint64_t word = 5, in = 0;
	struct raw_names names;
	struct raw raw;
	void *page = blocking_page();

	if (!page)
		_exit(77);
	names = raw_open_alone(&raw, FI_WAIT_NONE);
	raw.probe_at = (uintptr_t)page;
	raw_meet(&raw, names.endpoint, names.peer);
	assert_int_equal(
		fi_trecv(raw.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
	assert_true(raw_put(&raw, SHM_REC_TAGGED, 0, 7, &word, sizeof(word)));
	raw_drive(&raw);
	_exit(in != word);
}

/* A request to connect whose probe address lies in such memory: nothing waits for it,
 * and messages come. */
static void a_probe_that_blocks(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		/* Ends the process where it waits. */
		(void)alarm(limit_s(5));
		meet_a_probe_that_blocks();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* The request of the endpoint reaches the test, which accepts it, writes a message, and
 * leaves. Meanwhile it has sent a request of its own. The endpoint handles the latter
 * first, and gets the message all the same. */
static void a_message_comes_with_the_acceptance(void **state)
{
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS), word = 5, in = 0;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	struct shm_segment *unused;
	struct shm_hello hello;
	struct raw_names names;
	struct raw raw;
	int listener, asked, own, pass;

	(void)state;
	names = raw_open_alone(&raw, FI_WAIT_NONE);
	assert_true(wf_addrstr_spell(raw.name, names.peer, strlen(names.peer) + 1));
	assert_int_equal(shm_socket_listen(raw.name, &listener), 0);
	assert_int_equal(
		fi_trecv(raw.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
	assert_int_equal(fi_tinject(raw.ep, &word, sizeof(word), raw.peer, 7), 0);
	raw_drive(&raw);
	asked = accept_one(listener);
	assert_int_equal(shm_hello_recv(asked, &hello, &pass, &(pid_t){ 0 }), 0);
	assert_int_equal(shm_segment_map(pass, &raw.region), 0);
	close(pass);
	/* The request that crosses: first in the endpoint's poll. */
	assert_true(
		wf_addrstr_spell(raw.name, names.endpoint, strlen(names.endpoint) + 1));
	assert_int_equal(shm_socket_connect(raw.name, &own), 0);
	hello = raw_hello(&raw, names.peer, SHM_HELLO);
	assert_int_equal(shm_segment_new(&pass, &unused), 0);
	assert_int_equal(shm_hello_send(own, &hello, pass), 0);
	close(pass);
	shm_segment_unmap(unused);
	raw.out = shm_writer_of(&raw.region->lane[1]);
	assert_true(raw_put(&raw, SHM_REC_TAGGED, 0, 7, &word, sizeof(word)));
	hello = raw_hello(&raw, names.peer, SHM_WELCOME);
	assert_int_equal(shm_hello_send(asked, &hello, -1), 0);
	shm_socket_close(asked);
	shm_socket_unlisten(listener, names.peer);
	/* The endpoint's own message may fail. */
	while (in != word) {
		assert_true(wf_now_ns() < deadline);
		if (fi_cq_read(raw.cq, &entry, 1) == -FI_EAVAIL)
			assert_int_equal(fi_cq_readerr(raw.cq, &err, 0), 1);
	}
	raw.fd = own;
	raw_close(&raw);
}

/* Does the endpoint know what its peer says of itself? */
static void what_the_peer_does(void **state)
{
	static const uint8_t flags[] = { 0, SHM_HELLO_SLEEPS, 0xff };
	struct raw_names names;
	struct shm_ep *ep;
	struct raw raw;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(flags); i++) {
		names = raw_open_alone(&raw, FI_WAIT_NONE);
		raw.flags = flags[i];
		raw_meet(&raw, names.endpoint, names.peer);
		ep = shm_ep_of(wf_container_of(raw.ep, struct wf_ep, fid));
		assert_int_equal(ep->conns.count, 1);
		assert_int_equal(ep->conns.at[0]->wake, flags[i] & 1);
		raw_close(&raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_twice),
		cmocka_unit_test(tokens_are_used_again),
		cmocka_unit_test(buffers_of_another_length),
		cmocka_unit_test(memory_that_ends_early),
		cmocka_unit_test(asleep_while_a_message_waits),
		cmocka_unit_test(unexpected_bytes_come_back),
		cmocka_unit_test(a_stream_into_several_buffers),
		cmocka_unit_test(records_of_no_kind),
		cmocka_unit_test(silent_caller),
		cmocka_unit_test(a_probe_that_blocks),
		cmocka_unit_test(a_message_comes_with_the_acceptance),
		cmocka_unit_test(what_the_peer_does),
	};
	char limit[16];

	(void)snprintf(limit, sizeof(limit), "%d", UNEXPECTED_LIMIT);
	(void)setenv("FI_SHM_UNEXPECTED_SIZE", limit, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
