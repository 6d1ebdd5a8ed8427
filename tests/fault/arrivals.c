/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thousand clients that arrive at one endpoint at the same moment: reliable
 * datagrams, connections, and a server that has not descriptors enough for all of them.
 * Every message arrives once and in order, and everybody is answered.
 *
 * The clients are endpoints of a few processes: each has sockets of its own.
 */
#include "fault.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
	PROCESSES = 10,
	EACH = 100, /* clients in a process */
	FEW = 30,   /* the same where most have to come again */
	CLIENTS = PROCESSES * EACH,
	MESSAGES = 3,
};

/* How many there are this time. */
static unsigned int each = EACH, clients_count = CLIENTS;

struct word {
	uint32_t who, number;
	uint16_t port; /* port to which the answer is sent */
};

struct crowd {
	struct signal_pipe ready, go, over;
	uint16_t port;
	int process;           /* the process that is being started */
	unsigned int fd_limit; /* of the server; 0: as it is */
	bool leave;            /* A client closes when it has been answered. */
};

static struct crowd *new_crowd(void)
{
	struct crowd *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(crowd != MAP_FAILED);
	pipe_open(&crowd->ready);
	pipe_open(&crowd->go);
	pipe_open(&crowd->over);
	crowd->port = free_port();
	return crowd;
}

