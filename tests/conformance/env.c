/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "conformance.h"

/* Progress calls after which a pair that met has settled how it goes on. */
enum { IDLE_CALLS = 400 };

static const struct cf_options no_options;
static _Thread_local struct cf_env *open_pair; /* what cf_progress drives */

uint64_t cf_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void cf_own_ports(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	/* A device stays in the first namespace. */
	if (cf_target.node || unshare(CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
}

const char *cf_loopback(void)
{
	static _Thread_local char self[16];

	if (cf_target.node)
		return cf_target.node;
	if (cf_target.addr_format == FI_SOCKADDR_IN6)
		return "::1";
	if (cf_target.addr_format != FI_ADDR_STR)
		return "127.0.0.1";
	snprintf(self, sizeof(self), "%ld", (long)getpid());
	return self;
}

struct fi_info *cf_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->fabric_attr->prov_name = strdup(cf_target.provider);
	hints->ep_attr->type = cf_target.type;
	hints->addr_format = cf_target.addr_format;
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
	if (cf_target.version < FI_VERSION(1, 5)) {
		hints->mode |= CF_LOCAL_MR; /* what FI_MR_LOCAL is since */
		return hints; /* mr_mode was an enumeration, 0 any of it */
	}
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	return hints;
}

int cf_getinfo_flags(uint32_t version, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	if (cf_target.addr_format == FI_FORMAT_UNSPEC)
		return fi_getinfo(version, NULL, NULL, flags, hints, ret_info);
	return fi_getinfo(
		version, cf_loopback(), NULL, flags | FI_SOURCE, hints, ret_info);
}

int cf_getinfo(uint32_t version, const struct fi_info *hints, struct fi_info **ret_info)
{
	return cf_getinfo_flags(version, 0, hints, ret_info);
}

void cf_open_fabric(struct cf_env *env, const struct cf_options *options)
{
	if (!options)
		options = &no_options;
	memset(env, 0, sizeof(*env));
	env->hints = cf_hints();
	env->hints->caps = FI_MSG | options->caps;
	if (options->shared_rx)
		env->hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	if (options->adjust)
		options->adjust(env->hints);
	CHECK_OK(cf_getinfo(cf_target.version, env->hints, &env->info));
	CHECK_OK(fi_fabric(env->info->fabric_attr, &env->fabric, NULL));
}

void cf_open_domain(struct cf_env *env, const struct cf_options *options)
{
	cf_open_fabric(env, options);
	CHECK_OK(fi_domain(env->fabric, env->info, &env->domain, NULL));
	cf_local_domain(env->info, env->domain);
}

struct fid_ep *cf_new_ep(struct cf_env *env)
{
	struct fid_ep *ep;

	CHECK_OK(fi_endpoint(env->domain, env->info, &ep, NULL));
	return ep;
}

static struct fid_cq *open_cq(struct cf_env *env, const struct cf_options *options)
{
	struct fi_cq_attr attr = {
		.size = options->cq_size,
		.format = options->cq_format ? options->cq_format : FI_CQ_FORMAT_DATA,
		.wait_obj = options->wait_obj,
	};
	struct fid_cq *cq;

	CHECK_OK(fi_cq_open(env->domain, &attr, &cq, NULL));
	return cq;
}

struct fid_cq *cf_new_cq(struct cf_env *env, enum fi_wait_obj wait_obj)
{
	return open_cq(env, &(struct cf_options){ .wait_obj = wait_obj });
}

struct fid_cntr *cf_new_cntr(struct cf_env *env, enum fi_wait_obj wait_obj)
{
	struct fi_cntr_attr attr = { .wait_obj = wait_obj };
	struct fid_cntr *cntr;

	CHECK_OK(fi_cntr_open(env->domain, &attr, &cntr, NULL));
	return cntr;
}

struct fid_av *cf_new_av(struct cf_env *env)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fid_av *av;

	CHECK_OK(fi_av_open(env->domain, &attr, &av, NULL));
	return av;
}

static void bind_av(
	struct cf_env *env, struct cf_side *side, const struct cf_options *options)
{
	if (options->one_av && side == &env->side[1])
		side->av = env->side[0].av;
	else
		side->av = cf_new_av(env);
	CHECK_OK(fi_ep_bind(side->ep, &side->av->fid, 0));
}

static void forbid_memory(struct fid_ep *ep)
{
	bool permitted = false;

	CHECK_OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED,
		&permitted, sizeof(permitted)));
}

