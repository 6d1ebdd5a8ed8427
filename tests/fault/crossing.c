/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that asked for FI_THREAD_COMPLETION, and posts operations in one thread
 * while another one posts and reads the queue, as programs do. Nothing is lost, and
 * nothing hangs. THR-002.
 */
#include "fault.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

enum { KEY = 7, MANY = 150000, FEW = 2000, LEN = 8 };

struct meeting {
	uint8_t name[256]; /* of the target */
	unsigned int count;
};

struct initiator {
	struct node node;
	fi_addr_t to;
	unsigned int count;
};

static void receive_all(struct node *node, unsigned int count)
{
	static uint8_t in[LEN];
	static struct fi_context2 context;

	for (unsigned int i = 0; i < count; i++) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;

		CHECK_OK(fi_recv(
			node->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &context));
		CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
		CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.data == i);
	}
}

/* Send the messages, with their numbers as data. */
static void *send_all(void *arg)
{
	static uint8_t out[LEN];
	struct initiator *own = arg;

	for (unsigned int i = 0; i < own->count; i++) {
		static struct fi_context2 context;
		ssize_t ret;

		while ((ret = fi_senddata(own->node.ep, out, sizeof(out), NULL, i,
				own->to, &context)) == -FI_EAGAIN)
			(void)sched_yield();
		CHECK_OK(ret);
	}
	return NULL;
}

static bool post_write(struct initiator *own)
{
	static uint64_t value;
	static struct fi_context2 context;
	struct iovec iov = { &value, sizeof(value) };
	struct fi_rma_iov there = { .addr = 0, .len = sizeof(value), .key = KEY };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = own->to,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.context = &context,
	};
	ssize_t ret = fi_writemsg(own->node.ep, &msg, FI_COMPLETION);

	CHECK(!ret || ret == -FI_EAGAIN);
	return !ret;
}

static unsigned int read_some(struct node *node)
{
	struct fi_cq_tagged_entry entries[16];
	ssize_t ret = fi_cq_read(node->cq, entries, 16);

	CHECK(ret > 0 || ret == -FI_EAGAIN);
	return ret > 0 ? (unsigned int)ret : 0;
}

/* Post writes, and read all completions, those of the other thread's sends included. */
static void write_all(struct initiator *own)
{
	unsigned int posted = 0, ended = 0;

	while (ended < 2 * own->count) {
		if (posted < own->count)
			posted += post_write(own);
		ended += read_some(&own->node);
	}
	CHECK(ended == 2 * own->count);
}

static void initiate(void *arg)
{
	static struct initiator own = {
		.node = { .threading = FI_THREAD_COMPLETION, .caps = FI_RMA },
	};
	struct meeting *meeting = arg;
	pthread_t thread;

	own.count = meeting->count;
	node_open_as(&own.node, 0);
	CHECK(fi_av_insert(own.node.av, meeting->name, 1, &own.to, 0, NULL) == 1);
	CHECK(!pthread_create(&thread, NULL, send_all, &own));
	write_all(&own);
	CHECK(!pthread_join(thread, NULL));
	node_close(&own.node);
}

/* Has the child ended, with 0? */
static bool has_ended(pid_t pid)
{
	int status;
	pid_t ended = waitpid(pid, &status, WNOHANG);

	CHECK(ended >= 0);
	CHECK(!ended || (WIFEXITED(status) && !WEXITSTATUS(status)));
	return ended;
}

static void two_threads_post(void)
{
	struct meeting meeting = { .count = limit_amount() ? FEW : MANY };
	struct node node = { .caps = FI_RMA };
	size_t name_len = sizeof(meeting.name);
	static uint64_t memory;
	struct fid_mr *mr;
	pid_t pid;

	node_open_as(&node, 0);
	CHECK_OK(fi_mr_reg(node.domain, &memory, sizeof(memory), FI_REMOTE_WRITE, 0,
		KEY, 0, &mr, NULL));
	CHECK_OK(fi_getname(&node.ep->fid, meeting.name, &name_len));
	pid = child(initiate, &meeting, 60);
	receive_all(&node, meeting.count);
	/* The last writes may still be under way. */
	while (!has_ended(pid))
		(void)read_some(&node);
	CHECK_OK(fi_close(&mr->fid));
	node_close(&node);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "two_threads_post", two_threads_post, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
