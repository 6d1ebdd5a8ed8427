/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was injected, or is complete, leaves although its sender makes no further calls:
 * it closes the endpoint, or the process ends with everything open.
 *
 * Sender and receiver are processes of their own, so that neither one's calls move the
 * other. The sender leaves by _exit after it has closed what a plan says, or by exit,
 * which is the end of a process as the library sees it.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitizer.h"
#include "suites.h"

enum {
	BURST = 40,
	LEN = 100,
	LEN_FULL = 4096, /* of messages that fill the way */
	MOST = 8192,
	LIMIT_S = 40,
	TRIES = 16, /* what was put off leaves when one is refused */
	ASLEEP_US = 50000,
	NAME_MAX_LEN = 256,
};

enum ending { CLOSE_EP, CLOSE_ALL, EXIT };

struct plan {
	uint64_t level;      /* default op flags of the sender */
	bool met;            /* the two are connected before the messages */
	bool automatic;      /* the sender's progress */
	bool asleep;         /* the receiver does nothing before the sender closes */
	bool completed;      /* messages are sent and their completions awaited */
	bool tagged, polled; /* the sender looks at its queue between messages */
	int count;           /* of messages; 0: as many as are taken */
	enum ending ending;
};

/* One direction between the two processes. */
struct wire {
	int fd[2];
};

static struct {
	const struct plan *plan;
	struct wire name, go; /* the receiver's name; how many messages there are */
	struct cf_env env;
} stage;

static void adjust(struct fi_info *hints)
{
	hints->tx_attr->op_flags = stage.plan->level;
	if (stage.plan->automatic)
		hints->domain_attr->progress = FI_PROGRESS_AUTO;
	if (!stage.plan->count)
		hints->tx_attr->size = 16;
}

static const struct cf_options options = {
	.caps = FI_TAGGED | FI_MSG, .cq_format = FI_CQ_FORMAT_TAGGED, .adjust = adjust
};

static void tell(struct wire *wire, const void *data, size_t len)
{
	CHECK_EQ(write(wire->fd[1], data, len), len);
}

static void hear(struct wire *wire, void *data, size_t len)
{
	CHECK_EQ(read(wire->fd[0], data, len), len);
}

/* ---- opening either end ---- */

static struct cf_side *open_receiver(void)
{
	struct cf_env *env = &stage.env;
	struct cf_side *side = &env->side[1];
	struct cf_cm_event event;
	char name[NAME_MAX_LEN] = { 0 };
	size_t len = sizeof(name);

	cf_open_domain(env, &options);
	if (cf_target.type == FI_EP_MSG) {
		CHECK_OK(fi_eq_open(
			env->fabric, &(struct fi_eq_attr){ 0 }, &env->eq, NULL));
		(void)cf_listen(env, name, sizeof(name));
		tell(&stage.name, name, sizeof(name));
		(void)cf_eq_wait(env, FI_CONNREQ, &event);
		cf_open_side(env, side, event.entry.info, &options);
		CHECK_OK(fi_accept(side->ep, NULL, 0));
		fi_freeinfo(event.entry.info);
		(void)cf_eq_wait(env, FI_CONNECTED, &event);
		return side;
	}
	cf_open_side(env, side, env->info, &options);
	CHECK_OK(fi_getname(&side->ep->fid, name, &len));
	tell(&stage.name, name, sizeof(name));
	return side;
}

static struct cf_side *open_sender(void)
{
	struct cf_env *env = &stage.env;
	struct cf_side *side = &env->side[0];
	struct cf_cm_event event;
	char name[NAME_MAX_LEN];

	hear(&stage.name, name, sizeof(name));
	cf_open_domain(env, &options);
	if (cf_target.type == FI_EP_MSG)
		CHECK_OK(fi_eq_open(
			env->fabric, &(struct fi_eq_attr){ 0 }, &env->eq, NULL));
	cf_open_side(env, side, env->info, &options);
	if (cf_target.type == FI_EP_MSG) {
		CHECK_OK(fi_connect(side->ep, name, NULL, 0));
		(void)cf_eq_wait(env, FI_CONNECTED, &event);
	} else {
		CHECK_EQ(fi_av_insert(side->av, name, 1, &side->peer, 0, NULL), 1);
	}
	return side;
}