static void limit_descriptors(unsigned int count)
{
	struct rlimit limit = { count, count };

	if (count)
		CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

/* Everyone's messages, each one once and in the order in which they were sent. */
static uint32_t heard[CLIENTS];
static unsigned int complete;

/* True: it was the client's last one. */
static bool hear(const struct word *word)
{
	CHECK(word->who < clients_count && word->number == heard[word->who]);
	if (++heard[word->who] < MESSAGES)
		return false;
	complete++;
	return true;
}

/* Start the processes of clients and the server, let go, wait for the end. */
static void run_crowd(
	struct crowd *crowd, void (*server)(void *), void (*clients)(void *))
{
	pid_t pids[PROCESSES + 1];

	pids[PROCESSES] = child(server, crowd, 120);
	pipe_wait(&crowd->ready);
	for (int i = 0; i < PROCESSES; i++) {
		crowd->process = i;
		pids[i] = child(clients, crowd, 120);
		pipe_wait(&crowd->ready);
	}
	for (int i = 0; i < PROCESSES; i++)
		pipe_tell(&crowd->go);
	for (int i = 0; i < PROCESSES; i++)
		join(pids[i]);
	pipe_tell(&crowd->over);
	join(pids[PROCESSES]);
}

/* ---- reliable datagrams ---- */

enum { POSTED = 256 };

static void rdm_server(void *arg)
{
	static struct word in[POSTED], out[CLIENTS];
	static struct fi_context2 rx[POSTED], tx[CLIENTS];
	struct crowd *crowd = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	unsigned int answered = 0;
	struct node node;

	node_open(&node, crowd->port);
	for (int i = 0; i < POSTED; i++)
		node_receive(&node, &in[i], sizeof(in[i]), 0, &rx[i]);
	limit_descriptors(crowd->fd_limit);
	pipe_tell(&crowd->ready);
	while (complete < clients_count || answered < clients_count) {
		struct fi_context2 *context;
		long i;

		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		context = entry.op_context;
		if (context >= tx && context < tx + CLIENTS) {
			answered++;
			continue;
		}
		i = context - rx;
		CHECK(i >= 0 && i < POSTED);
		if (hear(&in[i])) {
			uint32_t who = in[i].who;

			out[who] = in[i];
			CHECK(node_send(&node, node_peer(&node, in[i].port), &out[who],
				sizeof(out[who]), 1, &tx[who], LIMIT_MS));
		}
		node_receive(&node, &in[i], sizeof(in[i]), 0, &rx[i]);
	}
	node_drive_until(&node, &crowd->over);
	node_close(&node);
}

struct client {
	struct fid_ep *ep;
	struct fi_context2 rx, tx[MESSAGES];
	struct word in, out[MESSAGES];
	int sent;
	bool answered;
};

static void open_client(struct node *node, struct client *c)
{
	CHECK_OK(fi_endpoint(node->domain, node->info, &c->ep, NULL));
	CHECK_OK(fi_ep_bind(c->ep, &node->av->fid, 0));
	CHECK_OK(fi_ep_bind(c->ep, &node->cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_enable(c->ep));
	CHECK_OK(fi_trecv(
		c->ep, &c->in, sizeof(c->in), NULL, FI_ADDR_UNSPEC, 1, 0, &c->rx));
}

/* One message of each client in turn, so that all of them connect at once. */
static void send_round(struct node *node, struct client *clients, uint32_t first,
	uint32_t number, fi_addr_t server)
{
	for (uint32_t i = 0; i < each; i++) {
		struct client *c = &clients[i];
		ssize_t ret;

		c->out[number] =
			(struct word){ first + i, number, node_port_of(c->ep) };
		while ((ret = fi_tsend(c->ep, &c->out[number], sizeof(c->out[number]),
				NULL, server, 0, &c->tx[number])) == -FI_EAGAIN)
			(void)fi_cq_read(node->cq, NULL, 0);
		CHECK_OK(ret);
	}
}

static struct client *client_of(struct client *clients, const void *context)
{
	size_t at = (size_t)((const char *)context - (const char *)clients);

	CHECK(at < EACH * sizeof(*clients));
	return &clients[at / sizeof(*clients)];
}

static void rdm_clients(void *arg)
{
	static struct client clients[EACH];
	struct crowd *crowd = arg;
	uint32_t first = (uint32_t)crowd->process * each;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	bool leave = crowd->leave;
	struct node node;
	fi_addr_t server;

	node_open(&node, 0);
	server = node_peer(&node, crowd->port);
	for (unsigned int i = 0; i < each; i++)
		open_client(&node, &clients[i]);
	pipe_tell(&crowd->ready);
	pipe_wait(&crowd->go);
	for (uint32_t n = 0; n < MESSAGES; n++)
		send_round(&node, clients, first, n, server);
	for (int left = (int)each * (MESSAGES + 1); left; left--) {
		int got = node_wait(&node, &entry, &err, LIMIT_MS);
		struct client *c;

		if (got < 0)
			fprintf(stderr, "error %s\n", fi_strerror(err.err));
		CHECK(got == 1);
		c = client_of(clients, entry.op_context);
		if (entry.flags & FI_SEND) {
			c->sent++;
		} else {
			CHECK(!c->answered);
			c->answered = true;
			CHECK(c->in.who == first + (uint32_t)(c - clients));
		}
		if (leave && c->answered && c->sent == MESSAGES)
			CHECK_OK(fi_close(&c->ep->fid));
	}
	for (unsigned int i = 0; !leave && i < each; i++)
		CHECK_OK(fi_close(&clients[i].ep->fid));
	node_close(&node);
}

static void a_thousand_at_an_rdm_endpoint(void)
{
	run_crowd(new_crowd(), rdm_server, rdm_clients);
}

/* The log is written to a file meanwhile; returns how often it contains @text. */
static unsigned int count_in_log(FILE *log, const char *text)
{
	unsigned int count = 0;
	char line[512];

	rewind(log);
	while (fgets(line, sizeof(line), log))
		count += strstr(line, text) != NULL;
	return count;
}

static FILE *log_to_file(void)
{
	FILE *log = tmpfile();

	CHECK(log);
	CHECK(!setenv("FI_LOG_LEVEL", "warn", 1));
	CHECK(dup2(fileno(log), STDERR_FILENO) >= 0);
	return log;
}

/* There are so few descriptors that most clients have to try again: those that were
 * answered make room. The log mentions it, but not for each client. */
static void few_descriptors_for_many(void (*server)(void *), void (*clients)(void *))
{
	struct crowd *crowd = new_crowd();
	FILE *log = log_to_file();
	unsigned int lines;

	each = FEW;
	clients_count = PROCESSES * FEW;
	crowd->fd_limit = 60;
	crowd->leave = true;
	run_crowd(crowd, server, clients);
	lines = count_in_log(log, "no file descriptor is left");
	CHECK(lines >= 1 && lines < clients_count);
}

static void few_descriptors_rdm(void)
{
	few_descriptors_for_many(rdm_server, rdm_clients);
}

/* ---- connections ---- */

struct msg_side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
};

static void msg_open(struct msg_side *side, uint16_t port, uint64_t flags)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_info *hints = fi_allocinfo();
	char service[16];

	CHECK(hints);
	hints->fabric_attr->prov_name = strdup("tcp");
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	snprintf(service, sizeof(service), "%u", port);
	CHECK_OK(fi_getinfo(
		FI_VERSION(2, 6), "127.0.0.1", service, flags, hints, &side->info));
	fi_freeinfo(hints);
	CHECK_OK(fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	CHECK_OK(fi_domain(side->fabric, side->info, &side->domain, NULL));
	CHECK_OK(fi_eq_open(side->fabric, &eq_attr, &side->eq, NULL));
	CHECK_OK(fi_cq_open(side->domain, &cq_attr, &side->cq, NULL));
}

static void msg_close(struct msg_side *side)
{
	CHECK_OK(fi_close(&side->cq->fid));
	CHECK_OK(fi_close(&side->eq->fid));
	CHECK_OK(fi_close(&side->domain->fid));
	CHECK_OK(fi_close(&side->fabric->fid));
	fi_freeinfo(side->info);
}

/* One connection, on either side. */
struct link {
	struct link *next; /* server: all that ever were */
	struct fid_ep *ep; /* NULL: closed */
	struct fi_context2 rx, tx;
	struct word in, out;
	uint32_t who, number;
	bool again; /* was sent away, comes back */
};

/* False: no descriptor is left for it. */
static bool link_open(struct msg_side *side, struct fi_info *info, struct link *link)
{
	if (fi_endpoint(side->domain, info, &link->ep, link))
		return false;
	CHECK_OK(fi_ep_bind(link->ep, &side->eq->fid, 0));
	CHECK_OK(fi_ep_bind(link->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_enable(link->ep));
	CHECK_OK(fi_recv(link->ep, &link->in, sizeof(link->in), NULL, 0, &link->rx));
	return true;
}

static void link_close(struct link *link)
{
	CHECK_OK(fi_close(&link->ep->fid));
	link->ep = NULL;
}

static void link_send(struct msg_side *side, struct link *link)
{
	ssize_t ret;

	while ((ret = fi_send(link->ep, &link->out, sizeof(link->out), NULL, 0,
			&link->tx)) == -FI_EAGAIN)
		(void)fi_cq_read(side->cq, NULL, 0);
	CHECK_OK(ret);
}

/* 1: an event, -1: an error, 0: none. */
static int next_event(struct msg_side *side, uint32_t *event,
	struct fi_eq_cm_entry *entry, struct fi_eq_err_entry *err)
{
	ssize_t ret = fi_eq_read(side->eq, event, entry, sizeof(*entry), 0);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == -FI_EAVAIL) {
		memset(err, 0, sizeof(*err));
		CHECK(fi_eq_readerr(side->eq, err, 0) > 0);
		return -1;
	}
	CHECK(ret == sizeof(*entry));
	return 1;
}

/* Call @done with the link of each completion. Receives that end with their connection
 * are not reported. */
static void for_each_done(struct msg_side *side,
	void (*done)(struct msg_side *side, struct link *link, bool is_send))
{
	struct fi_cq_tagged_entry entries[64];
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret = fi_cq_read(side->cq, entries, 64);

	if (ret == -FI_EAVAIL) {
		CHECK(fi_cq_readerr(side->cq, &err, 0) == 1);
		CHECK(err.flags & FI_RECV && err.err == FI_ECANCELED);
		return;
	}
	CHECK(ret > 0 || ret == -FI_EAGAIN);
	for (ssize_t i = 0; i < ret; i++) {
		bool is_send = entries[i].flags & FI_SEND;
		char *context = entries[i].op_context;

		done(side,
			(struct link *)(context -
					(is_send ? offsetof(struct link, tx)
						 : offsetof(struct link, rx))),
			is_send);
	}
}

/* ... the server ... */

static struct link *all;

static void accept_link(
	struct msg_side *side, struct fid_pep *pep, struct fi_info *info)
{
	struct link *link = calloc(1, sizeof(*link));

	CHECK(link);
	if (link_open(side, info, link)) {
		link->next = all;
		all = link;
		CHECK_OK(fi_accept(link->ep, NULL, 0));
	} else {
		CHECK_OK(fi_reject(pep, info->handle, NULL, 0));
		free(link);
	}
	fi_freeinfo(info);
}

/* Links are freed at the end: a completion may still name them. */
static void serve_events(struct msg_side *side, struct fid_pep *pep)
{
	struct fi_eq_cm_entry entry;
	struct fi_eq_err_entry err;
	uint32_t event;
	int got;

	while ((got = next_event(side, &event, &entry, &err))) {
		if (got < 0)
			link_close(err.context);
		else if (event == FI_CONNREQ)
			accept_link(side, pep, entry.info);
		else if (event == FI_SHUTDOWN)
			link_close(entry.fid->context);
	}
}

static unsigned int answered;

static void serve_link(struct msg_side *side, struct link *link, bool is_send)
{
	if (is_send) {
		answered++;
		return;
	}
	if (hear(&link->in)) {
		link->out = link->in;
		link_send(side, link);
	}
	if (link->ep)
		CHECK_OK(fi_recv(
			link->ep, &link->in, sizeof(link->in), NULL, 0, &link->rx));
}

static void msg_server(void *arg)
{
	struct crowd *crowd = arg;
	struct msg_side side;
	struct fid_pep *pep;

	msg_open(&side, crowd->port, FI_SOURCE);
	CHECK_OK(fi_passive_ep(side.fabric, side.info, &pep, NULL));
	CHECK_OK(fi_pep_bind(pep, &side.eq->fid, 0));
	CHECK_OK(fi_listen(pep));
	limit_descriptors(crowd->fd_limit);
	pipe_tell(&crowd->ready);
	while (complete < clients_count || answered < clients_count) {
		serve_events(&side, pep);
		for_each_done(&side, serve_link);
	}
	while (!pipe_told(&crowd->over)) {
		serve_events(&side, pep);
		for_each_done(&side, serve_link);
	}
	while (all) {
		struct link *link = all;

		all = link->next;
		if (link->ep)
			link_close(link);
		free(link);
	}
	CHECK_OK(fi_close(&pep->fid));
	msg_close(&side);
}

/* ... the clients ... */

static void link_connect(struct msg_side *side, struct link *link)
{
	CHECK(link_open(side, side->info, link));
	CHECK_OK(fi_connect(link->ep, NULL, NULL, 0));
}

static void link_say(struct msg_side *side, struct link *link)
{
	link->out = (struct word){ .who = link->who, .number = link->number++ };
	link_send(side, link);
}

/* A client that was rejected tries again. */
static void client_events(struct msg_side *side, bool again)
{
	struct fi_eq_cm_entry entry;
	struct fi_eq_err_entry err;
	struct link *link;
	uint32_t event;
	int got;

	while ((got = next_event(side, &event, &entry, &err))) {
		if (got > 0) {
			CHECK(event == FI_CONNECTED);
			link_say(side, entry.fid->context);
			continue;
		}
		if (!again)
			fprintf(stderr, "connecting: %s\n", fi_strerror(err.err));
		CHECK(again);
		link = err.context;
		CHECK(!link->number);
		link_close(link);
		link->again = true;
	}
}

static void come_again(struct msg_side *side, struct link *clients)
{
	for (unsigned int i = 0; i < each; i++) {
		if (!clients[i].again)
			continue;
		clients[i].again = false;
		link_connect(side, &clients[i]);
	}
}

static bool leaving;

static void client_done(struct msg_side *side, struct link *link, bool is_send)
{
	if (is_send) {
		if (link->number < MESSAGES)
			link_say(side, link);
		return;
	}
	CHECK(link->in.who == link->who && link->number == MESSAGES);
	if (leaving)
		link_close(link);
	answered++;
}

static void msg_clients(void *arg)
{
	static struct link clients[EACH];
	struct crowd *crowd = arg;
	uint32_t first = (uint32_t)crowd->process * each;
	struct msg_side side;
	int turns = 0;

	leaving = crowd->leave;
	msg_open(&side, crowd->port, 0);
	pipe_tell(&crowd->ready);
	pipe_wait(&crowd->go);
	for (uint32_t i = 0; i < each; i++) {
		clients[i].who = first + i;
		link_connect(&side, &clients[i]);
	}
	while (answered < each) {
		client_events(&side, leaving);
		for_each_done(&side, client_done);
		(void)usleep(1000); /* there are others */
		if (++turns % 8 == 0)
			come_again(&side, clients);
	}
	for (uint32_t i = 0; i < each; i++)
		if (clients[i].ep)
			link_close(&clients[i]);
	msg_close(&side);
}

static void a_thousand_at_a_passive_endpoint(void)
{
	run_crowd(new_crowd(), msg_server, msg_clients);
}

static void few_descriptors_msg(void)
{
	few_descriptors_for_many(msg_server, msg_clients);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "a_thousand_at_an_rdm_endpoint", a_thousand_at_an_rdm_endpoint, 120 },
		{ "a_thousand_at_a_passive_endpoint", a_thousand_at_a_passive_endpoint,
			120 },
		{ "few_descriptors_rdm", few_descriptors_rdm, 120 },
		{ "few_descriptors_msg", few_descriptors_msg, 120 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