void cf_open_side(struct cf_env *env, struct cf_side *side, struct fi_info *info,
	const struct cf_options *options)
{
	CHECK_OK(fi_endpoint(env->domain, info, &side->ep, side));
	if (cf_target.one_apart && side == &env->side[1])
		forbid_memory(side->ep);
	side->tx_cq = open_cq(env, options);
	side->rx_cq = options->split_cqs ? open_cq(env, options) : side->tx_cq;
	if (side->rx_cq == side->tx_cq) {
		CHECK_OK(fi_ep_bind(side->ep, &side->tx_cq->fid,
			FI_TRANSMIT | FI_RECV | options->cq_flags));
	} else {
		CHECK_OK(fi_ep_bind(
			side->ep, &side->tx_cq->fid, FI_TRANSMIT | options->cq_flags));
		CHECK_OK(fi_ep_bind(
			side->ep, &side->rx_cq->fid, FI_RECV | options->cq_flags));
	}
	if (options->counters) {
		side->tx_cntr = cf_new_cntr(env, options->wait_obj);
		side->rx_cntr = cf_new_cntr(env, options->wait_obj);
		CHECK_OK(fi_ep_bind(side->ep, &side->tx_cntr->fid, FI_SEND));
		CHECK_OK(fi_ep_bind(side->ep, &side->rx_cntr->fid, FI_RECV));
	}
	if (cf_target.type != FI_EP_MSG)
		bind_av(env, side, options);
	if (env->eq)
		CHECK_OK(fi_ep_bind(side->ep, &env->eq->fid, 0));
	if (env->srx)
		CHECK_OK(fi_ep_bind(side->ep, &env->srx->fid, 0));
	if (options->bind)
		options->bind(env, side);
	if (!options->not_enabled)
		CHECK_OK(fi_enable(side->ep));
}

static void exchange_names(struct cf_env *env)
{
	char name[2][256];
	size_t len;

	for (int i = 0; i < 2; i++) {
		len = sizeof(name[i]);
		CHECK_OK(fi_getname(&env->side[i].ep->fid, name[i], &len));
	}
	for (int i = 0; i < 2; i++) {
		struct cf_side *side = &env->side[i];

		CHECK_EQ(fi_av_insert(side->av, name[!i], 1, &side->peer, 0, NULL), 1);
		CHECK_EQ(fi_av_insert(side->av, name[i], 1, &side->self, 0, NULL), 1);
	}
}

void cf_open_other_side(
	struct cf_env *env, struct fi_info *info, const struct cf_options *options)
{
	struct fid_domain *first = env->domain;

	if (cf_target.apart && !options->shared_rx && !options->one_av) {
		CHECK_OK(fi_domain(env->fabric, info, &env->domain, NULL));
		env->side[1].domain = env->domain;
		cf_local_domain(info, env->domain);
	}
	cf_open_side(env, &env->side[1], info, options);
	env->domain = first;
}

void cf_open_pair(struct cf_env *env, const struct cf_options *options)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };

	if (!options)
		options = &no_options;
	cf_open_domain(env, options);
	if (options->shared_rx)
		CHECK_OK(fi_srx_context(
			env->domain, env->info->rx_attr, &env->srx, NULL));
	if (options->bind_eq || cf_target.type == FI_EP_MSG)
		CHECK_OK(fi_eq_open(env->fabric, &eq_attr, &env->eq, NULL));
	if (cf_target.type == FI_EP_MSG && !options->not_enabled) {
		cf_connect_pair(env, options);
	} else {
		cf_open_side(env, &env->side[0], env->info, options);
		cf_open_other_side(env, env->info, options);
		if (!options->not_enabled)
			exchange_names(env);
	}
	open_pair = env;
	if (options->not_enabled)
		return;
	if (options->wait_obj || cf_target.greeted)
		cf_meet(env);
	for (int i = 0; i < IDLE_CALLS && cf_target.greeted; i++)
		cf_progress();
}

bool cf_open_waiting_pair(struct cf_env *env, const struct cf_options *options)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA,
		.wait_obj = options->wait_obj };
	struct fid_cq *cq;
	int ret;

	cf_open_domain(env, options);
	ret = fi_cq_open(env->domain, &attr, &cq, NULL);
	if (!ret)
		CF_CLOSE(cq);
	cf_close(env);
	CHECK_EITHER(ret, 0, -FI_ENOSYS);
	if (!ret)
		cf_open_pair(env, options);
	return !ret;
}

