/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw_fixture.h"

#include <fcntl.h>

#include "providers/shm/conn/peer.h"

/* The exchange that opens a connection, where it ends with a refusal. The test is the
 * peer of an endpoint. */

static int accept_one(int listener)
{
	int spare = -1, fd;

	assert_int_equal(shm_socket_accept(listener, &spare, &fd), 0);
	return fd;
}

/* The peers of an endpoint for which something is to be done: the test. */
static const struct wf_remote *busy_peer(const struct raw *raw)
{
	struct shm_ep *ep = shm_ep_of(wf_container_of(raw->ep, struct wf_ep, fid));

	assert_false(wf_list_empty(&ep->peers->remotes.busy));
	return wf_list_entry(ep->peers->remotes.busy.next, struct wf_remote, busy_link);
}

/* Open an endpoint, which sends to the test, and read its request to connect. */
static struct raw_names await_request(
	struct raw *raw, int *ret_listener, struct shm_hello *ret_asked, int *ret_pass)
{
	static uint64_t word = 5;
	struct raw_names names = raw_open_alone(raw, FI_WAIT_NONE);

	assert_true(wf_addrstr_spell(raw->name, names.peer, strlen(names.peer) + 1));
	assert_int_equal(shm_socket_listen(raw->name, ret_listener), 0);
	assert_int_equal(
		fi_tsend(raw->ep, &word, sizeof(word), NULL, raw->peer, 7, &word), 0);
	raw_drive(raw);
	raw->fd = accept_one(*ret_listener);
	assert_int_equal(
		shm_hello_recv(raw->fd, ret_asked, ret_pass, &(pid_t){ 0 }), 0);
	return names;
}

/* The test answers the endpoint's request to connect so; without a name it ends the
 * connection. Returns the code of the attempt, which is made again later. */
static int answer(const struct shm_hello *hello)
{
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS);
	struct shm_hello asked;
	struct raw raw;
	int listener, pass, err;

	(void)await_request(&raw, &listener, &asked, &pass);
	assert_int_equal(asked.type, SHM_HELLO);
	assert_int_equal(asked.segment_size, sizeof(struct shm_segment));
	assert_int_equal(shm_segment_map(pass, &raw.region), 0);
	close(pass);
	assert_int_equal(busy_peer(&raw)->err, 0);
	if (*hello->name)
		assert_int_equal(shm_hello_send(raw.fd, hello, -1), 0);
	else
		assert_int_equal(shutdown(raw.fd, SHUT_RDWR), 0);
	while (!busy_peer(&raw)->err) {
		assert_true(wf_now_ns() < deadline);
		raw_drive(&raw);
	}
	err = busy_peer(&raw)->err;
	shm_socket_unlisten(listener, raw.name);
	raw_close(&raw);
	return err;
}

static void requests_are_refused(void **state)
{
	struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = SHM_REFUSE,
		.reason = SHM_REFUSE_FILES,
	};

	(void)state;
	assert_int_equal(answer(&hello), FI_ECONNRESET);
	hello.name[0] = 'x';
	assert_int_equal(answer(&hello), FI_EMFILE);
	hello.reason = SHM_REFUSE_BAD;
	assert_int_equal(answer(&hello), FI_ECONNREFUSED);
	/* An answer that is none. */
	hello.type = SHM_HELLO;
	assert_int_equal(answer(&hello), FI_EPROTO);
	hello.type = SHM_REFUSE;
	hello.version++;
	assert_int_equal(answer(&hello), FI_EPROTO);
}

/* ---- requests of the test ---- */

/* Send a request, and read the endpoint's answer. */
static struct shm_hello ask(struct raw *raw, const struct shm_hello *hello, size_t len,
	const char *endpoint, int pass, int *ret_fd)
{
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS);
	struct shm_hello answer;
	pid_t sender;
	int none, ret;

	assert_true(wf_addrstr_spell(raw->name, endpoint, strlen(endpoint) + 1));
	assert_int_equal(shm_socket_connect(raw->name, ret_fd), 0);
	assert_int_equal(shm_socket_send(*ret_fd, hello, len, pass), 0);
	while ((ret = shm_hello_recv(*ret_fd, &answer, &none, &sender)) == -EAGAIN) {
		assert_true(wf_now_ns() < deadline);
		raw_drive(raw);
	}
	assert_int_equal(ret, 0);
	assert_int_equal(none, -1);
	return answer;
}

