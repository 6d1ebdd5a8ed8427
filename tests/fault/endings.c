/* SPDX-License-Identifier: BSD-2-Clause */
/* What was sent arrives although its sender is killed or closes its endpoint. */
#include "fault.h"

#include <sys/mman.h>

struct leaver {
	uint16_t port, client; /* its own, and where messages go */
	struct signal_pipe ready, go;
	int count; /* of messages that completed */
};

/* Not so long that it would wait for its receive. */
enum { LAST_WORDS = 5000 };

static void speak_and_go(void *arg)
{
	struct leaver *leaver = arg;
	static uint8_t buf[LAST_WORDS];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx[5];
	struct node node;
	fi_addr_t client;

	node_open(&node, leaver->port);
	client = node_peer(&node, leaver->client);
	for (int i = 0; i < 5; i++)
		CHECK(node_send(&node, client, buf, sizeof(buf), 1, &tx[i], LIMIT_MS));
	for (int i = 0; i < 5; i++)
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	pipe_tell(&leaver->ready);
	for (;;)
		(void)pause();
}

/* What arrived from one that is gone is received, although sending to it fails. */
static void hear_last_words(void)
{
	static uint8_t in[LAST_WORDS];
	struct leaver leaver = { .port = free_port() };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx, tx[8];
	struct node node;
	fi_addr_t peer;
	pid_t pid;

	node_open(&node, 0);
	peer = node_peer(&node, leaver.port);
	leaver.client = node_port(&node);
	pipe_open(&leaver.ready);
	pipe_open(&leaver.go);
	pid = child(speak_and_go, &leaver, 60);
	/* The connection is made, but no more than the beginning is read. */
	node_receive(&node, in, sizeof(in), 0, &rx);
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	pipe_tell(&leaver.go);
	pipe_wait(&leaver.ready);
	kill_and_reap(pid);
	for (int i = 0; i < 8; i++)
		CHECK_OK(fi_tsend(node.ep, in, 100, NULL, peer, 1, &tx[i]));
	for (int heard = 0; heard < 4; heard++) {
		int got;

		node_receive(&node, in, sizeof(in), 0, &rx);
		do {
			got = node_wait(&node, &entry, &err, LIMIT_MS);
			CHECK(got > 0 || (got < 0 && err.op_context != &rx));
		} while (got < 0 || entry.op_context != &rx);
		CHECK(entry.len == sizeof(in));
	}
	node_close(&node);
	pipe_close(&leaver.ready);
	pipe_close(&leaver.go);
}

static void last_words_are_heard(void)
{
	CHECK(!setenv("FI_TCP_CONNECT_TIMEOUT", "1000", 1));
	CHECK(!setenv("FI_SHM_CONNECT_TIMEOUT", "1000", 1));
	CHECK(!setenv("FI_OFI_RXM_CONNECT_TIMEOUT", "1000", 1));
	for (int round = 0; round < 10; round++)
		hear_last_words();
}

enum { PARTING = 3000, PARTING_LEN = 1000 };

static void send_and_close(void *arg)
{
	static uint8_t buf[PARTING_LEN];
	static struct fi_context2 tx[PARTING];
	struct leaver *leaver = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	int done = 0, sent = 0;
	struct node node;
	fi_addr_t client;

	node_open(&node, leaver->port);
	client = node_peer(&node, leaver->client);
	node_receive_exact(&node, buf, sizeof(buf), 2, &tx[0]);
	pipe_tell(&leaver->ready);
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	/* As many messages as the kernel accepts while the peer does not read; at least
	 * some. */
	while (sent < PARTING) {
		ssize_t ret;

		CHECK_OK(fi_tsend(
			node.ep, buf, sizeof(buf), NULL, client, 1, &tx[sent++]));
		for (int i = 0; i < 200 && done < sent; i++) {
			ret = fi_cq_read(node.cq, &entry, 1);
			CHECK(ret == 1 || ret == -FI_EAGAIN);
			done += ret == 1;
			if (ret < 0 && sent == 1) /* connecting */
				i = (int)usleep(50);
		}
		if (done < sent)
			break;
	}
	leaver->count = done;
	pipe_tell(&leaver->ready);
	pipe_wait(&leaver->go); /* something came that is not read */
	node_close(&node);
}

/* Messages that completed before their sender closed arrive, even if the sender had
 * unread messages. */
static void a_close_takes_nothing_back(void)
{
	static uint8_t in[PARTING_LEN];
	struct leaver *leaver = mmap(NULL, sizeof(*leaver), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx, tx;
	struct node node;
	fi_addr_t peer;
	pid_t pid;

	CHECK(leaver != MAP_FAILED);
	/* The peer does not read before the sender is gone: what the kernel has
	 * accepted arrives nevertheless. */
	CHECK(!setenv("FI_FLUSH_TIMEOUT", "200", 1));
	leaver->port = free_port();
	node_open(&node, 0);
	peer = node_peer(&node, leaver->port);
	leaver->client = node_port(&node);
	pipe_open(&leaver->ready);
	pipe_open(&leaver->go);
	pid = child(send_and_close, leaver, 60);
	/* This end makes the connection, so that the identity of the peer need not be
	 * proven later. */
	pipe_wait(&leaver->ready);
	CHECK(node_send(&node, peer, in, sizeof(in), 2, &tx, LIMIT_MS));
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	node_receive(&node, in, sizeof(in), 0, &rx);
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	pipe_wait(&leaver->ready);
	CHECK_OK(fi_tsend(node.ep, in, 100, NULL, peer, 1, &tx));
	pipe_tell(&leaver->go);
	join(pid);
	printf("# %d messages\n", leaver->count);
	for (int heard = 1; heard < leaver->count;) {
		int got;

		node_receive(&node, in, sizeof(in), 0, &rx);
		do {
			got = node_wait(&node, &entry, &err, LIMIT_MS);
			CHECK(got != 0);
		} while (got < 0 || entry.op_context != &rx);
		heard++;
	}
	node_close(&node);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "last_words_are_heard", last_words_are_heard, 60 },
		{ "a_close_takes_nothing_back", a_close_takes_nothing_back, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
