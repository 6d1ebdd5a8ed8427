/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender whose calls were accepted, and which then makes no call: it computes or
 * sleeps. All of it arrives meanwhile. MSG-003.
 */
#include "fault.h"

enum { LEN = 64, TAG = 1, MANY = 2000 };

enum call { INJECT, SEND, TINJECT, TSEND, CALLS };

struct sender {
	uint8_t name[256];       /* of the receiver */
	enum fi_threading level; /* threading level of the sender's domain */
	enum call call;
	unsigned int count;
	size_t len;
	bool meets;              /* a message was received before, and another sent */
	struct signal_pipe done; /* all has arrived */
};

static uint8_t out[1 << 20];

static ssize_t call_once(struct node *node, fi_addr_t to, const struct sender *sender)
{
	static struct fi_context2 contexts[MANY];
	static unsigned int next;
	void *context = &contexts[next++ % MANY];

	switch (sender->call) {
	case INJECT:
		return fi_inject(node->ep, out, sender->len, to);
	case SEND:
		return fi_send(node->ep, out, sender->len, NULL, to, context);
	case TINJECT:
		return fi_tinject(node->ep, out, sender->len, to, TAG);
	default:
		return fi_tsend(node->ep, out, sender->len, NULL, to, TAG, context);
	}
}

static void read_one(struct node *node)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(node->cq, &entry, 1);

	CHECK(ret == 1 || ret == -FI_EAGAIN);
}

static void call_until_accepted(
	struct node *node, fi_addr_t to, const struct sender *sender)
{
	ssize_t ret = call_once(node, to, sender);

	while (ret == -FI_EAGAIN) {
		read_one(node);
		ret = call_once(node, to, sender);
	}
	CHECK_OK(ret);
}

/* Send a message and wait for its completion, which says that it was delivered. */
static void meet(struct node *node, fi_addr_t to)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 context;

	node_send_level(node, to, out, LEN, TAG, &context, FI_DELIVERY_COMPLETE);
	CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
}

static void send_and_be_silent(void *arg)
{
	struct sender *sender = arg;
	struct node node = { .threading = sender->level };
	fi_addr_t to;

	node_open_as(&node, 0);
	CHECK(fi_av_insert(node.av, sender->name, 1, &to, 0, NULL) == 1);
	if (sender->meets)
		meet(&node, to);
	for (unsigned int i = 0; i < sender->count; i++)
		call_until_accepted(&node, to, sender);
	pipe_wait(&sender->done);
	/* Without closing, which would send it. */
	_exit(0);
}

static void take(struct node *node, bool tagged, size_t len)
{
	static uint8_t in[1 << 20];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 context;

	if (tagged)
		node_receive(node, in, len, TAG, &context);
	else
		CHECK_OK(fi_recv(node->ep, in, len, NULL, FI_ADDR_UNSPEC, &context));
	CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
}

static void all_arrives(struct sender *sender)
{
	size_t name_len = sizeof(sender->name);
	struct node node;
	pid_t pid;

	node_open(&node, 0);
	CHECK_OK(fi_getname(&node.ep->fid, sender->name, &name_len));
	pipe_open(&sender->done);
	pid = child(send_and_be_silent, sender, 60);
	if (sender->meets)
		take(&node, true, LEN);
	for (unsigned int i = 0; i < sender->count; i++)
		take(&node, sender->call >= TINJECT, sender->len);
	pipe_tell(&sender->done);
	join(pid);
	pipe_close(&sender->done);
	node_close(&node);
}

static void all_of(unsigned int count, bool meets, enum fi_threading level)
{
	for (int call = 0; call < CALLS; call++) {
		struct sender sender = {
			.level = level,
			.call = (enum call)call,
			.count = count,
			.len = LEN,
			.meets = meets,
		};

		all_arrives(&sender);
	}
}

static void the_first_message_arrives(void)
{
	all_of(1, false, FI_THREAD_DOMAIN);
	all_of(1, false, FI_THREAD_SAFE);
}

static void a_burst_to_a_new_peer_arrives(void)
{
	all_of(40, false, FI_THREAD_DOMAIN);
	all_of(MANY, false, FI_THREAD_COMPLETION);
}

static void a_burst_arrives(void)
{
	all_of(40, true, FI_THREAD_DOMAIN);
	all_of(MANY, true, FI_THREAD_DOMAIN);
	all_of(MANY, true, FI_THREAD_SAFE);
}

static void long_messages_arrive(void)
{
	static const enum fi_threading levels[] = { FI_THREAD_DOMAIN, FI_THREAD_SAFE };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		struct sender sender = {
			.level = levels[i],
			.call = i ? SEND : TSEND,
			.count = 20,
			.len = sizeof(out),
			.meets = i,
		};

		all_arrives(&sender);
	}
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "the_first_message_arrives", the_first_message_arrives, 60 },
		{ "a_burst_to_a_new_peer_arrives", a_burst_to_a_new_peer_arrives, 60 },
		{ "a_burst_arrives", a_burst_arrives, 60 },
		{ "long_messages_arrive", long_messages_arrive, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