/* ---- messages ---- */

static size_t length(void)
{
	return stage.plan->count ? LEN : LEN_FULL;
}

static ssize_t post(struct cf_side *side, const void *buf, void *context)
{
	if (stage.plan->completed)
		return fi_send(side->ep, buf, length(), NULL, side->peer, context);
	return stage.plan->tagged ? fi_tinject(side->ep, buf, length(), side->peer, 1)
				  : fi_inject(side->ep, buf, length(), side->peer);
}

/* Of those that were taken, how many completed without waiting for the receiver? */
static int completions(struct cf_side *side)
{
	struct fi_cq_tagged_entry entry;
	int done = 0;

	for (int quiet = 0; quiet < 1000;) {
		if (fi_cq_read(side->tx_cq, &entry, 1) == 1) {
			done++;
			quiet = 0;
		} else {
			quiet++;
		}
	}
	return done;
}

/* How many messages the receiver has to get. */
static int send_all(struct cf_side *side)
{
	static struct fi_context2 contexts[MOST];
	uint8_t(*bufs)[LEN_FULL] = cf_map(MOST * sizeof(*bufs));
	const struct plan *plan = stage.plan;
	int sent = 0, wanted = plan->count ? plan->count : MOST;

	for (int tries = 0; sent < wanted && tries < TRIES;) {
		ssize_t ret;

		cf_fill(bufs[sent], length(), (unsigned int)sent);
		ret = post(side, bufs[sent], &contexts[sent]);
		if (ret == -FI_EAGAIN && !plan->count) {
			tries++;
			continue;
		}
		CHECK_OK(ret);
		tries = 0;
		sent++;
		if (plan->polled)
			(void)fi_cq_read(side->tx_cq, NULL, 0);
		if (!plan->completed)
			memset(bufs[sent - 1], 0xff, length());
	}
	return plan->completed ? completions(side) : sent;
}

static void receive_one(struct cf_side *side, int number)
{
	static uint8_t buf[LEN_FULL];
	struct fi_context2 context;

	CHECK_OK(stage.plan->tagged ? fi_trecv(side->ep, buf, sizeof(buf), NULL,
					      FI_ADDR_UNSPEC, 1, 0, &context)
				    : fi_recv(side->ep, buf, sizeof(buf), NULL,
					      FI_ADDR_UNSPEC, &context));
	(void)cf_cq_wait_for(side->rx_cq, &context);
	cf_verify(buf, length(), (unsigned int)number);
}

/* ---- the two processes ---- */

/* A message whose end both wait for. */
static void meet(struct cf_side *side, bool sends)
{
	struct fi_context2 context;
	static uint8_t word[8];

	if (sends)
		CF_RETRY(side->tx_cq, fi_tsend(side->ep, word, sizeof(word), NULL,
					      side->peer, 2, &context));
	else
		CHECK_OK(fi_trecv(side->ep, word, sizeof(word), NULL, FI_ADDR_UNSPEC, 2,
			0, &context));
	(void)cf_cq_wait_for(sends ? side->tx_cq : side->rx_cq, &context);
}

static _Noreturn void be_sender(void)
{
	const struct plan *plan = stage.plan;
	struct cf_side *side;
	int count;

	if (plan->ending == EXIT)
		sanitizer_allow_leaks();
	side = open_sender();
	if (plan->met)
		meet(side, true);
	count = send_all(side);
	tell(&stage.go, &count, sizeof(count));
	switch (plan->ending) {
	case CLOSE_EP:
		CF_CLOSE(side->ep);
		_exit(0);
	case CLOSE_ALL:
		cf_close(&stage.env);
		_exit(0);
	case EXIT:
		exit(0);
	}
	abort();
}

static void be_receiver(void)
{
	const struct plan *plan = stage.plan;
	struct cf_side *side = open_receiver();
	int count = plan->count;

	if (plan->met)
		meet(side, false);
	if (plan->asleep) {
		hear(&stage.go, &count, sizeof(count));
		(void)usleep(ASLEEP_US); /* the sender is about to close */
	}
	for (int i = 0; i < count; i++)
		receive_one(side, i);
	cf_close(&stage.env);
}

