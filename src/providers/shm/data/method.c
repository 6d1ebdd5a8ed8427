/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/method.h"

#include <stdlib.h>

#include "sys/choice.h"
#include "sys/clock.h"

enum {
	/* Classes of lengths (shm_class_of); the last one has no end. */
	CLASSES = 10,
	/* Messages of the first ones can be sent at once. They are too short for two
	 * ends to copy them. */
	EAGER_CLASSES = 2,
	/* The first class in which copies by the kernel mostly take less time. */
	SHARED_CLASS = 4,
};

struct shm_methods {
	/* Class and method of the last transfers of a measured class, and when they
	 * ended (wf_now_ns): number n at n % WF_CHOICE_SPAN_MAX, of @ended in all. */
	uint8_t class;
	uint8_t method;
	uint32_t ended;
	uint64_t ended_ns[WF_CHOICE_SPAN_MAX];
	struct wf_choice choice[CLASSES]; /* by class */
};

/* Class of a transfer of @len bytes, which is more than SHM_CLASS_MIN. */
static unsigned int class_of(uint64_t len)
{
	unsigned int class = shm_class_of(len);

	return WF_MIN(class, CLASSES - 1u);
}

/* Messages of the class that fill a wide ring (data/reuse.h) twice, or many of them:
 * behind them the lane is measured as it is in a long stream. */
static unsigned int lap_of(unsigned int class)
{
	unsigned int count = SHM_BYTES / SHM_CLASS_MIN >> class;

	return WF_MAX(
		WF_MIN(count, WF_CHOICE_SKIPPED_MAX + 0u), WF_CHOICE_SKIPPED + 0u);
}

/* The method that is compared with the lane. */
static unsigned int other_of(enum shm_use use, unsigned int class)
{
	return use == SHM_USE_MESSAGE && class < EAGER_CLASSES ? SHM_METHOD_READ
							       : SHM_METHOD_SHARE;
}

static struct wf_choice *choice_of(
	struct shm_conn *conn, enum shm_use use, unsigned int class, bool may_read)
{
	unsigned int methods = 1u << SHM_METHOD_LANE;
	unsigned int kept = SHM_METHOD_LANE;
	struct wf_choice *choice;

	if (may_read) {
		methods |= 1u << other_of(use, class);
		if (class >= SHARED_CLASS)
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
	uint32_t bit = 1u << class, classes = conn->in.by_request & ~bit;

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
		[SHM_USE_WRITE] = "writes",
		[SHM_USE_READ] = "reads",
	};

	unsigned int other = other_of(use, class);

	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"%s of more than %llu bytes %s %s go %s (ns from one to the next: %llu "
		"by shared memory, %llu by the kernel)\n",
		what[use], (unsigned long long)SHM_CLASS_MIN << class,
		use == SHM_USE_WRITE ? "to" : "from", shm_conn_name(conn),
		choice->kept == other ? "from memory to memory" : "by shared memory",
		(unsigned long long)choice->median[SHM_METHOD_LANE],
		(unsigned long long)choice->median[other]);
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

	if (methods->class != class || methods->method != method || !now)
		methods->ended = 0;
	cost = now ? cost_of(methods, choice, now) : 0;
	if (wf_choice_add(choice, method, cost) && cost)
		tell(conn, use, choice, class);
	methods->class = (uint8_t) class;
	methods->method = (uint8_t)method;
	if (other_of(use, class) == SHM_METHOD_READ)
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

	if (!conn->cma || !is_measured(len) || class >= EAGER_CLASSES)
		return;
	choice = choice_of(conn, SHM_USE_MESSAGE, class, true);
	if (!choice)
		return;
	(void)wf_choice_take(choice);
	/* The clock is read only while methods are measured. */
	count(conn, SHM_USE_MESSAGE, class, SHM_METHOD_LANE,
		choice->settled ? 0 : wf_now_ns());
}

void shm_method_no_copies(struct shm_conn *conn)
{
	conn->cma = false;
	shm_reader_by_request(&conn->in, 0);
}
