/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The intra-node engine with members that leave, lie or write garbage. */

enum { MEMBERS = 3 };

struct cards {
	struct coll_node *node[2];
	struct coll_node_card card[2];
};

static void prepare(struct cards *cards)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			coll_node_prepare(&cards->node[i], &cards->card[i]), 0);
}

static void unprepare(struct cards *cards)
{
	for (int i = 0; i < 2; i++)
		coll_node_close(cards->node[i]);
}

static void set_card(struct coll_node_card *card, const struct coll_card *content)
{
	memcpy(card, content, sizeof(*card));
}

static void other_machine_or_user(void **unused)
{
	struct coll_node_card a, b;
	struct coll_card content = { 0 };
	struct cards cards;

	(void)unused;
	prepare(&cards);
	a = cards.card[0];
	assert_true(coll_node_is_local(&a, &cards.card[1]));
	for (int i = 0; i < 5; i++) {
		content = coll_card_get(&cards.card[1]);
		content.layout += i == 0;
		content.uid += i == 1;
		content.boot_id[15] ^= i == 2;
		content.pid_ns += i == 3;
		set_card(&b, &content);
		assert_int_equal(coll_node_is_local(&a, &b), i == 4);
		assert_int_equal(coll_node_is_local(&b, &a), i == 4);
	}
	/* Two members of a layout that this one does not know. */
	content.layout++;
	set_card(&b, &content);
	assert_false(coll_node_is_local(&b, &b));
	unprepare(&cards);
}

/* Member 0 cannot map member 1 with this card, and can with the true one. */
static void refused(struct cards *cards, const struct coll_card *content)
{
	struct coll_node_card both[2] = { cards->card[0] };

	set_card(&both[1], content);
	assert_in_range(-coll_node_attach(cards->node[0], both, 2, 0), 1, 4095);
}

static int descriptor(const char *name, off_t size, unsigned int seals)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, (int)seals), 0);
	return fd;
}

static void card_that_lies(void **unused)
{
	const off_t size = sizeof(struct coll_segment);
	struct cards cards;
	struct coll_card content;
	int fds[2];

	(void)unused;
	prepare(&cards);
	for (int i = 0; i < 4; i++) {
		content = coll_card_get(&cards.card[1]);
		content.pid = i == 0 ? 1 : content.pid;
		content.fd = i == 1 ? -1 : content.fd;
		content.cookie += i == 2;
		content.started += i == 3;
		refused(&cards, &content);
	}
	content = coll_card_get(&cards.card[1]);
	/* A process that there is not, a pipe, and files that could shrink or are too
	 * small. */
	content.pid = UINT32_MAX;
	refused(&cards, &content);
	content = coll_card_get(&cards.card[1]);
	assert_int_equal(pipe(fds), 0);
	content.fd = fds[0];
	refused(&cards, &content);
	close(fds[0]);
	close(fds[1]);
	content.cookie = 0;
	content.fd = descriptor("weft-coll", size, 0);
	refused(&cards, &content);
	close(content.fd);
	content.fd = descriptor("weft-coll", size - 1, F_SEAL_SHRINK | F_SEAL_GROW);
	refused(&cards, &content);
	close(content.fd);
	content.fd = descriptor("other", size, F_SEAL_SHRINK | F_SEAL_GROW);
	refused(&cards, &content);
	close(content.fd);
	/* A segment as it has to be is accepted. */
	content.fd = descriptor("weft-coll", size, F_SEAL_SHRINK | F_SEAL_GROW);
	set_card(&cards.card[1], &content);
	assert_int_equal(coll_node_attach(cards.node[0], cards.card, 2, 0), 0);
	close(content.fd);
	unprepare(&cards);
}

static void random_cards(void **unused)
{
	struct cards cards;
	struct coll_card content;
	uint64_t state = 5;

	(void)unused;
	prepare(&cards);
	for (int i = 0; i < 1000; i++) {
		content = coll_card_get(&cards.card[1]);
		/* Change one byte that attach checks. */
		((uint8_t *)&content)[random_next(&state) %
				      offsetof(struct coll_card, cpu_hash)] ^=
			(uint8_t)(1 + random_next(&state) % 255);
		refused(&cards, &content);
	}
	unprepare(&cards);
}