static void check_status(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void run(const struct plan *plan)
{
	pid_t pid;

	stage.plan = plan;
	CHECK(!pipe(stage.name.fd) && !pipe(stage.go.fd));
	pid = fork();
	if (!pid) {
		(void)alarm(limit_s(LIMIT_S));
		be_sender();
	}
	/* A sender that fails closes the pipe without a message, which its parent
	 * notices. */
	close(stage.go.fd[1]);
	stage.go.fd[1] = -1;
	be_receiver();
	check_status(pid);
	for (int i = 0; i < 2; i++) {
		close(stage.name.fd[i]);
		close(stage.go.fd[i]);
	}
}

static void need_reliable(void)
{
	if (cf_target.type == FI_EP_DGRAM)
		SKIP("datagrams may be lost");
	CHECK(!setenv("FI_TCP_MAX_INJECT", "4096", 1));
	/* A flush that waits for what never comes meets the watchdog instead. */
	CHECK(!setenv("FI_FLUSH_TIMEOUT", "3600000", 1));
	/* Asked for here and not by the case's capabilities: the first question makes
	 * the provider read its variables. */
	if (!cf_offers(&(struct cf_options){ .caps = FI_LOCAL_COMM }))
		SKIP("processes of one machine do not reach each other");
}

static bool is_offered(const struct plan *plan)
{
	stage.plan = plan;
	return cf_offers(&options);
}

/* ---- cases ---- */

static const uint64_t levels[] = { 0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE,
	FI_DELIVERY_COMPLETE };

static void each_level(struct plan plan)
{
	int runs = 0;

	need_reliable();
	for (size_t i = 0; i < CF_COUNT(levels); i++) {
		plan.level = levels[i];
		if (!is_offered(&plan))
			continue;
		run(&plan);
		runs++;
	}
	if (!runs)
		SKIP("not offered");
}

static void injected_before_a_connection(void)
{
	cf_need_connectionless();
	each_level((struct plan){ .count = 3, .ending = CLOSE_EP });
	each_level((struct plan){ .count = 3, .tagged = true, .ending = CLOSE_ALL });
	each_level((struct plan){ .count = 1, .ending = EXIT });
}

static void injected_in_a_burst(void)
{
	each_level((struct plan){ .count = BURST, .met = true, .ending = CLOSE_EP });
	each_level((struct plan){
		.count = BURST, .met = true, .polled = true, .ending = CLOSE_ALL });
	each_level((struct plan){
		.count = BURST, .met = true, .tagged = true, .ending = EXIT });
}

static void injected_with_a_progress_thread(void)
{
	each_level((struct plan){
		.count = BURST, .met = true, .automatic = true, .ending = CLOSE_EP });
	each_level((struct plan){ .count = 3,
		.met = cf_target.type == FI_EP_MSG,
		.automatic = true,
		.ending = EXIT });
}

/* More than the way to the receiver has room for: the rest is with the sender when it
 * closes. */
static void injected_into_a_full_way(void)
{
	need_reliable();
	for (int i = 0; i < 3; i++) {
		struct plan plan = { .met = true,
			.asleep = true,
			.ending = (enum ending)i,
			.level = i == 1 ? FI_DELIVERY_COMPLETE : 0 };

		if (is_offered(&plan))
			run(&plan);
	}
}

static void complete_and_closed(void)
{
	struct plan plan = { .level = FI_INJECT_COMPLETE,
		.met = true,
		.asleep = true,
		.completed = true,
		.ending = CLOSE_EP };

	need_reliable();
	for (int i = 0; i < 3; i++) {
		plan.ending = (enum ending)i;
		if (!is_offered(&plan))
			SKIP("the level is not offered");
		run(&plan);
	}
}

/* Between processes of this machine. */
CF_SUITE(leaving, CF_CASE(injected_before_a_connection, "CS-006 EP-027", FI_LOCAL_COMM),
	CF_CASE(injected_in_a_burst, "CS-006 EP-027", FI_LOCAL_COMM),
	CF_CASE(injected_with_a_progress_thread, "CS-006 EP-027", FI_LOCAL_COMM),
	CF_CASE(injected_into_a_full_way, "CS-006 EP-027", 0),
	CF_CASE(complete_and_closed, "CS-013 EP-027", FI_LOCAL_COMM));
