/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

#include "providers/shm/param.h"

/* Endpoints: their names, what is cancelled, and peers that are removed. */

static uint8_t local[64], in[64];
static int first, second;

/* ---- cancelling ---- */

static void cancel(struct pair *p, void *context)
{
	assert_int_equal(fi_cancel(&p->ep->fid, context), 0);
	pair_progress(p);
}

/* Of the operations that wait for a connection, the one with the context. */
static void waiting_operations(void **state)
{
	struct pair *p = *state;
	fi_addr_t absent;
	char name[64];

	(void)snprintf(name, sizeof(name), "fi_ns://absent-%d", (int)getpid());
	assert_int_equal(fi_av_insert(p->av, name, 1, &absent, 0, NULL), 1);
	assert_int_equal(fi_tsend(p->ep, local, 8, NULL, absent, 1, &first), 0);
	assert_int_equal(fi_tsend(p->ep, local, 8, NULL, absent, 2, &second), 0);
	cancel(p, &p);
	assert_int_equal(p->ended_count, 0);
	cancel(p, &second);
	assert_one_ended(p, &second, FI_ECANCELED);
	cancel(p, &second);
	assert_int_equal(p->ended_count, 0);
	cancel(p, &first);
	assert_one_ended(p, &first, FI_ECANCELED);
}

/* Of those that wait for space, as well. */
static void queued_operations(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	assert_int_equal(fi_send(p->ep, local, 8, NULL, p->addr, &first), 0);
	assert_int_equal(fi_send(p->ep, local, 8, NULL, p->addr, &second), 0);
	cancel(p, &first);
	assert_one_ended(p, &first, FI_ECANCELED);
	assert_false(wf_list_empty(&p->conn->queue.txq));
	cancel(p, &first);
	assert_int_equal(p->ended_count, 0);
	/* One call cancels one operation. */
	assert_int_equal(fi_send(p->ep, local, 8, NULL, p->addr, &second), 0);
	cancel(p, &second);
	assert_one_ended(p, &second, FI_ECANCELED);
	cancel(p, &second);
	assert_one_ended(p, &second, FI_ECANCELED);
	assert_true(wf_list_empty(&p->conn->queue.txq));
}

/* Two sends with one context: one behind a full lane, one to a peer that is absent. */
static void send_two(struct pair *p)
{
	fi_addr_t absent;
	char name[64];

	(void)snprintf(name, sizeof(name), "fi_ns://absent-%d", (int)getpid());
	assert_int_equal(fi_av_insert(p->av, name, 1, &absent, 0, NULL), 1);
	for (int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	assert_int_equal(fi_send(p->ep, local, 8, NULL, p->addr, &first), 0);
	assert_int_equal(fi_send(p->ep, local, 8, NULL, absent, &first), 0);
}

/* Of several with one context, one call cancels one, wherever they are. */
static void one_at_a_time(void **state)
{
	struct pair *p = *state;

	send_two(p);
	assert_int_equal(fi_recv(p->ep, in, 8, NULL, p->addr, &first), 0);
	for (int i = 0; i < 3; i++) {
		cancel(p, &first);
		assert_one_ended(p, &first, FI_ECANCELED);
	}
	cancel(p, &first);
	assert_int_equal(p->ended_count, 0);
}

/* A provider over this one is told whether there was one. */
static void it_is_told(void **state)
{
	const struct wf_cancel which = { .context = &first };
	struct pair *p = *state;
	struct wf_ep *ep = &p->shm->ep;

	send_two(p);
	wf_lock(&ep->lock);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ep->xfer->cancel_tx(ep, &which), i < 2);
	wf_unlock(&ep->lock);
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
}

/* What the peer has is not cancelled. */
static void sent_operations(void **state)
{
	struct pair *p = *state;

	assert_int_equal(fi_read(p->ep, in, 8, NULL, p->addr, 0, KEY, &first), 0);
	cancel(p, &first);
	assert_int_equal(p->ended_count, 0);
}

/* ---- peers that are removed ---- */

static void peers_are_removed(void **state)
{
	struct pair *p = *state;

	assert_int_equal(fi_read(p->ep, in, 8, NULL, p->addr, 0, KEY, &first), 0);
	assert_int_equal(fi_av_remove(p->av, &p->addr, 1, 0), 0);
	pair_progress(p);
	assert_one_ended(p, &first, FI_ECONNABORTED);
}

/* ---- names ---- */

static struct fid_ep *new_endpoint(struct pair *p)
{
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(p->domain, p->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &p->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &p->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	return ep;
}

static void names_are_set(void **state)
{
	struct pair *p = *state;
	struct fid_ep *ep[2] = { new_endpoint(p), new_endpoint(p) };
	char name[64], got[64];
	size_t len = sizeof(got);

	(void)snprintf(name, sizeof(name), "fi_shm://named-%d", (int)getpid());
	for (int i = 0; i < 2; i++) {
		struct shm_ep *shm =
			shm_ep_of(wf_container_of(ep[i], struct wf_ep, fid));

		assert_true(shm->made_up);
		/* A text without an end. */
		assert_int_equal(
			fi_setname(&ep[i]->fid, name, strlen(name)), -FI_EINVAL);
		assert_true(shm->made_up);
		assert_int_equal(fi_setname(&ep[i]->fid, name, strlen(name) + 1), 0);
		assert_false(shm->made_up);
	}
	assert_int_equal(fi_enable(ep[0]), 0);
	assert_int_equal(fi_getname(&ep[0]->fid, got, &len), 0);
	assert_string_equal(got, name);
	/* No other name is made up for it. */
	assert_int_equal(fi_enable(ep[1]), -FI_EADDRINUSE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fi_close(&ep[i]->fid), 0);
}

/* ---- sizes ---- */

static void sizes_are_parameters(void **state)
{
	const struct shm_params before = shm_params;
	struct fi_info *info;

	assert_int_equal(setenv("FI_SHM_TX_SIZE", "48", 1), 0);
	assert_int_equal(setenv("FI_SHM_RX_SIZE", "56", 1), 0);
	assert_int_equal(setenv("FI_SHM_INJECT_SIZE", "40", 1), 0);
	info = pair_info(shm_prov_ini());
	assert_int_equal(info->tx_attr->size, 48);
	assert_int_equal(info->rx_attr->size, 56);
	assert_int_equal(info->tx_attr->inject_size, 40);
	fi_freeinfo(info);
	assert_int_equal(unsetenv("FI_SHM_TX_SIZE"), 0);
	assert_int_equal(unsetenv("FI_SHM_RX_SIZE"), 0);
	assert_int_equal(unsetenv("FI_SHM_INJECT_SIZE"), 0);
	shm_params = before;
	info = pair_info(shm_prov_ini());
	assert_int_equal(info->rx_attr->size, before.rx_size);
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(waiting_operations),
		PAIR_TEST(queued_operations),
		PAIR_TEST(one_at_a_time),
		PAIR_TEST(it_is_told),
		PAIR_TEST(sent_operations),
		PAIR_TEST(peers_are_removed),
		PAIR_TEST(names_are_set),
		cmocka_unit_test(sizes_are_parameters),
	};

	/* For peers_are_removed. */
	(void)setenv("FI_AV_REMOVE_CLEANUP", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
