/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SHM_CONN_FIXTURE_H
#define TESTS_UNIT_SHM_CONN_FIXTURE_H

/*
 * A connected endpoint of the shm provider without the exchange that connects one: its
 * connection is made over a segment that the test has mapped as well, and over one end
 * of a socket pair. The test is the peer: it reads the lane that the endpoint writes,
 * and writes the other one. All is in one thread.
 *
 * The rings may begin at any position (pair_place), so that each case can run at the
 * end of a ring.
 */
#include "unit.h"
#include "../pair.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../../time_limits.h"
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/bulk.h"
#include "providers/shm/wire/record.h"
#include "providers/shm/wire/segment.h"
#include "sys/addrstr.h"
#include "sys/clock.h"

enum { REGION = 1 << 17, KEY = 0x5eed };

struct pair {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_mr *mr; /* of region, with KEY; NULL: closed */
	struct fid_ep *ep; /* NULL: closed */
	fi_addr_t addr;    /* address of the test */
	struct shm_ep *shm;
	struct shm_peer *peer;
	struct shm_conn *conn;
	/* The test's mapping of the segment. */
	struct shm_segment *memory;
	struct shm_writer out;
	struct shm_reader in;
	int fd; /* -1: closed */
	uint64_t probe;
	uint8_t region[REGION];
	/* Completions and errors, in order. */
	struct ended ended[PAIR_ENDED_MAX];
	unsigned int ended_count;
};

struct fi_provider *shm_prov_ini(void);

static inline struct fi_info *pair_info(struct fi_provider *prov)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->progress = FI_PROGRESS_MANUAL;
	assert_int_equal(
		prov->getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(hints);
	info->fabric_attr->api_version = FI_VERSION(2, 6);
	return info;
}

static inline void pair_register(struct pair *p)
{
	assert_int_equal(
		fi_mr_reg(p->domain, p->region, sizeof(p->region),
			FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &p->mr, NULL),
		0);
}