/* A message that both ends report, whatever the queues are for. */
static void greet(struct cf_env *env, struct cf_side *from, struct cf_side *to)
{
	struct fi_msg msg = { .addr = FI_ADDR_UNSPEC };
	struct fi_context2 contexts[2];
	struct fid_ep *rx = env->srx ? env->srx : to->ep;

	msg.context = &contexts[0];
	CF_RETRY(to->rx_cq, fi_recvmsg(rx, &msg, FI_COMPLETION));
	msg.addr = from->peer;
	msg.context = &contexts[1];
	CF_RETRY(from->tx_cq, fi_sendmsg(from->ep, &msg, FI_COMPLETION));
	(void)cf_cq_wait_for(from->tx_cq, &contexts[1]);
	(void)cf_cq_wait_for(to->rx_cq, &contexts[0]);
}

void cf_meet(struct cf_env *env)
{
	if (cf_target.type != FI_EP_RDM)
		return;
	greet(env, &env->side[0], &env->side[1]);
	greet(env, &env->side[1], &env->side[0]);
	for (int i = 0; i < 2; i++) {
		if (env->side[i].tx_cntr)
			CHECK_OK(fi_cntr_set(env->side[i].tx_cntr, 0));
		if (env->side[i].rx_cntr)
			CHECK_OK(fi_cntr_set(env->side[i].rx_cntr, 0));
	}
}

void cf_need_connectionless(void)
{
	if (cf_target.type == FI_EP_MSG)
		SKIP("needs connectionless endpoints");
}

void cf_close(struct cf_env *env)
{
	open_pair = NULL;
	for (int i = 0; i < 2; i++)
		CF_CLOSE(env->side[i].ep);
	if (env->side[0].av == env->side[1].av)
		env->side[1].av = NULL;
	for (int i = 0; i < 2; i++) {
		struct cf_side *side = &env->side[i];

		if (side->rx_cq != side->tx_cq)
			CF_CLOSE(side->rx_cq);
		CF_CLOSE(side->tx_cq);
		CF_CLOSE(side->tx_cntr);
		CF_CLOSE(side->rx_cntr);
		CF_CLOSE(side->av);
	}
	CF_CLOSE(env->srx);
	CF_CLOSE(env->pep);
	CF_CLOSE(env->eq);
	CF_CLOSE(env->side[1].domain);
	CF_CLOSE(env->domain);
	CF_CLOSE(env->fabric);
	fi_freeinfo(env->info);
	fi_freeinfo(env->hints);
	memset(env, 0, sizeof(*env));
}

bool cf_offers(const struct cf_options *options)
{
	struct fi_info *hints = cf_hints(), *info;
	int ret;

	hints->caps = FI_MSG | options->caps;
	if (options->shared_rx)
		hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	if (options->adjust)
		options->adjust(hints);
	ret = cf_getinfo(cf_target.version, hints, &info);
	fi_freeinfo(hints);
	if (!ret)
		fi_freeinfo(info);
	return !ret;
}

bool cf_device_matches(const struct cf_env *env)
{
	return env->info->domain_attr->mr_mode & FI_MR_LOCAL &&
	       !cf_offers(&(struct cf_options){ .caps = FI_TAGGED });
}

void cf_delivered(struct fi_info *hints)
{
	struct fi_info *info;

	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	if (cf_getinfo(cf_target.version, hints, &info))
		hints->tx_attr->op_flags = 0;
	else
		fi_freeinfo(info);
}

void cf_fewest_mr_bits(struct fi_info *hints, uint32_t version)
{
	int bits = hints->domain_attr->mr_mode;
	struct fi_info *info;

	hints->domain_attr->mr_mode = 0;
	if (version >= FI_VERSION(1, 5) && cf_getinfo(version, hints, &info))
		hints->domain_attr->mr_mode = bits;
	else if (version >= FI_VERSION(1, 5))
		fi_freeinfo(info);
}

