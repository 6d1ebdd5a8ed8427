/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tostr of addresses, NICs and objects. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>

#include "core/strings/strings.h"

#define EXPECT(data, type, text) assert_string_equal(fi_tostr(data, type), text)

static void expect_addr(
	uint32_t format, const void *addr, size_t len, const char *expected)
{
	char text[256];
	struct wf_strbuf sb;
	/* A heap copy of exactly @len bytes, so that a sanitizer sees over-reads. */
	void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, addr, len);
	wf_strbuf_init(&sb, text, sizeof(text));
	wf_addr_print(&sb, format, copy, len);
	assert_string_equal(text, expected);
	free(copy);
}

/* STR-011 */
static void addresses(void **state)
{
	struct sockaddr_in sin4 = { .sin_family = AF_INET, .sin_port = htons(47592) };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	uint8_t raw[64];
	uint16_t family = 27;
	int i;

	sin4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	expect_addr(FI_SOCKADDR_IN, &sin4, sizeof(sin4),
		"fi_sockaddr_in://127.0.0.1:47592");
	expect_addr(
		FI_SOCKADDR, &sin4, sizeof(sin4), "fi_sockaddr_in://127.0.0.1:47592");
	assert_int_equal(inet_pton(AF_INET6, "fd00::2", &sin6.sin6_addr), 1);
	expect_addr(
		FI_SOCKADDR_IN6, &sin6, sizeof(sin6), "fi_sockaddr_in6://[fd00::2]:9");
	expect_addr(
		FI_SOCKADDR_IP, &sin6, sizeof(sin6), "fi_sockaddr_in6://[fd00::2]:9");
	expect_addr(FI_ADDR_STR, "fi_shm://12", 12, "fi_shm://12");
	expect_addr(FI_ADDR_STR, "fi_shm://12", 8, "fi_shm:/");
	expect_addr(FI_FORMAT_UNSPEC, &sin4, sizeof(sin4), "");

	for (i = 0; i < 64; i++)
		raw[i] = (uint8_t)(i + 0x41);
	expect_addr(FI_ADDR_EFA, raw, 32,
		"fi_addr_efa://[4142:4344:4546:4748:494a:4b4c:4d4e:4f50]"
		":21073:1482118741");
	expect_addr(FI_ADDR_IB_UD, raw, 32,
		"fi_addr_ib_ud://4142:4344:4546:4748:494a:4b4c:4d4e:4f50"
		":54535251/5655/5857/5b");
	expect_addr(FI_ADDR_PSMX2, raw, 16,
		"fi_addr_psmx2://4847464544434241:504f4e4d4c4b4a49");
	expect_addr(FI_ADDR_CXI, raw, 4, "fi_addr_cxi://0x44434241");
	expect_addr(FI_ADDR_OPX, raw, 8, "fi_addr_opx://4847464544434241");
	memcpy(raw, &family, sizeof(family));
	expect_addr(FI_SOCKADDR_IB, raw, 48,
		"fi_sockaddr_ib://[494a:4b4c:4d4e:4f50:5152:5354:5556:5758]"
		":0x4344:0xd5e:0x70");
}

/* No format, known or not, reads beyond the length. */
static void short_addresses(void **state)
{
	uint8_t raw[64] = { AF_INET6 };
	char text[256];
	struct wf_strbuf sb;
	uint32_t format;
	size_t len;

	for (format = 0; format < 32; format++) {
		for (len = 0; len < sizeof(raw); len++) {
			void *copy = malloc(len ? len : 1);

			assert_non_null(copy);
			memcpy(copy, raw, len);
			wf_strbuf_init(&sb, text, sizeof(text));
			wf_addr_print(&sb, format, copy, len);
			free(copy);
		}
	}
}

static int own_tostr(const struct fid *fid, char *buf, size_t len)
{
	(void)snprintf(buf, len, "mine\n");
	return 0;
}

static int refuse_tostr(const struct fid *fid, char *buf, size_t len)
{
	(void)snprintf(buf, len, "half of someth");
	return -1;
}

/* STR-006, STR-017, STR-018 */
static void nic(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .tostr = refuse_tostr };
	struct fi_device_attr device = { .name = "eth0", .driver = "virtio_net" };
	struct fi_bus_attr bus = { .bus_type = FI_BUS_PCI,
		.attr.pci = { .domain_id = 1, .bus_id = 2, .function_id = 4 } };
	struct fi_link_attr link = { .mtu = 1500,
		.speed = 100000000000ull,
		.state = FI_LINK_UP,
		.network_type = "Ethernet" };
	struct fid_nic object = { .fid = { .fclass = FI_CLASS_NIC, .ops = &ops },
		.device_attr = &device,
		.bus_attr = &bus,
		.link_attr = &link };
	struct fi_info info = { .nic = &object };
	char *text = fi_tostr(&info, FI_TYPE_INFO);

	assert_string_equal(strstr(text, "    nic:"),
		"    nic:\n"
		"        fi_device_attr:\n"
		"            name: eth0\n"
		"            device_id: (null)\n"
		"            device_version: (null)\n"
		"            vendor_id: (null)\n"
		"            driver: virtio_net\n"
		"            firmware: (null)\n"
		"        fi_bus_attr:\n"
		"            bus_type: FI_BUS_PCI\n"
		"            fi_pci_attr:\n"
		"                domain_id: 1\n"
		"                bus_id: 2\n"
		"                device_id: 0\n"
		"                function_id: 4\n"
		"        fi_link_attr:\n"
		"            address: (null)\n"
		"            mtu: 1500\n"
		"            speed: 100000000000\n"
		"            state: FI_LINK_UP\n"
		"            network_type: Ethernet\n");
	ops.tostr = own_tostr;
	text = fi_tostr(&info, FI_TYPE_INFO);
	assert_string_equal(
		strstr(text, "fi_fabric_attr"), "fi_fabric_attr: (null)\nmine\n");
}

static void fid(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .tostr = own_tostr };
	struct fid object = { .fclass = FI_CLASS_EP, .ops = &ops };
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "fid: %p\n", (void *)&object);
	EXPECT(&object, FI_TYPE_FID, "mine\n");
	ops.tostr = refuse_tostr;
	EXPECT(&object, FI_TYPE_FID, expected);
	ops.size = offsetof(struct fi_ops, tostr);
	EXPECT(&object, FI_TYPE_FID, expected);
	object.ops = NULL;
	EXPECT(&object, FI_TYPE_FID, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(short_addresses),
		cmocka_unit_test(nic),
		cmocka_unit_test(fid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
