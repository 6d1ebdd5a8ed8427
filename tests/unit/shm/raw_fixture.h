/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SHM_RAW_FIXTURE_H
#define TESTS_UNIT_SHM_RAW_FIXTURE_H

#include "unit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../../time_limits.h"
#include "providers/shm/wire/segment.h"
#include "providers/shm/wire/reader.h"
#include "providers/shm/wire/writer.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/socket.h"
#include "sys/addrstr.h"
#include "sys/clock.h"

/*
 * An endpoint of the library, and a peer that is no endpoint: the test itself writes
 * and reads its lanes and its socket. Both are in this process.
 */
struct raw {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mr;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer; /* AV index of the test */
	uint8_t window[4096];
	unsigned int completions; /* number of completions of the endpoint */
	char name[SHM_NAME_MAX];  /* name of the test */

	int fd;
	uint8_t flags;     /* SHM_HELLO_*, of the test */
	uint64_t probe;    /* value that the endpoint may read from the test's memory */
	uint64_t probe_at; /* address that the test names instead; 0: that of probe */
	struct shm_segment *region;
	struct shm_writer out;
	struct shm_reader in;
};

enum { RAW_KEY = 1 };

/* Time limit for an event, in milliseconds. */
#define RAW_LIMIT_MS limit_ms(20000)

struct fi_provider shm_fi = { .name = "shm" };

/* Let the endpoint make progress. Its completions are counted; errors are not
 * expected. */
static inline void raw_drive(struct raw *raw)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	for (int i = 0; i < 4; i++) {
		ret = fi_cq_read(raw->cq, &entry, 1);
		assert_true(ret == 1 || ret == -FI_EAGAIN);
		raw->completions += ret == 1;
	}
}

static inline void raw_endpoint(
	struct raw *raw, const char *name, enum fi_wait_obj wait_obj)
{
	struct fi_cq_attr cq_attr = {
		.format = FI_CQ_FORMAT_TAGGED, .size = 4096, .wait_obj = wait_obj
	};
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->fabric_attr->prov_name = strdup("shm");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE;
	hints->src_addr = strdup(name);
	hints->src_addrlen = strlen(name) + 1;
	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &raw->info), 0);
	fi_freeinfo(hints);
	assert_int_equal(fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL), 0);
	assert_int_equal(fi_domain(raw->fabric, raw->info, &raw->domain, NULL), 0);
	assert_int_equal(fi_mr_reg(raw->domain, raw->window, sizeof(raw->window),
				 FI_REMOTE_READ | FI_REMOTE_WRITE, 0, RAW_KEY, 0,
				 &raw->mr, NULL),
		0);
	assert_int_equal(fi_av_open(raw->domain, &av_attr, &raw->av, NULL), 0);
	assert_int_equal(fi_cq_open(raw->domain, &cq_attr, &raw->cq, NULL), 0);
	assert_int_equal(fi_endpoint(raw->domain, raw->info, &raw->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(raw->ep, &raw->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(raw->ep), 0);
}

/* A packet of the exchange that opens a connection, from the test, named @peer. */
static inline struct shm_hello raw_hello(
	struct raw *raw, const char *peer, enum shm_hello_type type)
{
	struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = (uint8_t)type,
		.flags = raw->flags,
		.segment_size = sizeof(struct shm_segment),
		.instance = 4711,
		.probe_addr = raw->probe_at ? raw->probe_at : (uintptr_t)&raw->probe,
		.probe_value = 4712,
		.table_fd = -1,
	};

	raw->probe = hello.probe_value;
	assert_true(wf_addrstr_spell(hello.name, peer, strlen(peer) + 1));
	return hello;
}

static inline void raw_meet(struct raw *raw, const char *endpoint, const char *peer)
{
	struct shm_hello hello = raw_hello(raw, peer, SHM_HELLO);
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS);
	struct shm_hello answer;
	int fd, pass;

	assert_true(wf_addrstr_spell(raw->name, endpoint, strlen(endpoint) + 1));
	assert_int_equal(shm_socket_connect(raw->name, &raw->fd), 0);
	assert_int_equal(shm_segment_new(&fd, &raw->region), 0);
	assert_int_equal(shm_hello_send(raw->fd, &hello, fd), 0);
	close(fd);
	while (shm_hello_recv(raw->fd, &answer, &pass, &(pid_t){ 0 }) == -EAGAIN) {
		assert_true(wf_now_ns() < deadline);
		raw_drive(raw);
	}
	assert_int_equal(answer.type, SHM_WELCOME);
	raw->out = shm_writer_of(&raw->region->lane[0]);
	raw->in = (struct shm_reader){ .lane = &raw->region->lane[1], .next = 1 };
}

/* Names of an endpoint and of the test, which is the greater one. */
struct raw_names {
	char endpoint[64], peer[64];
};

