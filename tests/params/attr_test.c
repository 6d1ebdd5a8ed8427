/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters that fi_getinfo shows: sizes, and what is offered. */
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "../log_lines.h"
#include "effect.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct question {
	const char *provider;
	enum fi_ep_type type;
	uint64_t caps;
	enum fi_progress progress;
	const char *links; /* of lnx; NULL: it is not asked */
};

static int ask(const struct question *question, struct fi_info **ret)
{
	struct fi_info *hints = fi_allocinfo();
	int err;

	assert_non_null(hints);
	if (question->links)
		(void)setenv("FI_LNX_PROV_LINKS", question->links, 1);
	hints->fabric_attr->prov_name = strdup(question->provider);
	hints->ep_attr->type = question->type;
	hints->caps = question->caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->data_progress = question->progress;
	*ret = NULL;
	err = fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, hints, ret);
	fi_freeinfo(hints);
	return err;
}

/* A field of the first answer. */
#define FIELD(name, expression)                                                        \
	static long name(const struct effect *effect)                                  \
	{                                                                              \
		struct fi_info *info;                                                  \
		long value;                                                            \
                                                                                       \
		assert_int_equal(ask(effect->with, &info), 0);                         \
		value = (long)(expression);                                            \
		fi_freeinfo(info);                                                     \
		return value;                                                          \
	}

FIELD(tx_size, info->tx_attr->size)
FIELD(rx_size, info->rx_attr->size)
FIELD(inject_size, info->tx_attr->inject_size)
FIELD(is_ordered, info->tx_attr->msg_order != 0)
FIELD(links_shm, strstr(info->domain_attr->name, "shm") != NULL)

/* Is there an answer? */
static long offered(const struct effect *effect)
{
	struct fi_info *info;
	int err = ask(effect->with, &info);

	fi_freeinfo(info);
	assert_true(!err || err == -FI_ENODATA);
	return !err;
}

/* Is there one on the loopback interface? */
static long on_loopback(const struct effect *effect)
{
	struct fi_info *info, *next;
	long found = 0;

	if (ask(effect->with, &info))
		return 0;
	for (next = info; next; next = next->next)
		found |= !strcmp(next->domain_attr->name, "lo");
	fi_freeinfo(info);
	return found;
}

/* Does the log tell the text that the effect has? */
static long told(const struct effect *effect)
{
	struct fi_info *info;

	log_lines_start();
	(void)fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, NULL, &info);
	fi_freeinfo(info);
	return log_lines_have(effect->with);
}

