/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measurement. In a round the client sends a message of one size and waits for the
 * answer, as often as -I says; the server answers what arrives.
 *
 * Datagrams get lost. A client that gets no answer in time counts it as lost and sends
 * the next message; it gives up only after many in a row. A server cannot know how many
 * were lost on their way to it, so it stops waiting when the client goes on to compare
 * counts over the control connection.
 *
 * The two ends may be able to send different sizes, and do not negotiate them. The end
 * with fewer sizes sends its closing message when the other end expects the next size.
 */
#include "rounds.h"
#include "../clock.h"
#include "control.h"
#include "message.h"
#include "pattern.h"
#include "progress.h"
#include "report.h"
#include "transfer.h"

#include <inttypes.h>
#include <string.h>

enum {
	ANSWER_TIMEOUT_MS = 500, /* a datagram that takes longer is lost */
	LOST_IN_A_ROW = 20,
	SYNC_TIMEOUT_MS = 15000,
	SILENCE_TIMEOUT_MS = 15000, /* longer than a client takes to give up */
	STALL_TIMEOUT_MS = 60000,   /* nothing moves on a reliable endpoint */
	FIN_TIMEOUT_MS = 1000,
	FIN_ATTEMPTS = 3,
};

static const char fin[PP_FIN_LEN] = "fin";

/* State of the run, and of the size in it that is being measured. */
struct run {
	struct pp_link *link;
	struct pp_pattern tx_pattern;
	struct pp_pattern rx_pattern;
	struct pp_progress progress;
	size_t size;
	uint64_t sent;
	uint64_t received;
	bool peer_finished; /* its closing message was received */
};

static int rounds_send_message(struct run *run)
{
	int ret;

	ret = pp_wait_sent(run->link);
	if (ret)
		return ret;
	if (run->link->options->verify)
		pp_pattern_fill(&run->tx_pattern, pp_tx_data(run->link), run->size);
	ret = pp_send(run->link, run->size);
	if (!ret)
		run->sent++;
	return ret;
}

static int rounds_check_message(struct run *run)
{
	struct pp_link *link = run->link;
	long wrong;

	if (link->rx_len != run->size) {
		pp_say("received %zu bytes instead of %zu", link->rx_len, run->size);
		return -FI_EIO;
	}
	if (!link->options->verify)
		return 0;
	wrong = pp_pattern_check(
		&run->rx_pattern, pp_rx_data(link), run->size, pp_link_lossy(link));
	if (wrong == PP_PATTERN_OK)
		return 0;
	pp_say("data check failed: message %" PRIu64 " of %zu bytes, offset %ld",
		run->received, run->size, wrong);
	return -FI_EIO;
}

/* Receives one message of the size being measured. Returns like pp_wait_recv. */
static int rounds_recv_message(struct run *run, enum pp_wait_for what, int timeout_ms)
{
	struct pp_link *link = run->link;
	int ret;

	for (;;) {
		ret = pp_wait_recv(link, what, timeout_ms);
		if (ret != PP_ARRIVED)
			return ret;
		/* A datagram of another size was overtaken by the end of its round. */
		if (!pp_link_lossy(link) || link->rx_len == run->size)
			break;
		ret = pp_post_recv(link);
		if (ret)
			return ret;
	}
	ret = rounds_check_message(run);
	if (ret)
		return ret;
	run->received++;
	return pp_post_recv(link);
}

/* rounds_recv_message, where a timeout of a reliable endpoint is an error. */
static int rounds_recv_or_fail(struct run *run)
{
	bool lossy = pp_link_lossy(run->link);
	int ret;

	if (pp_link_server(run->link))
		ret = rounds_recv_message(run,
			lossy ? PP_FOR_MESSAGE_OR_TALK : PP_FOR_MESSAGE,
			lossy ? SILENCE_TIMEOUT_MS : STALL_TIMEOUT_MS);
	else
		ret = rounds_recv_message(run, PP_FOR_MESSAGE,
			lossy ? ANSWER_TIMEOUT_MS : STALL_TIMEOUT_MS);
	if (ret == PP_TIMED_OUT && (!lossy || pp_link_server(run->link)))
		return pp_fail("waiting for a message", -FI_ETIMEDOUT);
	return ret;
}

static int rounds_client_round(struct run *run)
{
	int total = run->link->options->iterations;
	int i, ret, lost_in_a_row = 0;

	for (i = 0; i < total; i++) {
		ret = rounds_send_message(run);
		if (ret)
			return ret;
		ret = rounds_recv_or_fail(run);
		if (ret < 0)
			return ret;
		lost_in_a_row = ret == PP_TIMED_OUT ? lost_in_a_row + 1 : 0;
		if (lost_in_a_row == LOST_IN_A_ROW) {
			pp_say("no answer to %d messages in a row", LOST_IN_A_ROW);
			return -FI_ETIMEDOUT;
		}
		pp_progress_step(&run->progress, run->size, i, total);
	}
	if (!run->received) {
		pp_say("no answer to any message of %zu bytes", run->size);
		return -FI_ETIMEDOUT;
	}
	if (run->sent != run->received)
		pp_say("%" PRIu64 " of %" PRIu64 " messages of %zu bytes timed out",
			run->sent - run->received, run->sent, run->size);
	return 0;
}