static void spoil(struct coll_segment *segment, uint64_t *state)
{
	uint64_t value = random_next(state);

	/* Numbers near the right ones do more harm than others. */
	if (value & 1)
		value = value >> 1 & 63;
	switch (random_next(state) % 4) {
	case 0:
		atomic_store(&segment->done, value);
		break;
	case 1:
		atomic_store(&segment->left, random_next(state) % 50 == 0);
		break;
	default:
		atomic_store(
			&segment->line[random_next(state) % COLL_SLOTS].full, value);
	}
}

/* Member 0 writes garbage. The others may get wrong results and errors, and the memory
 * that is theirs is not touched: test_release checks what is behind buffers. */
static void garbage_in_a_segment(void **unused)
{
	uint64_t state = 6;

	(void)unused;
	for (int i = 0; i < 50; i++) {
		struct test_list list = { 0 };
		struct test_group group;

		test_add_random(&list, MEMBERS, 30, 60000, &state);
		test_open(&group, MEMBERS, &list);
		for (int step = 0; step < 3000; step++) {
			struct test_member *m = &group.member[1 + step % 2];
			int ret;

			spoil(group.member[0].node->own, &state);
			if (m->at == list.count)
				continue;
			ret = m->busy ? coll_node_progress(m->node) : test_start(m);
			if (ret) {
				test_release(m);
				m->at = ret < 0 ? list.count : m->at + 1;
			}
		}
		for (uint32_t r = 1; r < MEMBERS; r++)
			if (group.member[r].busy)
				test_release(&group.member[r]);
		test_close(&group);
		test_list_free(&list);
	}
}

static void add(struct test_list *list, enum fi_collective_op kind, size_t count)
{
	test_add(list,
		&(struct cm_call){
			.kind = kind,
			.type = test_type(FI_INT64),
			.op = FI_SUM,
			.count = count,
			.members = MEMBERS,
		},
		false);
}

/* Run the list until the end or an error. */
static int run_to_error(struct test_member *member)
{
	int ret;

	do {
		ret = test_step(member);
	} while (ret >= 0 && member->at < member->list->count);
	return ret;
}

/* The root of broadcasts leaves before the others begin them. */
static void leaves_with_its_work_done(void **unused)
{
	struct test_list list = { 0 };
	struct test_group group;

	(void)unused;
	for (int i = 0; i < COLL_SLOTS; i++)
		add(&list, FI_BROADCAST, 100);
	test_open(&group, MEMBERS, &list);
	assert_int_equal(test_run(&group.member[0]), 0);
	coll_node_close(group.member[0].node);
	add(&list, FI_BARRIER, 0);
	for (uint32_t i = 1; i < MEMBERS; i++) {
		assert_int_equal(run_to_error(&group.member[i]), -FI_ECONNRESET);
		assert_int_equal(group.member[i].at, list.count);
		coll_node_close(group.member[i].node);
	}
	test_list_free(&list);
}

/* A member whose operation failed reports it to the others, although it is alive. */
static void failure_spreads(void **unused)
{
	struct test_list list = { 0 };
	struct test_group group;

	(void)unused;
	/* Member 0 waits for member 1, and member 2 for member 0 alone. */
	add(&list, FI_REDUCE, 1);
	add(&list, FI_BROADCAST, 1);
	test_open(&group, MEMBERS, &list);
	coll_node_close(group.member[1].node);
	assert_int_equal(run_to_error(&group.member[0]), -FI_ECONNRESET);
	assert_int_equal(run_to_error(&group.member[2]), -FI_ECONNRESET);
	assert_int_equal(group.member[2].at, 2);
	coll_node_close(group.member[0].node);
	coll_node_close(group.member[2].node);
	test_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_machine_or_user),
		cmocka_unit_test(card_that_lies),
		cmocka_unit_test(random_cards),
		cmocka_unit_test(garbage_in_a_segment),
		cmocka_unit_test(leaves_with_its_work_done),
		cmocka_unit_test(failure_spreads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