/* Does the log tell of the text, when a fabric has the monitor in front? */
static long monitor_told(const struct effect *effect)
{
	static const struct question any = { "tcp", FI_EP_RDM, FI_MSG,
		FI_PROGRESS_UNSPEC };
	struct fid_fabric *fabric;
	struct fi_info *info;

	(void)setenv("FI_HOOK", "monitor", 1);
	log_lines_start();
	assert_int_equal(ask(&any, &info), 0);
	assert_int_equal(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
	fi_freeinfo(info);
	return log_lines_have(effect->with);
}

/* What to link for two ways to other machines; empty: this one reaches none. */
static char two_rails[64];

static const struct question
	tcp = { "tcp", FI_EP_RDM, FI_MSG, FI_PROGRESS_UNSPEC },
	tcp_auto = { "tcp", FI_EP_RDM, FI_MSG, FI_PROGRESS_AUTO },
	tcp_far = { "tcp", FI_EP_RDM, FI_MSG | FI_REMOTE_COMM, FI_PROGRESS_UNSPEC },
	udp_far = { "udp", FI_EP_DGRAM, FI_MSG | FI_REMOTE_COMM, FI_PROGRESS_UNSPEC },
	shm = { "shm", FI_EP_RDM, FI_MSG, FI_PROGRESS_UNSPEC },
	rxm = { "tcp;ofi_rxm", FI_EP_RDM, FI_MSG, FI_PROGRESS_UNSPEC },
	lnx_default = { "lnx", FI_EP_RDM, FI_TAGGED, FI_PROGRESS_UNSPEC },
	lnx = { "lnx", FI_EP_RDM, FI_TAGGED, FI_PROGRESS_UNSPEC, "shm+tcp:lo" },
	rails = { "lnx", FI_EP_RDM, FI_TAGGED, FI_PROGRESS_UNSPEC, two_rails };

static const struct effect sizes[] = {
	{ "FI_TCP_TX_SIZE", { { NULL, 65536 }, { "32", 32 } }, tx_size, &tcp },
	{ "FI_TCP_RX_SIZE", { { NULL, 65536 }, { "0x20", 32 } }, rx_size, &tcp },
	{ "FI_TCP_MAX_INJECT", { { NULL, 128 }, { "64", 64 } }, inject_size, &tcp },
	{ "FI_SHM_TX_SIZE", { { NULL, 1024 }, { "32", 32 } }, tx_size, &shm },
	{ "FI_SHM_RX_SIZE", { { NULL, 1024 }, { "32", 32 } }, rx_size, &shm },
	{ "FI_SHM_INJECT_SIZE", { { NULL, 4096 }, { "0", 0 } }, inject_size, &shm },
	{ "FI_OFI_RXM_TX_SIZE", { { NULL, 2048 }, { "32", 32 } }, tx_size, &rxm },
	{ "FI_OFI_RXM_RX_SIZE", { { NULL, 2048 }, { "32", 32 } }, rx_size, &rxm },
};

static const struct effect offers[] = {
	{ "FI_TCP_DISABLE_AUTO_PROGRESS", { { "no", 1 }, { "yes", 0 } }, offered,
		&tcp_auto },
	{ "FI_TCP_IFACE", { { NULL, 0 }, { "lo", 1 } }, on_loopback, &tcp_far },
	{ "FI_LNX_DISABLE_SHM", { { NULL, 1 }, { "yes", 0 } }, links_shm, &lnx },
	{ "FI_LNX_DISABLE_SHM", { { NULL, 1 }, { "yes", 0 } }, offered, &lnx_default },
	{ "FI_OFI_HOOK_MONITOR_BASEPATH",
		{ { "/nonexistent/a", 0 }, { "/nonexistent/b", 1 } }, monitor_told,
		"/nonexistent/b" },
	{ "FI_UDP_IFACE", { { NULL, 0 }, { "lo", 1 } }, on_loopback, &udp_far },
};

static const struct effect selection = { "FI_LNX_MULTI_RAIL_SELECTION",
	{ { "per_peer", 1 }, { "PER_MSG", 0 } }, is_ordered, &rails };

/* What this library does not do is told, and what it does anyhow is not. */
static const struct effect refused[] = {
	{ "FI_OFI_RXM_ENABLE_DYN_RBUF", { { "0", 0 }, { "1", 1 } }, told,
		"parameter enable_dyn_rbuf: asked 1, possible 0; ignored" },
	{ "FI_OFI_RXM_ENABLE_PASSTHRU", { { "0", 0 }, { "1", 1 } }, told,
		"parameter enable_passthru: asked 1, possible 0; ignored" },
	{ "FI_OFI_RXM_DETECT_HMEM_IFACE", { { "0", 0 }, { "1", 1 } }, told,
		"parameter detect_hmem_iface: asked 1, possible 0; ignored" },
	{ "FI_OFI_RXM_DATA_AUTO_PROGRESS", { { "0", 0 }, { "1", 1 } }, told,
		"parameter data_auto_progress: asked 1, possible 0; ignored" },
	{ "FI_OFI_RXM_NUM_MSG_EPS", { { "1", 0 }, { "2", 1 } }, told,
		"parameter num_msg_eps: asked 2, possible 1; ignored" },
	{ "FI_SHM_USE_DSA_SAR", { { "0", 0 }, { "1", 1 } }, told,
		"parameter use_dsa_sar has no effect" },
	{ "FI_SHM_USE_XPMEM", { { "0", 0 }, { "1", 1 } }, told,
		"parameter use_xpmem has no effect" },
	{ "FI_SHM_MAX_GDRCOPY_SIZE", { { NULL, 0 }, { "3072", 1 } }, told,
		"parameter max_gdrcopy_size has no effect" },
	{ "FI_SHM_BUFFER_THRESHOLD", { { NULL, 0 }, { "1", 1 } }, told,
		"parameter buffer_threshold has no effect" },
};

static void sizes_of_answers(void **state)
{
	(void)state;
	effect_check_all(sizes, COUNT(sizes));
}

static void what_is_offered(void **state)
{
	(void)state;
	effect_check_all(offers, COUNT(offers));
}

/* Two ways over one interface, as messages take them in turn. */
static void find_rails(void)
{
	struct ifaddrs *list, *it;

	assert_int_equal(getifaddrs(&list), 0);
	for (it = list; it; it = it->ifa_next)
		if (it->ifa_flags & IFF_UP && !(it->ifa_flags & IFF_LOOPBACK) &&
			it->ifa_addr && it->ifa_addr->sa_family == AF_INET)
			(void)snprintf(two_rails, sizeof(two_rails),
				"tcp:%s+tcp;ofi_rxm:%s", it->ifa_name, it->ifa_name);
	freeifaddrs(list);
}

static void rails_in_turn_keep_no_order(void **state)
{
	(void)state;
	find_rails();
	if (!*two_rails)
		skip();
	effect_check(&selection);
}

static void what_is_not_here_is_told(void **state)
{
	(void)state;
	effect_check_all(refused, COUNT(refused));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_of_answers),
		cmocka_unit_test(what_is_offered),
		cmocka_unit_test(rails_in_turn_keep_no_order),
		cmocka_unit_test(what_is_not_here_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