static inline void pair_open(struct pair *p)
{
	static struct fi_provider *prov;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.size = PAIR_ENDED_MAX };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	char name[64];

	if (!prov)
		prov = shm_prov_ini();
	memset(p, 0, sizeof(*p));
	p->info = pair_info(prov);
	assert_int_equal(prov->fabric(p->info->fabric_attr, &p->fabric, NULL), 0);
	assert_int_equal(fi_domain(p->fabric, p->info, &p->domain, NULL), 0);
	assert_int_equal(fi_av_open(p->domain, &av_attr, &p->av, NULL), 0);
	assert_int_equal(fi_cq_open(p->domain, &cq_attr, &p->cq, NULL), 0);
	pair_register(p);
	assert_int_equal(fi_endpoint(p->domain, p->info, &p->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(p->ep, &p->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(p->ep), 0);
	p->shm = shm_ep_of(wf_container_of(p->ep, struct wf_ep, fid));
	(void)snprintf(name, sizeof(name), "fi_ns://pair-%d", (int)getpid());
	assert_int_equal(fi_av_insert(p->av, name, 1, &p->addr, 0, NULL), 1);
}

/* Connect to the test, which has the name of the lost peer, if there was one. */
static inline void pair_connect(struct pair *p)
{
	struct shm_segment *region;
	char name[SHM_NAME_MAX];
	int fds[2], fd;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	assert_int_equal(shm_segment_new(&fd, &region), 0);
	if (p->memory)
		shm_segment_unmap(p->memory);
	assert_int_equal(shm_segment_map(fd, &p->memory), 0);
	close(fd);
	assert_true(wf_addrstr_spell(
		name, wf_av_addr(p->shm->ep.av, p->addr), SHM_NAME_MAX));
	p->peer = shm_peer_get(p->shm, name);
	assert_non_null(p->peer);
	p->conn = shm_conn_new(p->shm, p->peer, fds[0], region, 0);
	assert_non_null(p->conn);
	assert_true(wf_remotes_set_index(
		&p->shm->peers->remotes, p->addr, &p->peer->remote));
	shm_peer_connected(p->peer, p->conn);
	p->fd = fds[1];
	p->out = shm_writer_of(&p->memory->lane[1]);
	p->in = (struct shm_reader){ .lane = &p->memory->lane[0], .next = 1 };
	p->probe = 4711;
	p->conn->process.pid = getpid();
	p->conn->process.probe_addr = (uintptr_t)&p->probe;
	p->conn->process.probe_value = p->probe;
}

/* Does the kernel copy between the processes here? They are one. */
static inline bool pair_may_attach(struct pair *p)
{
	uint64_t copy = p->probe;
	struct iovec here = { &copy, sizeof(copy) };
	struct iovec there = { &p->probe, sizeof(copy) };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof(copy) &&
	       process_vm_writev(getpid(), &here, 1, &there, 1, 0) == sizeof(copy);
}

/* Let both rings of both lanes begin at a position: the next record has @number, and
 * its bytes are at @pos, which decides on the lap. The rings must be empty. */
static inline void pair_place(struct pair *p, uint32_t number, uint64_t pos)
{
	uint32_t lap = pos % SHM_BYTES < SHM_LAP_SHORT ? SHM_LAP_SHORT : SHM_BYTES;

	for (int i = 0; i < 2; i++) {
		struct shm_progress *reader = &p->memory->lane[i].reader;

		atomic_store(&reader->slots, number - 1);
		atomic_store(&reader->bytes, pos);
		atomic_store(&p->memory->lane[i].taken, number - 1);
		/* Earlier records may have had the same numbers. */
		for (int j = 0; j < SHM_SLOTS; j++)
			atomic_store(&p->memory->lane[i].slots[j].head, 0);
	}
	p->out = (struct shm_writer){ p->out.lane, number, number - 1, 0, lap, pos,
		pos };
	p->conn->out = (struct shm_writer){ p->conn->out.lane, number, number - 1, 0,
		lap, pos, pos };
	p->in = (struct shm_reader){ p->in.lane, number, number - 1, pos, pos, pos };
	p->conn->in = (struct shm_reader){ p->conn->in.lane, number, number - 1, pos,
		pos, pos };
	/* The peer has sent nothing since. */
	p->conn->heard = number;
	p->conn->access.passed = number - 1;
}

static inline void pair_close_mr(struct pair *p)
{
	if (p->mr)
		assert_int_equal(fi_close(&p->mr->fid), 0);
	p->mr = NULL;
}

static inline void pair_close(struct pair *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->ep)
		assert_int_equal(fi_close(&p->ep->fid), 0);
	pair_close_mr(p);
	assert_int_equal(fi_close(&p->cq->fid), 0);
	assert_int_equal(fi_close(&p->av->fid), 0);
	assert_int_equal(fi_close(&p->domain->fid), 0);
	assert_int_equal(fi_close(&p->fabric->fid), 0);
	shm_segment_unmap(p->memory);
	fi_freeinfo(p->info);
}

/* A progress call may leave some of the endpoint's work to the next one. */
#define PAIR_POLLS 3
#include "../pair_cases.h"

/* A read of the peer ended with FI_EPROTO. It is forgotten. */
static inline void assert_broken(struct pair *p, const void *read)
{
	unsigned int i = 0;

	while (i < p->ended_count && p->ended[i].context != read)
		i++;
	assert_true(i < p->ended_count);
	assert_int_equal(p->ended[i].err, FI_EPROTO);
	p->ended_count--;
	memmove(&p->ended[i], &p->ended[i + 1],
		(p->ended_count - i) * sizeof(p->ended[0]));
}

/* The endpoint finds, or has found, that the peer wrote something impossible, and takes
 * the connection down. */
