/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/method.h"

#include <stdlib.h>

#include "sys/choice.h"

enum {
	/* Classes of lengths: each one ends below twice the length with which it
	 * begins; the last one has no end. */
	MEASURED_MIN = 8 << 10,
	CLASSES = 10,
	/* The first class in which copies by the kernel mostly take less time. */
	SHARED_CLASS = 5,
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

/* Class of the length @len, which is MEASURED_MIN or more. */
static unsigned int class_of(uint64_t len)
{
	unsigned int class = 63 - (unsigned int)__builtin_clzll(len / MEASURED_MIN);

	return WF_MIN(class, CLASSES - 1u);
}

/* Messages of the class that fill a wide ring (data/reuse.h) twice, or many of them:
 * behind them the lane is measured as it is in a long stream. */
static unsigned int lap_of(unsigned int class)
{
	unsigned int count = 2 * SHM_BYTES / MEASURED_MIN >> class;

	return WF_MAX(
		WF_MIN(count, WF_CHOICE_SKIPPED_MAX + 0u), WF_CHOICE_SKIPPED + 0u);
}

static struct wf_choice *choice_of(
	struct shm_conn *conn, enum shm_use use, uint64_t len, bool may_read)
{
	unsigned int methods = 1u << SHM_METHOD_LANE, class = class_of(len);
	unsigned int kept = SHM_METHOD_LANE;
	struct wf_choice *choice;

	if (may_read) {
		methods |= 1u << SHM_METHOD_SHARE;
		kept = class < SHARED_CLASS ? SHM_METHOD_LANE : SHM_METHOD_SHARE;
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
	if (!shm_params.measure_copies || len < MEASURED_MIN)
		return;
	choice = choice_of(conn, use, len, may_read);
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

	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"%s of %llu bytes and more %s %s go %s (ns from one to the next: %llu "
		"by shared memory, %llu by the kernel)\n",
		what[use], (unsigned long long)MEASURED_MIN << class,
		use == SHM_USE_WRITE ? "to" : "from", shm_conn_name(conn),
		choice->kept == SHM_METHOD_SHARE ? "from memory to memory"
						 : "by shared memory",
		(unsigned long long)choice->median[SHM_METHOD_LANE],
		(unsigned long long)choice->median[SHM_METHOD_SHARE]);
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

void shm_method_end(struct shm_conn *conn, const struct shm_chosen *chosen,
	uint64_t len, uint64_t now)
{
	unsigned int class;
	/* A message for which the lane was chosen may have been read in the end,
	 * because the sender did not begin: its time is what the choice cost. */
	uint8_t method = chosen->method;
	struct shm_methods *methods = conn->methods[chosen->use];
	struct wf_choice *choice;
	uint64_t cost;

	if (!chosen->measured || !methods)
		return;
	class = class_of(len);
	choice = &methods->choice[class];
	if (methods->class != class || methods->method != method)
		methods->ended = 0;
	cost = now ? cost_of(methods, choice, now) : 0;
	if (wf_choice_add(choice, method, cost) && cost)
		tell(conn, chosen->use, choice, class);
	methods->class = (uint8_t) class;
	methods->method = method;
}