static void check_reason(struct raw *raw, const struct shm_hello *hello, size_t len,
	const char *endpoint, int pass, uint32_t reason)
{
	int fd, none;
	struct shm_hello answer = ask(raw, hello, len, endpoint, pass, &fd);

	assert_int_equal(answer.type, SHM_REFUSE);
	assert_int_equal(answer.reason, reason);
	assert_string_equal(answer.name, raw->name);
	/* Nothing follows. */
	assert_int_equal(
		shm_hello_recv(fd, &answer, &none, &(pid_t){ 0 }), -ECONNRESET);
	shm_socket_close(fd);
}

static void refusals_have_reasons(void **state)
{
	struct shm_segment *unused;
	struct shm_hello good, bad;
	struct raw_names names;
	struct raw raw;
	int pass, null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(null >= 0);
	names = raw_open_alone(&raw, FI_WAIT_NONE);
	good = bad = raw_hello(&raw, names.peer, SHM_HELLO);
	assert_int_equal(shm_segment_new(&pass, &unused), 0);
	check_reason(&raw, &good, sizeof(good), names.endpoint, -1, SHM_REFUSE_BAD);
	check_reason(
		&raw, &good, sizeof(good) - 1, names.endpoint, pass, SHM_REFUSE_BAD);
	check_reason(
		&raw, &good, sizeof(good), names.endpoint, null, SHM_REFUSE_MEMORY);
	bad.type = SHM_WELCOME;
	check_reason(&raw, &bad, sizeof(bad), names.endpoint, pass, SHM_REFUSE_BAD);
	bad = good;
	bad.segment_size++;
	check_reason(&raw, &bad, sizeof(bad), names.endpoint, pass, SHM_REFUSE_BAD);
	bad = good;
	bad.version++;
	check_reason(&raw, &bad, sizeof(bad), names.endpoint, pass, SHM_REFUSE_BAD);
	/* It has the name of the endpoint, and is another one. */
	bad = raw_hello(&raw, names.endpoint, SHM_HELLO);
	check_reason(&raw, &bad, sizeof(bad), names.endpoint, pass, SHM_REFUSE_BAD);
	/* One that is good is the only one. */
	raw_meet(&raw, names.endpoint, names.peer);
	check_reason(&raw, &good, sizeof(good), names.endpoint, pass, SHM_REFUSE_BUSY);
	close(pass);
	close(null);
	shm_segment_unmap(unused);
	raw_close(&raw);
}

/* The endpoint has asked for a connection, and is asked for one meanwhile: the request
 * of the lesser name is used, which is the endpoint's. */
static void requests_cross(void **state)
{
	struct shm_hello hello, asked;
	struct raw_names names;
	struct raw raw;
	int listener, pass, own;

	(void)state;
	names = await_request(&raw, &listener, &asked, &own);
	assert_int_equal(shm_segment_new(&pass, &raw.region), 0);
	hello = raw_hello(&raw, names.peer, SHM_HELLO);
	check_reason(
		&raw, &hello, sizeof(hello), names.endpoint, pass, SHM_REFUSE_CROSSED);
	/* The request of the endpoint has ended: that of the test is used. */
	shm_socket_close(raw.fd);
	shm_socket_unlisten(listener, names.peer);
	hello = ask(&raw, &hello, sizeof(hello), names.endpoint, pass, &raw.fd);
	assert_int_equal(hello.type, SHM_WELCOME);
	close(pass);
	close(own);
	raw_close(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_refused),
		cmocka_unit_test(refusals_have_reasons),
		cmocka_unit_test(requests_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