void cf_need_no_mr_bits(void)
{
	struct fi_info *hints = cf_hints(), *info;

	cf_fewest_mr_bits(hints, FI_VERSION(1, 5));
	if (hints->domain_attr->mr_mode)
		SKIP("registration is needed");
	fi_freeinfo(hints);
	/* A target of RMA may need more than other endpoints. */
	hints = cf_hints();
	CHECK_OK(cf_getinfo(FI_VERSION(1, 5), hints, &info));
	if (info->domain_attr->mr_mode)
		SKIP("a target needs registration modes");
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

bool cf_provider_has(uint64_t caps)
{
	struct fi_info *hints = cf_hints(), *info;
	int ret;

	hints->ep_attr->type = FI_EP_UNSPEC;
	hints->caps = caps;
	ret = cf_getinfo(cf_target.version, hints, &info);
	fi_freeinfo(hints);
	if (!ret)
		fi_freeinfo(info);
	return !ret;
}

size_t cf_ip_addr(const struct fi_info *info, void *addr, uint16_t port)
{
	struct sockaddr_in *in = addr;
	struct sockaddr_in6 *in6 = addr;

	switch (info->addr_format) {
	case FI_SOCKADDR_IN:
		memset(in, 0, sizeof(*in));
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		CHECK_EQ(inet_pton(AF_INET, cf_loopback(), &in->sin_addr), 1);
		return sizeof(*in);
	case FI_SOCKADDR_IN6:
		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		CHECK_EQ(inet_pton(AF_INET6, cf_loopback(), &in6->sin6_addr), 1);
		return sizeof(*in6);
	default:
		SKIP("addresses are not of IP");
	}
}

uint16_t cf_ip_port(const void *addr)
{
	const struct sockaddr_in *in = addr; /* the port is at the same place in both */

	CHECK(in);
	return ntohs(in->sin_port);
}

size_t cf_addr(const struct fi_info *info, void *addr, uint16_t number)
{
	if (info->addr_format != FI_ADDR_STR)
		return cf_ip_addr(info, addr, number);
	if (number)
		return (size_t)sprintf(addr, "fi_shm://%s:%u", cf_loopback(), number) +
		       1;
	return (size_t)sprintf(addr, "fi_shm://") + 1;
}

uint16_t cf_addr_number(const void *addr)
{
	const char *number;

	if (cf_target.addr_format != FI_ADDR_STR)
		return cf_ip_port(addr);
	number = addr ? strrchr(addr, ':') : NULL;
	CHECK(number);
	return (uint16_t)atoi(number + 1);
}

void *cf_addrs(const struct fi_info *info, uint16_t number, size_t count)
{
	char *all = malloc(64 * count), *pos = all;

	CHECK(all);
	for (size_t i = 0; i < count; i++)
		pos += cf_addr(info, pos, (uint16_t)(number + i));
	return all;
}

size_t cf_free_addr(const struct fi_info *info, void *addr)
{
	return cf_addr(info, addr, info->addr_format == FI_ADDR_STR ? 30000 : 0);
}

void cf_open_region(struct cf_env *env, int side, struct cf_region *region, void *bytes,
	size_t len, uint64_t access)
{
	static uint64_t last_key = 100;
	uint64_t mode = (uint64_t)env->info->domain_attr->mr_mode;
	struct fid_domain *domain = env->domain;

	*region = (struct cf_region){ .bytes = bytes, .len = len, .owned = !bytes };
	if (!bytes)
		region->bytes = calloc(1, len);
	CHECK(region->bytes);
	if (env->side[side].domain)
		domain = env->side[side].domain;
	CHECK_OK(fi_mr_reg(domain, region->bytes, len, access, 0, ++last_key, 0,
		&region->mr, NULL));
	if (mode & FI_MR_ENDPOINT) {
		CHECK_OK(fi_mr_bind(region->mr, &env->side[side].ep->fid, 0));
		CHECK_OK(fi_mr_enable(region->mr));
	}
	region->key = fi_mr_key(region->mr);
	/* Before 1.5, 1 was FI_MR_BASIC, which names memory by its address as well. */
	region->addr = mode & FI_MR_VIRT_ADDR || mode == 1
			       ? (uint64_t)(uintptr_t)region->bytes
			       : 0;
}

void cf_close_region(struct cf_region *region)
{
	CF_CLOSE(region->mr);
	if (region->owned)
		free(region->bytes);
	region->bytes = NULL;
}

/* ---- transfers ----------------------------------------------------------------- */

void cf_progress(void)
{
	if (!open_pair)
		return;
	for (int i = 0; i < 2; i++) {
		struct cf_side *side = &open_pair->side[i];

		(void)fi_cq_read(side->tx_cq, NULL, 0);
		if (side->rx_cq != side->tx_cq)
			(void)fi_cq_read(side->rx_cq, NULL, 0);
	}
}

void cf_cq_wait(struct fid_cq *cq, void *entry)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	do {
		ret = fi_cq_read(cq, entry, 1);
		if (ret == -FI_EAVAIL) {
			struct fi_cq_err_entry err = { 0 };

			(void)fi_cq_readerr(cq, &err, 0);
			cf_fail(__FILE__, __LINE__, "error entry: %s",
				fi_strerror(err.err));
		}
		if (ret != -FI_EAGAIN) {
			CHECK_EQ(ret, 1);
			return;
		}
		cf_progress();
	} while (cf_now_ms() < deadline);
	cf_fail(__FILE__, __LINE__, "no completion came");
}

