/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_fake.h"

#include <rdma/fi_domain.h>

#include "objects/av/format.h"
#include "objects/info/device.h"
#include "objects/info/nic.h"
#include "objects/open/open.h"
#include "../refuse.h"

REFUSE_CALL(struct fi_info *, "memory", fi_dupinfo, NULL, (const struct fi_info *info),
	(info))

/*
 * Discovery of devices: two of them, each a domain, with addresses of eight bytes that
 * only their provider understands: the device's number, then any text.
 */

enum { ADDR_LEN = 8 };

static struct fi_info big_info, small_info;
static const struct fi_info *const all[] = { &big_info, &small_info, NULL };
static const struct fi_info *const big[] = { &big_info, NULL };
static const struct fi_info *const small[] = { &small_info, NULL };

static struct wf_device list[2];
static struct wf_devices devices;
static unsigned int rescans;

static const struct wf_devices *find_devices(bool rescan)
{
	rescans += rescan;
	return &devices;
}

static bool addr_ok(const struct wf_device *device, const void *addr, size_t len)
{
	return len == ADDR_LEN && *(const char *)addr == device->domain[3];
}

/* Nodes are "0..." or "1...", after the device that reaches them. */
static int resolve(const struct wf_device *device, const char *node,
	const char *service, uint64_t flags, void **ret_addr, size_t *ret_len)
{
	char addr[ADDR_LEN + 1] = "";

	if (node && *node != device->domain[3])
		return -FI_ENODATA;
	(void)snprintf(addr, sizeof(addr), "%s%s%s", node ? node : "",
		service ? service : "", flags & FI_SOURCE ? "!" : "");
	*ret_len = ADDR_LEN;
	*ret_addr = malloc(ADDR_LEN);
	if (!*ret_addr)
		return -FI_ENOMEM;
	memcpy(*ret_addr, addr, ADDR_LEN);
	return 0;
}

static bool spell(uint32_t *words, const void *addr)
{
	memcpy(words, addr, ADDR_LEN);
	return *(const char *)addr;
}

static void print(const void *addr, char *buf, size_t len)
{
	(void)snprintf(buf, len, "%.8s", (const char *)addr);
}

static const struct wf_av_format format = {
	.name = "FI_ADDR_EFA",
	.addr_format = FI_ADDR_EFA,
	.addr_len = ADDR_LEN,
	.key_words = 2,
	.spell = spell,
	.print = print,
};

static const struct wf_av_format *format_of(const struct fi_info *info)
{
	return &format;
}

static const struct wf_prov prov = {
	.fi = &fake_fi,
	.templates = all,
	.devices = find_devices,
	.av_format = format_of,
};

#define LATEST FI_VERSION(2, 6)

static struct fi_tx_attr small_tx;
static struct fi_rx_attr small_rx;

static int setup(void **state)
{
	const struct wf_nic_facts card = { .name = "card", .speed_bps = 1000 };

	big_info = small_info = rdm;
	big_info.addr_format = small_info.addr_format = FI_ADDR_EFA;
	small_info.caps &= ~(uint64_t)FAKE_RMA;
	small_tx = rdm_tx;
	small_rx = rdm_rx;
	small_tx.caps &= ~(uint64_t)FAKE_RMA;
	small_rx.caps &= ~(uint64_t)FAKE_RMA;
	small_tx.inject_size = 16;
	small_info.tx_attr = &small_tx;
	small_info.rx_attr = &small_rx;
	list[0] = (struct wf_device){ .fabric = "net",
		.domain = "dev0",
		.templates = big,
		.addr = "0me45678",
		.addr_len = ADDR_LEN };
	list[1] = (struct wf_device){
		.fabric = "net", .domain = "dev1", .templates = small
	};
	assert_int_equal(wf_nic_make(&card, &list[0].nic), 0);
	devices = (struct wf_devices){
		.list = list, .count = 2, .resolve = resolve, .addr_ok = addr_ok
	};
	rescans = 0;
	return 0;
}

static int teardown(void **state)
{
	return fi_close(&list[0].nic->fid);
}

static void add_end(char *text, size_t len, const void *addr, size_t addr_len)
{
	size_t used = strlen(text);

	assert_int_equal(addr_len, addr ? ADDR_LEN : 0);
	(void)snprintf(
		text + used, len - used, " %.8s", addr ? (const char *)addr : "-");
}

/* The answers as "<domain> <source> <destination>, ...", or the log. */
static const char *ask(const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, int want)
{
	struct fi_info *const marker = (struct fi_info *)(uintptr_t)1;
	struct fi_info *answers = marker;
	static char text[600];

	fake_log[0] = text[0] = '\0';
	assert_int_equal(
		wf_device_getinfo(&prov, LATEST, node, service, flags, hints, &answers),
		want);
	if (want) {
		assert_ptr_equal(answers, marker);
		return fake_log;
	}
	for (struct fi_info *it = answers; it; it = it->next) {
		size_t used = strlen(text);

		assert_int_equal(it->addr_format, FI_ADDR_EFA);
		assert_string_equal(it->fabric_attr->name, "net");
		(void)snprintf(text + used, sizeof(text) - used, "%s%s",
			used ? ", " : "", it->domain_attr->name);
		add_end(text, sizeof(text), it->src_addr, it->src_addrlen);
		add_end(text, sizeof(text), it->dest_addr, it->dest_addrlen);
	}
	fi_freeinfo(answers);
	return text;
}

