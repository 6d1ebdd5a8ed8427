/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer of udp;ofi_rxd whose packets do not fit together: the message that they are of
 * fails, and later ones arrive. */
#include "../log_lines.h"
#include "raw.h"

enum { LEN = 100, FIRST = 8 };

static const uint8_t data[PACKET_MAX];
static uint8_t in[2][LEN];

/* What comes behind the first packet of a message of LEN bytes. */
enum wrong { TOO_MUCH, ANOTHER_MESSAGE };

/* Wait for the next completion: 0, or minus its error. */
static int next(struct rdm_end *env)
{
	uint64_t end = now_ms() + limit_ms(WAIT_MS);
	struct fi_cq_tagged_entry entry;
	int ret;

	do {
		assert_true(now_ms() < end);
		ret = step(env, &entry);
	} while (!ret);
	return ret == 1 ? 0 : ret;
}

static void until_logged(struct rdm_end *env, const char *text)
{
	uint64_t end = now_ms() + limit_ms(WAIT_MS);

	while (!log_lines_have(text)) {
		assert_true(now_ms() < end);
		idle(env, 0);
	}
}

static void post(struct rdm_end *env, uint8_t *buf)
{
	static struct fi_context2 contexts[2];

	assert_int_equal(
		fi_recv(env->ep, buf, LEN, NULL, 0, &contexts[buf == in[1]]), 0);
}

static void break_message(struct raw *raw, struct rdm_end *env, enum wrong wrong)
{
	raw_first(raw, env, LEN, data, FIRST);
	if (wrong == TOO_MUCH)
		raw_more(raw, env, data, LEN - FIRST + 1);
	else
		raw_msg(raw, env, raw->next++, data, 1);
}

/* The receive was there before, or comes afterwards. */
static void broken(enum wrong wrong, bool late, const char *why)
{
	struct rdm_end env;
	struct raw raw;

	setup(&env);
	raw_open(&raw);
	raw_greet(&raw, &env);
	log_lines_start();
	if (!late)
		post(&env, in[0]);
	break_message(&raw, &env, wrong);
	if (late) {
		until_logged(&env, why);
		post(&env, in[0]);
	}
	assert_int_equal(next(&env), -FI_EPROTO);
	assert_true(log_lines_have(why));
	post(&env, in[1]);
	if (wrong == TOO_MUCH)
		raw_msg(&raw, &env, raw.next++, data, 1);
	assert_int_equal(next(&env), 0);
	assert_int_equal(log_lines_have("is incomplete"), wrong == ANOTHER_MESSAGE);
	raw_close(&raw);
	rdm_end_close(&env);
}

static void too_much(void **state)
{
	for (int late = 0; late < 2; late++)
		broken(TOO_MUCH, late, "more data than the operation has");
}

static void another_message(void **state)
{
	for (int late = 0; late < 2; late++)
		broken(ANOTHER_MESSAGE, late, "the operation before is incomplete");
}

/* Nothing has begun. */
static void of_no_message(void **state)
{
	struct rdm_end env;
	struct raw raw;

	setup(&env);
	raw_open(&raw);
	raw_greet(&raw, &env);
	log_lines_start();
	raw_more(&raw, &env, data, 1);
	until_logged(&env, "data without an operation");
	post(&env, in[0]);
	raw_msg(&raw, &env, raw.next++, data, 1);
	assert_int_equal(next(&env), 0);
	raw_close(&raw);
	rdm_end_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_much),
		cmocka_unit_test(another_message),
		cmocka_unit_test(of_no_message),
	};

	setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
