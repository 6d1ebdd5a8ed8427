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
	/* Time (wf_now_ns) when the last transfer of a measured class ended, its class
	 * and its method; 0: none has ended. */
	uint64_t ended_ns;
	/* Time when the one before ended, if its class and its method were the same;
	 * 0: they were not. */
	uint64_t before_ns;
	uint8_t class;
	uint8_t method;
	struct wf_choice choice[CLASSES]; /* by class */
};

/* Class of the length @len, which is MEASURED_MIN or more. */
static unsigned int class_of(uint64_t len)
{
	unsigned int class = 63 - (unsigned int)__builtin_clzll(len / MEASURED_MIN);

	return WF_MIN(class, CLASSES - 1u);
}

/* Messages of the class that fill a wide ring (data/reuse.h), or many of them: behind
 * them the lane is measured as it is in a long stream. */
static unsigned int lap_of(unsigned int class)
{
	unsigned int count = SHM_BYTES / MEASURED_MIN >> class;

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

void shm_method_end(struct shm_conn *conn, const struct shm_chosen *chosen,
	uint64_t len, uint64_t now)
{
	unsigned int class;
	/* A message for which the lane was chosen may have been read in the end,
	 * because the sender did not begin: its time is what the choice cost. */
	uint8_t method = chosen->method;
	struct shm_methods *methods = conn->methods[chosen->use];
	uint64_t cost = 0;

	if (!chosen->measured || !methods)
		return;
	class = class_of(len);
	if (methods->class != class || methods->method != method)
		methods->ended_ns = methods->before_ns = 0;
	/* Times of a peer may be wrong. */
	if (methods->before_ns && methods->before_ns < now)
		cost = (now - methods->before_ns) / 2 + 1;
	methods->before_ns = methods->ended_ns;
	if (wf_choice_add(&methods->choice[class], method, cost) && cost)
		tell(conn, chosen->use, &methods->choice[class], class);
	methods->ended_ns = now;
	methods->class = (uint8_t) class;
	methods->method = method;
}