static inline void assert_down(struct pair *p)
{
	char byte;

	pair_progress(p);
	assert_null(p->peer->conn);
	while (recv(p->fd, &byte, 1, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(recv(p->fd, &byte, 1, MSG_DONTWAIT), 0);
}

/* The same, where one more operation does not change what is impossible: the operation
 * ends with that error. */
static inline void assert_refused(struct pair *p)
{
	static uint8_t read[8];
	bool posts = p->peer->conn && !p->peer->conn->err;

	if (posts)
		assert_int_equal(
			fi_read(p->ep, read, sizeof(read), NULL, p->addr, 0, KEY, read),
			0);
	assert_down(p);
	if (posts)
		assert_broken(p, read);
}

/* The process of the peer ends: its socket is closed, and the endpoint notices. */
static inline void peer_dies(struct pair *p)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(20000));

	close(p->fd);
	p->fd = -1;
	while (p->peer->conn) {
		assert_true(wf_now_ns() < deadline);
		pair_progress(p);
	}
}

/* ---- the peer ---- */

/* It has read nothing that it has not reported. */
static inline void peer_describe(struct shm_slot *slot, size_t len, size_t total)
{
	slot->bytes =
		(struct shm_long){ .len = (uint32_t)len, .total = (uint32_t)total };
}

/* Write a record; @blob of @len bytes is inline if it fits. */
static inline void peer_record(struct pair *p, uint8_t kind, uint8_t flags,
	uint64_t word, const void *blob, size_t len)
{
	struct shm_slot *slot;
	uint8_t ring_flags = 0, *to;

	assert_true(shm_writer_refresh(&p->out));
	assert_true(shm_writer_slots(&p->out) > 0);
	slot = shm_writer_slot(&p->out);
	to = slot->blob;
	if (len > SHM_INLINE_MAX)
		to = shm_writer_bytes(&p->out, len, &ring_flags);
	assert_non_null(to);
	slot->word = word;
	slot->data = word + 1000;
	if (len)
		memcpy(to, blob, len);
	if (ring_flags) {
		peer_describe(slot, len, 0);
		shm_writer_bytes_done(&p->out, ring_flags, len);
	}
	shm_writer_commit(
		&p->out, slot, kind, flags | ring_flags, ring_flags ? 0 : len);
}

/* Announce a message of @len bytes at @from, which the endpoint may read there if
 * @token is not SHM_TOKENS. */
static inline void peer_announce(struct pair *p, uint8_t flags, uint64_t tag,
	uint64_t id, const void *from, size_t len, uint32_t token)
{
	struct shm_rts rts = { .id = id, .len = len, .token = token, .count = 1 };

	rts.iov[0].base = (uintptr_t)from;
	rts.iov[0].len = len;
	if (token < SHM_TOKENS)
		atomic_store(&p->memory->tokens[1][token].id, id);
	peer_record(p, SHM_REC_TAGGED_RTS, flags, tag, &rts, sizeof(rts));
}

/* Is there a record of the endpoint? It stays in the lane. */
static inline bool peer_has_record(const struct pair *p)
{
	return shm_reader_head(&p->in) != 0;
}

/* Get the next record of the endpoint, which must be of this kind. Its blob stays valid
 * until peer_tell reports the position to the endpoint. */
static inline struct shm_record peer_expect(struct pair *p, enum shm_kind kind)
{
	uint64_t head = shm_reader_head(&p->in);
	struct shm_record rec;

	assert_int_not_equal(head, 0);
	shm_reader_take(&p->in);
	assert_true(shm_record_decode(&p->in, head, &rec));
	assert_int_equal(rec.kind, kind);
	(void)shm_reader_advance(&p->in);
	return rec;
}

static inline void peer_expect_ack(struct pair *p, uint64_t id)
{
	struct shm_record rec = peer_expect(p, SHM_REC_ACK);

	assert_int_equal(rec.len, sizeof(id));
	assert_memory_equal(rec.blob, &id, sizeof(id));
}

static inline void peer_tell(struct pair *p)
{
	shm_reader_tell(&p->in);
}

/* Read all records, and report the position. */
static inline unsigned int peer_skip(struct pair *p)
{
	unsigned int count = 0;
	struct shm_record rec;

	while (peer_has_record(p)) {
		shm_reader_take(&p->in);
		assert_true(shm_record_decode(&p->in, shm_reader_head(&p->in), &rec));
		(void)shm_reader_advance(&p->in);
		count++;
	}
	peer_tell(p);
	return count;
}

#endif
