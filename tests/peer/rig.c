/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <stdio.h>
#include <time.h>

const char *rig_provider = "testpeer";
bool rig_is_full;

/* Named in the first argument. */
void rig_choose(int argc, char **argv)
{
	if (argc > 1)
		rig_provider = argv[1];
	rig_is_full = strncmp(rig_provider, "testpeer", strlen("testpeer")) != 0;
}

int rig_run(const struct CMUnitTest *tests, size_t count, size_t test_peer_only,
	size_t full_only)
{
	size_t skipped = rig_is_full ? test_peer_only : 0;

	if (!rig_is_full)
		count -= full_only;
	return _cmocka_run_group_tests(
		rig_provider, tests + skipped, count - skipped, NULL, NULL);
}

uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* GI-040: an application that asks for a newer interface than a provider supports does
 * not get that provider. */
static uint32_t version_of(const char *provider)
{
	unsigned int major = 2, minor = 6;

	(void)sscanf(provider, "testpeer%1u%2u", &major, &minor);
	return FI_VERSION(major, minor);
}

static struct fi_info *find(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	bool ip = !strcmp(provider, "tcp");

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV | FI_PEER;
	if (rig_is_full)
		hints->caps |= FI_AV_USER_ID;
	if (ip)
		hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup(provider);
	assert_int_equal(fi_getinfo(version_of(provider), ip ? "127.0.0.1" : NULL, NULL,
				 ip ? FI_SOURCE : 0, hints, &info),
		0);
	assert_true(info->caps & FI_PEER); /* CAP-014 */
	fi_freeinfo(hints);
	return info;
}

static void open_cq(struct side *side)
{
	struct fi_peer_cq_context context = { sizeof(context), side->cq_owner };
	struct fi_cq_attr attr = { .flags = FI_PEER, .format = FI_CQ_FORMAT_TAGGED };

	assert_int_equal(fi_cq_open(side->domain, &attr, &side->cq, &context), 0);
	assert_non_null(side->cq); /* P-06: what the owner drives and closes */
	memset(&context, 0xee, sizeof(context)); /* P-03 */
}

static struct fid_cntr *open_cntr(struct side *side, struct fid_peer_cntr *owner)
{
	struct fi_peer_cntr_context context = { sizeof(context), owner };
	struct fi_cntr_attr attr = { .flags = FI_PEER };
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(side->domain, &attr, &cntr, &context), 0);
	memset(&context, 0xee, sizeof(context));
	return cntr;
}

static void open_srx(struct side *side)
{
	struct fi_peer_srx_context context = { sizeof(context), side->srx_owner };
	struct fi_rx_attr attr = *side->info->rx_attr;

	attr.op_flags = FI_PEER;
	assert_int_equal(fi_srx_context(side->domain, &attr, &side->srx, &context), 0);
	memset(&context, 0xee, sizeof(context));
	/* P-05 */
	assert_non_null(side->srx_owner->peer_ops->start_tag);
	assert_non_null(side->srx_owner->peer_ops->discard_msg);
}

static void open_ep(struct side *side, uint64_t cq_flags)
{
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(side->domain, side->info, &ep, NULL), 0);
	assert_int_equal(
		fi_ep_bind(ep, &side->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags), 0);
	assert_int_equal(fi_ep_bind(ep, &side->rx_cntr->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &side->tx_cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_ep_bind(ep, &side->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &side->srx->fid, 0), 0); /* P-67 */
	assert_int_equal(fi_enable(ep), 0);
	side->name_len = sizeof(side->name);
	assert_int_equal(fi_getname(&ep->fid, side->name, &side->name_len), 0);
	side->ep = ep;
}

void side_open(struct side *side, const char *provider, struct owner *owner,
	const struct rig_options *options)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .flags = options->av_flags };

	side->owner = owner;
	if (owner) {
		owner_export(owner, &side->port);
		side->srx_owner = &side->port.srx;
		side->cq_owner = &side->port.cq;
		side->rx_owner = &side->port.rx_cntr;
		side->tx_owner = &side->port.tx_cntr;
	}
	side->info = find(provider);
	assert_int_equal(fi_fabric(side->info->fabric_attr, &side->fabric, NULL), 0);
	assert_int_equal(fi_domain(side->fabric, side->info, &side->domain, NULL), 0);
	assert_int_equal(fi_av_open(side->domain, &av_attr, &side->av, NULL), 0);
	open_cq(side);
	side->rx_cntr = open_cntr(side, side->rx_owner);
	side->tx_cntr = open_cntr(side, side->tx_owner);
	open_srx(side);
	open_ep(side, options->cq_flags);
}

/* Open another endpoint, with a context of its own, instead of the one that was
 * closed. */
void side_reopen_ep(struct side *side)
{
	open_srx(side);
	open_ep(side, 0);
}

int side_close_ep(struct side *side)
{
	int ret;

	pthread_mutex_lock(&side->owner->lock);
	owner_drain(&side->port);
	ret = fi_close(&side->ep->fid);
	pthread_mutex_unlock(&side->owner->lock);
	return ret;
}

/* What is closed already is NULL. */
#define CLOSE(object)                                                                  \
	do {                                                                           \
		if (object)                                                            \
			assert_int_equal(fi_close(&(object)->fid), 0);                 \
		(object) = NULL;                                                       \
	} while (0)

