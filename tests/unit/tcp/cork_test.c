/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the socket is corked: while several records go that are not all in the stage, to
 * a peer on this host; and it is uncorked whatever happens.
 */
#include "conn_fixture.h"

enum { LARGE = TCP_COPY_MAX + 52 };

/* The calls that were made, each with 1 or 0. */
static char corks[64];

void __wrap_tcp_sock_cork(int fd, bool on);
void __wrap_tcp_sock_cork(int fd, bool on)
{
	(void)fd;
	assert_true(strlen(corks) + 1 < sizeof(corks));
	strcat(corks, on ? "1" : "0");
}

static uint8_t bytes[LARGE];

static const struct row {
	bool same_host;
	unsigned int small, large; /* messages, in this order */
	size_t takes;              /* bytes until the socket is full */
	int err;                   /* or this error */
	const char *corks;
} rows[] = {
	/* one message */
	{ true, 1, 0, SIZE_MAX, 0, "" },
	/* messages of the stage */
	{ true, 5, 0, SIZE_MAX, 0, "" },
	/* one large message */
	{ true, 0, 1, SIZE_MAX, 0, "" },
	/* the last is large */
	{ true, 3, 1, SIZE_MAX, 0, "" },
	/* two large messages */
	{ true, 0, 2, SIZE_MAX, 0, "10" },
	/* some of both */
	{ true, 2, 3, SIZE_MAX, 0, "10" },
	/* another host */
	{ false, 2, 3, SIZE_MAX, 0, "" },
	/* a full socket */
	{ true, 2, 3, 100, 0, "10" },
	/* a socket that takes nothing */
	{ true, 2, 3, 0, 0, "10" },
	/* a signal */
	{ true, 2, 3, SIZE_MAX, EINTR, "10" },
	/* a failure */
	{ true, 2, 3, SIZE_MAX, EPIPE, "10" },
};

static void corked_and_uncorked(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		p->conn->same_host = rows[i].same_host;
		/* All is queued, and goes with the progress call. */
		kernel.takes = 0;
		for (unsigned int k = 0; k < rows[i].small; k++)
			assert_int_equal(fi_send(p->ep, bytes, 1, NULL, 0, NULL), 0);
		for (unsigned int k = 0; k < rows[i].large; k++)
			assert_int_equal(
				fi_send(p->ep, bytes, LARGE, NULL, 0, NULL), 0);
		corks[0] = '\0';
		kernel.takes = rows[i].takes;
		kernel.err = rows[i].err;
		wf_lock(&p->tcp->ep.lock);
		tcp_tx_flush(p->conn);
		wf_unlock(&p->tcp->ep.lock);
		assert_string_equal(corks, rows[i].corks);
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(corked_and_uncorked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