/* Open the endpoint, which knows the name of the test. @wait_obj: of its queue. */
static inline struct raw_names raw_open_alone(
	struct raw *raw, enum fi_wait_obj wait_obj)
{
	static unsigned int opened;
	struct raw_names names;

	memset(raw, 0, sizeof(*raw));
	raw->flags = SHM_HELLO_SLEEPS;
	opened++;
	(void)snprintf(names.endpoint, sizeof(names.endpoint), "fi_ns://lane-%d-%u",
		(int)getpid(), opened);
	(void)snprintf(names.peer, sizeof(names.peer), "fi_ns://raw-%d-%u",
		(int)getpid(), opened);
	raw_endpoint(raw, names.endpoint, wait_obj);
	assert_int_equal(fi_av_insert(raw->av, names.peer, 1, &raw->peer, 0, NULL), 1);
	return names;
}

/* Open and connect the endpoint. */
static inline void raw_open(struct raw *raw, enum fi_wait_obj wait_obj)
{
	struct raw_names names = raw_open_alone(raw, wait_obj);

	raw_meet(raw, names.endpoint, names.peer);
}

static inline void raw_close(struct raw *raw)
{
	shm_socket_close(raw->fd);
	assert_int_equal(fi_close(&raw->ep->fid), 0);
	assert_int_equal(fi_close(&raw->cq->fid), 0);
	assert_int_equal(fi_close(&raw->av->fid), 0);
	assert_int_equal(fi_close(&raw->mr->fid), 0);
	assert_int_equal(fi_close(&raw->domain->fid), 0);
	assert_int_equal(fi_close(&raw->fabric->fid), 0);
	fi_freeinfo(raw->info);
	shm_segment_unmap(raw->region);
}

/* Write a record with @blob inline, if the lane has space. */
static inline bool raw_put(struct raw *raw, uint8_t kind, uint8_t flags, uint64_t word,
	const void *blob, size_t len)
{
	struct shm_slot *slot = shm_writer_slot(&raw->out);

	if (!shm_writer_slots(&raw->out)) {
		assert_true(shm_writer_refresh(&raw->out));
		if (!shm_writer_slots(&raw->out))
			return false;
	}
	slot->word = word;
	slot->data = 0;
	memcpy(slot->blob, blob, len);
	shm_writer_commit(&raw->out, slot, kind, flags, len);
	return true;
}

/* The next record of the endpoint, or NULL. It stays in the lane until raw_next. */
static inline const struct shm_slot *raw_head(struct raw *raw)
{
	return shm_reader_head(&raw->in) ? shm_slot_at(raw->in.lane, raw->in.next)
					 : NULL;
}

static inline void raw_next(struct raw *raw)
{
	const struct shm_slot *slot = shm_slot_at(raw->in.lane, raw->in.next);
	uint8_t flags = shm_head_flags(shm_reader_head(&raw->in));
	uint32_t len;

	if (flags & SHM_FLAG_BYTES) {
		memcpy(&len, slot->blob, sizeof(len));
		raw->in.pos = shm_bytes_next(raw->in.pos, flags, len);
	}
	raw->in.next++;
	shm_reader_tell(&raw->in);
}

/* Has the endpoint closed the connection? Bytes in the socket are read and dropped. */
static inline bool raw_closed(struct raw *raw)
{
	char byte;
	ssize_t ret;

	while ((ret = recv(raw->fd, &byte, 1, MSG_DONTWAIT)) > 0)
		;
	return !ret || (errno != EAGAIN && errno != EINTR);
}

/* The endpoint finds that the test wrote something impossible, and closes the
 * connection. Its operations end with errors. */
static inline void raw_fail(struct raw *raw)
{
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;

	while (!raw_closed(raw)) {
		assert_true(wf_now_ns() < deadline);
		memset(&err, 0, sizeof(err));
		if (fi_cq_read(raw->cq, &entry, 1) != -FI_EAGAIN)
			assert_int_equal(fi_cq_readerr(raw->cq, &err, 0), 1);
	}
}

/* Number of bytes that the endpoint sent to wake the peer. */
static inline unsigned int raw_woken(struct raw *raw)
{
	unsigned int count = 0;
	char byte;

	while (recv(raw->fd, &byte, 1, MSG_DONTWAIT) == 1)
		count++;
	return count;
}

/* Post a write of 8 bytes to the test's region; the test answers it. */
static inline void raw_post_write(struct raw *raw, uint64_t flags)
{
	static uint64_t value;
	struct iovec iov = { &value, sizeof(value) };
	struct fi_rma_iov there = { .len = sizeof(value), .key = RAW_KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = raw->peer,
		.rma_iov = &there,
		.rma_iov_count = 1 };

	assert_int_equal(fi_writemsg(raw->ep, &msg, flags), 0);
}

#endif
