/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/method.h"

#include <stdlib.h>

#include "sys/choice.h"
#include "sys/clock.h"

enum {
	/* Transfers of more than MEASURED_MIN << n bytes, and of at most twice as many,
	 * have class n; the last one has no end. */
	MEASURED_MIN = 512,
	CLASSES = 14,
	/* Classes of shm_class_of begin with this one. */
	MESSAGE_CLASS = 3,
	/* The first class in which both ends copy. Shorter messages can be sent at
	 * once. */
	SHARED_CLASS = 6,
	/* The first class in which copies by both ends mostly take less time. */
	LARGE_CLASS = 8,
};

static_assert(MEASURED_MIN << MESSAGE_CLASS == SHM_CLASS_MIN, "one scale");

struct shm_methods {
	/* Class and method of the last transfers of a measured class, and when they
	 * ended (wf_now_ns): number n at n % WF_CHOICE_SPAN_MAX, of @ended in all. */
	uint8_t class;
	uint8_t method;
	uint32_t ended;
	uint64_t ended_ns[WF_CHOICE_SPAN_MAX];
	struct wf_choice choice[CLASSES]; /* by class */
};

/* Class of a transfer of @len bytes, which is more than MEASURED_MIN. */
static unsigned int class_of(uint64_t len)
{
	unsigned int class = shm_class_above(len, MEASURED_MIN);

	return WF_MIN(class, CLASSES - 1u);
}

/* Messages of the class that fill a wide ring (data/reuse.h) twice, or many of them:
 * behind them the lane is measured as it is in a long stream. */
static unsigned int lap_of(unsigned int class)
{
	unsigned int count = SHM_BYTES / MEASURED_MIN >> class;

	return WF_MAX(
		WF_MIN(count, WF_CHOICE_SKIPPED_MAX + 0u), WF_CHOICE_SKIPPED + 0u);
}

/* Bit mask of the methods besides the lane, if the kernel may copy. */
static unsigned int copies_of(unsigned int class)
{
	return class < SHARED_CLASS ? 1u << SHM_METHOD_READ : 1u << SHM_METHOD_SHARE;
}

static struct wf_choice *choice_of(
	struct shm_conn *conn, enum shm_use use, unsigned int class, bool may_read)
{
	unsigned int methods = 1u << SHM_METHOD_LANE;
	unsigned int kept = SHM_METHOD_LANE;
	struct wf_choice *choice;

	if (may_read) {
		methods |= copies_of(class);
		if (class >= LARGE_CLASS && methods >> SHM_METHOD_SHARE & 1)
			kept = SHM_METHOD_SHARE;
	}
	if (!conn->methods[use])
		conn->methods[use] = calloc(1, sizeof(*conn->methods[use]));
	if (!conn->methods[use])
		return NULL; /* no memory: measurements can wait */
	choice = &conn->methods[use]->choice[class];
	if (choice->methods != methods) {
		wf_choice_init(choice, methods, kept);
		wf_choice_skip(choice, SHM_METHOD_LANE, lap_of(class));
	}
	return choice;
}

/* Do measurements decide? */
static bool is_measured(uint64_t len)
{
	return len > SHM_CLASS_MIN && shm_params.measure_copies &&
	       shm_params.cma_size == SIZE_MAX && shm_params.copy == SHM_COPY_AUTO;
}

/* The next message of the class shall take what the choice says: tell the sender
 * whether this endpoint reads it. */
static void want(
	struct shm_conn *conn, const struct wf_choice *choice, unsigned int class)
{
	uint32_t bit = 1u << (class - MESSAGE_CLASS),
		 classes = conn->in.by_request & ~bit;

	if (wf_choice_method(choice) == SHM_METHOD_READ)
		classes |= bit;
	shm_reader_by_request(&conn->in, classes);
}