static void set_addrs(
	struct fi_info *hints, const char *src, const char *dest, size_t len)
{
	free(hints->src_addr);
	free(hints->dest_addr);
	hints->src_addr = src ? strndup(src, len) : NULL;
	hints->src_addrlen = src ? len : 0;
	hints->dest_addr = dest ? strndup(dest, len) : NULL;
	hints->dest_addrlen = dest ? len : 0;
}

static struct fi_info *answer_of(const char *domain)
{
	struct fi_info *hints = fake_hints(), *answer = NULL;

	hints->domain_attr->name = strdup(domain);
	assert_int_equal(
		wf_device_getinfo(&prov, LATEST, NULL, NULL, 0, hints, &answer), 0);
	assert_null(answer->next);
	fi_freeinfo(hints);
	return answer;
}

/* Each device is a domain with its own limits and attributes. */
static void a_domain_for_each_device(void **state)
{
	struct fi_info *info;

	assert_string_equal(ask(NULL, NULL, 0, NULL, 0), "dev0 0me45678 -, dev1 - -");
	info = answer_of("dev0");
	assert_int_equal(info->tx_attr->inject_size, 128);
	assert_ptr_not_equal(info->nic, list[0].nic);
	assert_string_equal(info->nic->device_attr->name, "card");
	fi_freeinfo(info);
	info = answer_of("dev1");
	assert_int_equal(info->tx_attr->inject_size, 16);
	assert_null(info->nic);
	fi_freeinfo(info);
	assert_int_equal(rescans, 0);
	(void)ask(NULL, NULL, FI_RESCAN, NULL, 0);
	assert_int_equal(rescans, 1);
}

static void hints_choose_devices(void **state)
{
	struct fi_info *hints = fake_hints();

	hints->caps = FI_RMA;
	assert_string_equal(ask(NULL, NULL, 0, hints, 0), "dev0 0me45678 -");
	assert_non_null(strstr(fake_log, "refused: caps: asked FI_RMA"));
	hints->caps = 0;
	hints->addr_format = FI_SOCKADDR_IN;
	(void)ask(NULL, NULL, 0, hints, -FI_ENODATA);
	assert_non_null(strstr(fake_log, "addr_format: asked FI_SOCKADDR_IN"));
	hints->addr_format = FI_FORMAT_UNSPEC;
	hints->domain_attr->name = strdup("dev7");
	(void)ask(NULL, NULL, 0, hints, -FI_ENODATA);
	assert_non_null(
		strstr(fake_log, "domain_attr.name: asked dev7, possible dev1"));
	fi_freeinfo(hints);

	devices.count = 0;
	(void)ask(NULL, NULL, 0, NULL, -FI_ENODEV);
}

static void nodes_are_the_providers(void **state)
{
	assert_string_equal(ask("0you", NULL, 0, NULL, 0), "dev0 0me45678 0you");
	assert_string_equal(ask("1you", "7", 0, NULL, 0), "dev1 - 1you7");
	assert_string_equal(ask("1me", NULL, FI_SOURCE, NULL, 0), "dev1 1me! -");
	(void)ask("2you", NULL, 0, NULL, -FI_ENODATA);
	assert_non_null(strstr(fake_log, "node: asked 2you"));
	devices.resolve = NULL;
	(void)ask(NULL, "7", 0, NULL, -FI_ENODATA);
	assert_non_null(strstr(fake_log, "service: asked 7"));
}

static void addresses_in_hints(void **state)
{
	struct fi_info *hints = fake_hints();

	set_addrs(hints, "1me45678", "1you5678", ADDR_LEN);
	assert_string_equal(ask(NULL, NULL, 0, hints, 0), "dev1 1me45678 1you5678");
	/* GI-027: with FI_SOURCE the node stands for the source. */
	assert_string_equal(
		ask("1us", NULL, FI_SOURCE, hints, 0), "dev1 1us! 1you5678");
	set_addrs(hints, NULL, "1you567", ADDR_LEN - 1);
	(void)ask(NULL, NULL, 0, hints, -FI_EINVAL);
	assert_non_null(strstr(fake_log, "dest_addr"));
	fi_freeinfo(hints);
}

static const char *fits_only;
static bool fits_as_source;

static bool addr_fits(
	const struct wf_device *device, const void *addr, size_t len, bool source)
{
	assert_int_equal(len, ADDR_LEN);
	return source != fits_as_source || !memcmp(addr, fits_only, ADDR_LEN);
}