void side_close(struct side *side)
{
	/* P-08 */
	if (side->ep)
		assert_int_equal(side_close_ep(side), 0);
	side->ep = NULL;
	CLOSE(side->srx);
	CLOSE(side->cq);
	CLOSE(side->rx_cntr);
	CLOSE(side->tx_cntr);
	CLOSE(side->av);
	CLOSE(side->domain);
	CLOSE(side->fabric);
	fi_freeinfo(side->info);
}

fi_addr_t side_insert(struct side *side, const struct side *other)
{
	fi_addr_t ret = FI_ADDR_NOTAVAIL;

	assert_int_equal(fi_av_insert(side->av, other->name, 1, &ret, 0, NULL), 1);
	return ret;
}

struct rig *rig_open(struct rig_options options)
{
	const struct rig_options plain = { .cq_flags = options.cq_flags };
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	owner_init(&rig->a);
	owner_init(&rig->b);
	side_open(&rig->s, rig_provider, &rig->b, &plain);
	for (int i = 0; i < 2; i++) {
		side_open(&rig->r[i], rig_provider, &rig->a, &options);
		rig->to[i] = side_insert(&rig->s, &rig->r[i]);
		if (!options.unknown)
			rig->from = side_insert(&rig->r[i], &rig->s);
	}
	return rig;
}

void rig_close(struct rig *rig)
{
	side_close(&rig->s);
	side_close(&rig->r[0]);
	side_close(&rig->r[1]);
	owner_done(&rig->a);
	owner_done(&rig->b);
	free(rig);
}

void rig_progress(struct rig *rig)
{
	if (rig->s.cq)
		owner_progress_cq(&rig->b, rig->s.cq);
	for (int i = 0; i < 2; i++)
		if (rig->r[i].cq)
			owner_progress_cq(&rig->a, rig->r[i].cq);
}

struct owner_result rig_next(struct rig *rig, struct owner *owner)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct owner_result result;

	while (!owner_read(owner, &result)) {
		assert_true(now_ms() < end);
		rig_progress(rig);
	}
	return result;
}

struct owner_result rig_expect(
	struct rig *rig, void *context, uint64_t flags, size_t len, uint64_t tag)
{
	struct owner_result result = rig_next(rig, &rig->a);

	assert_int_equal(result.err, 0);
	assert_ptr_equal(result.context, context);
	assert_int_equal(result.flags & ~FI_COMPLETION, flags);
	assert_int_equal(result.len, len);
	assert_int_equal(result.tag, tag);
	return result;
}

struct owner_result rig_expect_err(struct rig *rig, void *context, int err)
{
	struct owner_result result = rig_next(rig, &rig->a);

	assert_int_equal(result.err, err);
	assert_ptr_equal(result.context, context);
	return result;
}

void rig_expect_none(struct rig *rig)
{
	struct owner_result result;

	for (int i = 0; i < 10; i++)
		rig_progress(rig);
	assert_false(owner_read(&rig->a, &result));
}

static void count_up(unsigned char *buf, unsigned char first, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)(first + i);
}

static void sent(struct rig *rig, ssize_t ret, uint64_t flags, void *context)
{
	struct owner_result result;

	assert_int_equal(ret, 0);
	result = rig_next(rig, &rig->b);
	assert_int_equal(result.err, 0);
	assert_ptr_equal(result.context, context);
	assert_int_equal(result.flags, FI_SEND | flags);
}

#define SEND(flags, call)                                                              \
	unsigned char buf[256];                                                        \
	ssize_t ret;                                                                   \
                                                                                       \
	assert_true(len <= sizeof(buf));                                               \
	count_up(buf, first, len);                                                     \
	while ((ret = (call)) == -FI_EAGAIN)                                           \
		rig_progress(rig);                                                     \
	sent(rig, ret, flags, buf)

void rig_send(struct rig *rig, int i, unsigned char first, size_t len)
{
	SEND(FI_MSG, fi_send(rig->s.ep, buf, len, NULL, rig->to[i], buf));
}

void rig_tsend(struct rig *rig, int i, uint64_t tag, unsigned char first, size_t len)
{
	SEND(FI_TAGGED, fi_tsend(rig->s.ep, buf, len, NULL, rig->to[i], tag, buf));
}

void rig_tsenddata(struct rig *rig, int i, uint64_t tag, uint64_t data,
	unsigned char first, size_t len)
{
	SEND(FI_TAGGED,
		fi_tsenddata(rig->s.ep, buf, len, NULL, data, rig->to[i], tag, buf));
}

void rig_until_queued(struct rig *rig, unsigned int count)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct owner_entry *entry;
	unsigned int there;

	do {
		assert_true(now_ms() < end);
		rig_progress(rig);
		pthread_mutex_lock(&rig->a.lock);
		there = 0;
		for (entry = rig->a.unexpected.next; entry != &rig->a.unexpected;
			entry = entry->next)
			there++;
		pthread_mutex_unlock(&rig->a.lock);
	} while (there < count);
	assert_int_equal(there, count);
}

bool rig_holds(const void *buf, unsigned char first, size_t len)
{
	const unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		if (p[i] != (unsigned char)(first + i))
			return false;
	return true;
}