static int rounds_server_round(struct run *run)
{
	int total = run->link->options->iterations;
	int i, ret;

	for (i = 0; i < total; i++) {
		ret = rounds_recv_or_fail(run);
		if (ret == PP_MOVED_ON)
			break;
		if (ret < 0)
			return ret;
		ret = rounds_send_message(run);
		if (ret)
			return ret;
		pp_progress_step(&run->progress, run->size, i, total);
	}
	return 0;
}

static bool rounds_is_fin(struct pp_link *link)
{
	return link->rx_len == PP_FIN_LEN && !memcmp(pp_rx_data(link), fin, PP_FIN_LEN);
}

/* Waits until the peer sends on the control connection, or its closing message arrives.
 * Other messages can only be late datagrams of the last size. */
static int rounds_wait_for_talk(struct run *run)
{
	struct pp_link *link = run->link;
	int ret;

	for (;;) {
		ret = pp_wait_recv(link, PP_FOR_TALK_OR_MESSAGE, SYNC_TIMEOUT_MS);
		if (ret == PP_TIMED_OUT)
			return pp_fail("waiting for the peer", -FI_ETIMEDOUT);
		if (ret)
			return ret == PP_MOVED_ON ? 0 : ret;
		if (rounds_is_fin(link)) {
			run->peer_finished = true;
			return 0;
		}
		ret = pp_post_recv(link);
		if (ret)
			return ret;
	}
}

/* Both sides begin the size together, unless the peer has finished. */
static int rounds_synchronise(struct run *run)
{
	bool server = pp_link_server(run->link);
	int fd = run->link->control;
	int ret;

	ret = server ? 0 : pp_control_sync_send(fd, server);
	if (!ret)
		ret = rounds_wait_for_talk(run);
	if (ret || run->peer_finished)
		return ret;
	ret = pp_control_sync_recv(fd, server);
	if (!ret && server)
		ret = pp_control_sync_send(fd, server);
	return ret;
}

/* The client tells the server how many messages came back. Both make progress while
 * they wait, because the peer may need acknowledgements of its last messages. */
static int rounds_exchange_count(struct run *run, uint64_t *count)
{
	bool server = pp_link_server(run->link);
	int fd = run->link->control, ret;

	ret = server ? 0 : pp_control_count_send(fd, *count);
	if (!ret)
		ret = rounds_wait_for_talk(run);
	if (ret || run->peer_finished)
		return ret;
	return server ? pp_control_count_recv(fd, count) : pp_control_count_taken(fd);
}

static int rounds_run_size(struct run *run)
{
	struct pp_link *link = run->link;
	bool server = pp_link_server(link);
	struct pp_result result = { .size = run->size };
	uint64_t start_ns;
	int ret;

	run->sent = run->received = 0;
	pp_progress_start(&run->progress);
	start_ns = tool_now_ns();
	ret = server ? rounds_server_round(run) : rounds_client_round(run);
	if (!ret)
		ret = pp_wait_sent(link);
	result.elapsed_ns = tool_now_ns() - start_ns;
	pp_progress_erase(&run->progress);
	if (ret)
		return ret;

	result.sent = run->sent;
	result.acked = run->received;
	ret = rounds_exchange_count(run, &result.acked);
	if (ret)
		return ret;
	pp_report(&result);
	return 0;
}

/* Waits for the peer's closing message, and drops late datagrams before it. */
static int rounds_recv_fin(struct pp_link *link)
{
	int ret;

	for (;;) {
		ret = pp_wait_recv(link, PP_FOR_LAST_MESSAGE, FIN_TIMEOUT_MS);
		if (ret != PP_ARRIVED)
			return ret;
		if (rounds_is_fin(link))
			return PP_ARRIVED;
		ret = pp_post_recv(link);
		if (ret)
			return ret;
	}
}

/*
 * Both ends send a last message and wait for that of the peer, so that neither closes
 * its endpoint while the other still needs it. All results are known by now, and the
 * peer may have ended already, so errors of this function are only logged.
 */
static void rounds_say_goodbye(struct run *run)
{
	struct pp_link *link = run->link;
	int attempt, ret = PP_TIMED_OUT;

	for (attempt = 0; attempt < FIN_ATTEMPTS && ret == PP_TIMED_OUT; attempt++) {
		/* Only a datagram can have been lost and needs another one. */
		if (!attempt || pp_link_lossy(link)) {
			ret = pp_wait_sent(link);
			if (ret)
				break;
			memcpy(pp_tx_data(link), fin, PP_FIN_LEN);
			ret = pp_send_last(link, PP_FIN_LEN);
			if (ret)
				break;
		}
		ret = run->peer_finished ? PP_ARRIVED : rounds_recv_fin(link);
	}
	if (!ret)
		ret = pp_wait_sent(link);
	if (ret)
		pp_debug("the closing messages were not exchanged: %d", ret);
}

int pp_rounds_run(struct pp_link *link)
{
	struct run run = { .link = link };
	size_t i;
	int ret;

	for (i = 0; i < link->sizes.count; i++) {
		run.size = link->sizes.size[i];
		ret = rounds_synchronise(&run);
		if (!ret && run.peer_finished) {
			pp_say("the peer sends less than %zu bytes", run.size);
			break;
		}
		if (!ret)
			ret = rounds_run_size(&run);
		if (ret)
			return ret;
	}
	rounds_say_goodbye(&run);
	return 0;
}
