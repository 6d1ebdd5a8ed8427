/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that a process left unread: where they wait for the next one. */
#include "domain_fixture.h"

#include <arpa/inet.h>

#include "../../log_lines.h"
#include "objects/endpoint/endpoint.h"
#include "objects/local/local.h"
#include "objects/local/unread.h"

enum { ROOM = 8 };

static struct message {
	struct wf_list link;
	bool is_left;
} messages[ROOM];

/* The endpoint below: how many messages it had, and how many of them can be kept. */
static struct {
	unsigned int unread, kept, kept_max, asked;
	fi_addr_t peer;
	int err;
	bool has_taker;
} sim;

static bool is_left(const struct wf_list *link)
{
	return wf_container_of(link, struct message, link)->is_left;
}

static struct wf_list *keep(struct wf_ep *ep, const struct wf_op *op)
{
	struct message *kept = &messages[sim.kept];

	sim.asked++;
	if (sim.kept == sim.kept_max)
		return NULL;
	sim.kept++;
	kept->is_left = true;
	return &kept->link;
}

static const struct wf_local_left left = { .is_left = is_left, .keep = keep };

void __wrap_wf_local_remove(
	struct wf_local *below, fi_addr_t peer, int err, struct wf_unread *unread);

void __wrap_wf_local_remove(
	struct wf_local *below, fi_addr_t peer, int err, struct wf_unread *unread)
{
	struct wf_op op = { .kind = WF_OP_SEND };

	sim.peer = peer;
	sim.err = err;
	sim.has_taker = unread != NULL;
	for (unsigned int i = 0; unread && i < sim.unread; i++)
		unread->take(unread, &op);
}

/* The numbers of the messages in @list. */
static const char *order(const struct wf_list *list)
{
	static char text[ROOM + 1];
	size_t len = 0;

	for (const struct wf_list *link = list->next; link != list; link = link->next)
		text[len++] =
			(char)('0' + (wf_container_of(link, struct message, link) -
					     messages));
	text[len] = '\0';
	return text;
}

static bool take_over(struct domain_fixture *f, int err, unsigned int unread,
	unsigned int kept_max, struct wf_list *pending)
{
	struct wf_ep ep = { .domain = &f->domain };
	struct wf_local below = { .above = &ep };
	const union wf_sockaddr addr = { .in = { .sin_family = AF_INET,
						 .sin_addr.s_addr = htonl(0x0a000001),
						 .sin_port = htons(7) } };

	memset(&sim, 0, sizeof(sim));
	sim.unread = unread;
	sim.kept_max = kept_max;
	log_lines_start();
	return wf_local_take_over(&below, 5, err, &addr, pending, &left);
}

static void start(struct wf_list *pending)
{
	memset(messages, 0, sizeof(messages));
	wf_list_init(pending);
	/* One that was left before, and one that was posted since. */
	messages[6].is_left = true;
	wf_list_push(pending, &messages[6].link);
	wf_list_push(pending, &messages[7].link);
}

static void they_wait_in_front(void **state)
{
	struct wf_list pending;

	start(&pending);
	assert_true(take_over(*state, FI_ECONNRESET, 3, 3, &pending));
	assert_int_equal(sim.peer, 5);
	assert_int_equal(sim.err, FI_ECONNRESET);
	assert_string_equal(order(&pending), "60127");
	assert_true(log_lines_have(
		"fi_sockaddr_in://10.0.0.1:7 left 3 messages unread: they wait for"));
	assert_false(log_lines_have("are lost"));
}

/* An orderly end leaves nothing. */
static void nothing_is_left_without_an_error(void **state)
{
	struct wf_list pending;

	start(&pending);
	assert_false(take_over(*state, 0, 3, 3, &pending));
	assert_false(sim.has_taker);
	assert_string_equal(order(&pending), "67");
	assert_false(take_over(*state, FI_ECONNRESET, 0, 3, &pending));
	assert_true(sim.has_taker);
	assert_string_equal(order(&pending), "67");
	assert_false(log_lines_have("unread"));
}

/* After one that cannot be kept none is, so that the order stays. */
static void without_memory_the_rest_is_lost(void **state)
{
	struct wf_list pending;

	start(&pending);
	assert_true(take_over(*state, FI_ECONNRESET, 3, 1, &pending));
	assert_string_equal(order(&pending), "607");
	assert_int_equal(sim.asked, 2);
	assert_true(log_lines_have("left 1 messages unread"));
	assert_true(log_lines_have(
		"messages that fi_sockaddr_in://10.0.0.1:7 left unread are lost: "));
	start(&pending);
	assert_false(take_over(*state, FI_ECONNRESET, 3, 0, &pending));
	assert_string_equal(order(&pending), "67");
	assert_true(log_lines_have("are lost: "));
	assert_false(log_lines_have("they wait"));
}

static void those_of_an_earlier_process_stay(void **state)
{
	struct wf_list queue, pending;

	memset(messages, 0, sizeof(messages));
	wf_list_init(&queue);
	wf_list_init(&pending);
	for (int i = 0; i < 4; i++) {
		messages[i].is_left = i % 2;
		wf_list_push(&queue, &messages[i].link);
	}
	wf_list_push(&pending, &messages[5].link);
	assert_true(wf_local_keep_left(&queue, &pending, &left));
	assert_string_equal(order(&queue), "02");
	assert_string_equal(order(&pending), "135");
	assert_false(wf_local_keep_left(&queue, &pending, &left));
	assert_string_equal(order(&pending), "135");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(they_wait_in_front),
		DOMAIN_TEST(nothing_is_left_without_an_error),
		DOMAIN_TEST(without_memory_the_rest_is_lost),
		DOMAIN_TEST(those_of_an_earlier_process_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