/* An address of the right format is not necessarily one that the device has. */
static void addresses_that_do_not_fit(void **state)
{
	struct fi_info *hints = fake_hints();

	devices.addr_fits = addr_fits;
	devices.count = 1;
	fits_only = "0me45678";
	fits_as_source = true;
	set_addrs(hints, "0me45678", "0you5678", ADDR_LEN);
	assert_string_equal(ask(NULL, NULL, 0, hints, 0), "dev0 0me45678 0you5678");
	set_addrs(hints, "0he45678", "0you5678", ADDR_LEN);
	(void)ask(NULL, NULL, 0, hints, -FI_ENODATA);
	assert_non_null(strstr(fake_log,
		"src_addr: asked another address, possible those of the device"));
	fits_as_source = false;
	(void)ask(NULL, NULL, 0, hints, -FI_ENODATA);
	assert_non_null(strstr(fake_log,
		"dest_addr: asked another address, possible what the device reaches"));
	fi_freeinfo(hints);
}

/* Each allocation fails once: there is no answer, and none that lacks a part. */
static void no_memory_is_no_answer(void **state)
{
	struct fi_info *hints = fake_hints(), *answers;
	struct fi_domain_attr domain = rdm_domain;
	struct fi_ep_attr ep = rdm_ep;
	unsigned int number = 0;
	bool refused;
	int ret;

	domain.auth_key_size = ep.auth_key_size = 4;
	big_info.domain_attr = &domain;
	big_info.ep_attr = &ep;
	devices.count = 1;
	set_addrs(hints, "0me45678", NULL, ADDR_LEN);
	hints->domain_attr->auth_key = calloc(1, 4);
	hints->domain_attr->auth_key_size = 4;
	hints->ep_attr->auth_key = calloc(1, 4);
	hints->ep_attr->auth_key_size = 4;
	do {
		answers = NULL;
		refuse_one("memory", ++number, ENOMEM);
		ret = wf_device_getinfo(
			&prov, LATEST, "0you", NULL, 0, hints, &answers);
		refused = refuse_end();
		if (!refused)
			break;
		if (ret != -FI_ENOMEM)
			fail_msg("allocation %u: %s", number, fi_strerror(-ret));
		assert_null(answers);
	} while (number < 100);
	assert_int_equal(ret, 0);
	/* The two addresses twice, two keys, four names, the NIC, and the structures. */
	assert_true(number > 10);
	assert_int_equal(answers->src_addrlen, ADDR_LEN);
	assert_int_equal(answers->dest_addrlen, ADDR_LEN);
	assert_int_equal(answers->domain_attr->auth_key_size, 4);
	assert_int_equal(answers->ep_attr->auth_key_size, 4);
	assert_non_null(answers->nic);
	fi_freeinfo(answers);
	fi_freeinfo(hints);
}

/* An object is opened by the limits of its own device. */
static void opened_by_its_device(void **state)
{
	struct fi_info *info = answer_of("dev1");

	assert_int_equal(wf_info_check(&prov, LATEST, info), 0);
	info->tx_attr->inject_size = 128;
	assert_int_equal(wf_info_check(&prov, LATEST, info), -FI_ENODATA);
	info->tx_attr->inject_size = 16;
	set_addrs(info, "1me45678", "0you5678", ADDR_LEN);
	assert_int_equal(wf_info_check(&prov, LATEST, info), -FI_EINVAL);
	set_addrs(info, "1me45678", NULL, ADDR_LEN);
	assert_int_equal(wf_info_check(&prov, LATEST, info), 0);
	devices.count = 1; /* unplugged */
	fake_log[0] = '\0';
	assert_int_equal(wf_info_check(&prov, LATEST, info), -FI_ENODATA);
	assert_non_null(strstr(fake_log, "domain_attr.name: asked dev1"));
	fi_freeinfo(info);
}

/* Its addresses go through fabric, domain and AV as any others. */
static void an_av_of_its_addresses(void **state)
{
	struct fi_info *info = answer_of("dev0");
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	char addr[ADDR_LEN], text[32];
	size_t len = sizeof(addr), text_len = sizeof(text);
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	fi_addr_t index[3];

	info->fabric_attr->api_version = LATEST;
	assert_int_equal(wf_fabric_open(&prov, info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	assert_int_equal(fi_av_open(domain, &attr, &av, NULL), 0);
	assert_int_equal(fi_av_insert(av,
				 "0one4567"
				 "0two4567"
				 "\0none567",
				 3, index, 0, NULL),
		2);
	assert_int_equal(index[2], FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_lookup(av, index[1], addr, &len), 0);
	assert_int_equal(len, ADDR_LEN);
	assert_memory_equal(addr, "0two4567", ADDR_LEN);
	assert_string_equal(fi_av_straddr(av, addr, text, &text_len), "0two4567");
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_domain_for_each_device),
		EACH(hints_choose_devices),
		EACH(nodes_are_the_providers),
		EACH(addresses_in_hints),
		EACH(addresses_that_do_not_fit),
		EACH(no_memory_is_no_answer),
		EACH(opened_by_its_device),
		EACH(an_av_of_its_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