uint64_t cf_cq_wait_for(struct fid_cq *cq, const void *context)
{
	struct fi_cq_tagged_entry entry;

	cf_cq_wait(cq, &entry);
	CHECK(entry.op_context == context);
	return entry.flags;
}

void cf_cq_wait_err(struct fid_cq *cq, struct fi_cq_err_entry *entry)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	char unused[64];
	ssize_t ret;

	do {
		ret = fi_cq_read(cq, unused, 1);
		if (ret == -FI_EAVAIL) {
			CHECK_EQ(fi_cq_readerr(cq, entry, 0), 1);
			return;
		}
		CHECK_EQ(ret, -FI_EAGAIN);
		cf_progress();
	} while (cf_now_ms() < deadline);
	cf_fail(__FILE__, __LINE__, "no error entry came");
}

ssize_t cf_try_cancel(struct fid *fid, void *context)
{
	ssize_t ret = fi_cancel(fid, context);

	if (ret == -FI_ENOSYS)
		SKIP("nothing can be cancelled");
	return ret;
}

void cf_cancel(struct fid *fid, void *context)
{
	CHECK_OK(cf_try_cancel(fid, context));
}

void cf_cq_quiet(struct fid_cq *cq)
{
	char unused[64];

	for (int i = 0; i < 200; i++) {
		CHECK_EQ(fi_cq_read(cq, unused, 1), -FI_EAGAIN);
		cf_progress();
		(void)usleep(100);
	}
}

void cf_arm(struct cf_env *env, struct fid_cq *cq)
{
	struct fid *fids[] = { &cq->fid };
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	char unused[64];
	int ret;

	while ((ret = fi_trywait(env->fabric, fids, 1)) == -FI_EAGAIN &&
		cf_now_ms() < deadline)
		CHECK_EQ(fi_cq_read(cq, unused, 1), -FI_EAGAIN);
	CHECK_OK(ret);
}

void *cf_map(size_t len)
{
	void *at = mmap(
		NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

void cf_fill(void *buf, size_t len, unsigned int seed)
{
	uint8_t *bytes = buf;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

void cf_verify(const void *buf, size_t len, unsigned int seed)
{
	const uint8_t *bytes = buf;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != (uint8_t)(seed * 31 + i * 7 + (i >> 8)))
			cf_fail(__FILE__, __LINE__, "byte %zu of %zu is wrong", i, len);
	}
}

void cf_post_recv(struct cf_env *env, void *buf, size_t len, void *context)
{
	struct cf_side *to = &env->side[1];

	CF_RETRY(to->rx_cq, fi_recv(to->ep, buf, len, NULL, FI_ADDR_UNSPEC, context));
}

void cf_post_send(struct cf_env *env, const void *buf, size_t len, void *context)
{
	struct cf_side *from = &env->side[0];

	CF_RETRY(from->tx_cq, fi_send(from->ep, buf, len, NULL, from->peer, context));
}

void cf_post_recvs(struct cf_env *env, size_t count)
{
	static struct fi_context2 contexts[8];
	static uint8_t bufs[8][64];

	CHECK(count <= CF_COUNT(contexts));
	for (size_t i = 0; i < count; i++)
		cf_post_recv(env, bufs[i], sizeof(bufs[i]), &contexts[i]);
}

void cf_exchange(struct cf_env *env, size_t len)
{
	struct cf_side *from = &env->side[0], *to = &env->side[1];
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx_ctx, rx_ctx;
	uint8_t *out = malloc(len + 1), *in = malloc(len + 1);

	CHECK(out && in);
	cf_fill(out, len, 1);
	memset(in, 0, len + 1);
	cf_post_recv(env, in, len, &rx_ctx);
	cf_post_send(env, out, len, &tx_ctx);
	cf_cq_wait(from->tx_cq, &entry);
	CHECK(entry.op_context == &tx_ctx);
	cf_cq_wait(to->rx_cq, &entry);
	CHECK(entry.op_context == &rx_ctx);
	cf_verify(in, len, 1);
	free(out);
	free(in);
}