void shm_method_begin(struct shm_conn *conn, enum shm_use use, uint64_t len,
	bool may_read, struct shm_chosen *ret)
{
	static const uint8_t forced[] = {
		[SHM_COPY_RING] = SHM_METHOD_LANE,
		[SHM_COPY_READ] = SHM_METHOD_READ,
		[SHM_COPY_BOTH] = SHM_METHOD_SHARE,
	};
	struct wf_choice *choice;

	*ret = (struct shm_chosen){ .method = SHM_METHOD_LANE, .use = (uint8_t)use };
	if (shm_params.cma_size != SIZE_MAX) {
		if (may_read && len >= shm_params.cma_size)
			ret->method = SHM_METHOD_READ;
		return;
	}
	if (shm_params.copy != SHM_COPY_AUTO) {
		if (may_read)
			ret->method = forced[shm_params.copy];
		return;
	}
	if (!is_measured(len))
		return;
	choice = choice_of(conn, use, class_of(len), may_read);
	if (!choice)
		return;
	ret->method = (uint8_t)wf_choice_take(choice);
	ret->measured = true;
}

static void tell(const struct shm_conn *conn, enum shm_use use,
	const struct wf_choice *choice, unsigned int class)
{
	static const char *const what[] = {
		[SHM_USE_MESSAGE] = "messages",
	};
	static const char *const names[] = {
		[SHM_METHOD_LANE] = "by shared memory",
		[SHM_METHOD_SHARE] = "by both ends",
		[SHM_METHOD_READ] = "by one end",
	};

	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"%s of more than %llu bytes from %s are copied %s (ns from one to the "
		"next: by shared memory %llu, by both ends %llu, by one %llu; 0: not "
		"measured)\n",
		what[use], (unsigned long long)MEASURED_MIN << class,
		shm_conn_name(conn), names[choice->kept],
		wf_choice_cost(choice, SHM_METHOD_LANE),
		wf_choice_cost(choice, SHM_METHOD_SHARE),
		wf_choice_cost(choice, SHM_METHOD_READ));
}

/* Nanoseconds for each of the last transfers, as many as were under way together; 0:
 * not known. One more has ended at @now. */
static uint64_t cost_of(
	struct shm_methods *methods, const struct wf_choice *choice, uint64_t now)
{
	/* Two: the kernel may end two together that were not under way together. */
	uint32_t span = WF_MAX(choice->span, 2), number = methods->ended++;
	uint64_t first = methods->ended_ns[(number - span) % WF_CHOICE_SPAN_MAX];

	methods->ended_ns[number % WF_CHOICE_SPAN_MAX] = now;
	/* Times of a peer may be wrong. */
	return number >= span && first < now ? (now - first) / span + 1 : 0;
}

/* A transfer by @method ended at @now; 0: it is not known when. */
static void count(struct shm_conn *conn, enum shm_use use, unsigned int class,
	unsigned int method, uint64_t now)
{
	struct shm_methods *methods = conn->methods[use];
	struct wf_choice *choice = &methods->choice[class];
	uint64_t cost;

	/* To read the clock takes a tenth of the time of the shortest transfers. */
	if (now == SHM_METHOD_NOW)
		now = choice->settled ? 0 : wf_now_ns();
	if (methods->class != class || methods->method != method || !now)
		methods->ended = 0;
	cost = now ? cost_of(methods, choice, now) : 0;
	if (wf_choice_add(choice, method, cost) && cost)
		tell(conn, use, choice, class);
	methods->class = (uint8_t) class;
	methods->method = (uint8_t)method;
	if (use == SHM_USE_MESSAGE && class < SHARED_CLASS)
		want(conn, choice, class);
}

void shm_method_end(struct shm_conn *conn, const struct shm_chosen *chosen,
	uint64_t len, uint64_t now)
{
	/* A message for which the lane was chosen may have been read in the end,
	 * because the sender did not begin: its time is what the choice cost. */
	if (chosen->measured && conn->methods[chosen->use])
		count(conn, chosen->use, class_of(len), chosen->method, now);
}

void shm_method_arrived(struct shm_conn *conn, uint64_t len)
{
	unsigned int class = class_of(len);
	struct wf_choice *choice;

	if (!conn->cma || !is_measured(len) || class >= SHARED_CLASS)
		return;
	choice = choice_of(conn, SHM_USE_MESSAGE, class, true);
	if (!choice)
		return;
	(void)wf_choice_take(choice);
	count(conn, SHM_USE_MESSAGE, class, SHM_METHOD_LANE, SHM_METHOD_NOW);
}

void shm_method_no_copies(struct shm_conn *conn)
{
	conn->cma = false;
	shm_reader_by_request(&conn->in, 0);
}
