/* SPDX-License-Identifier: BSD-2-Clause */
/* What fi_bench asks for and opens, over a library of the test: each step, how the run
 * ends where it is refused, and what the members agree on. */
#include "fake.h"

#include <sys/socket.h>
#include <rdma/fi_atomic.h>
#include "../../../tools/bench/hints.h"
#include "../../../tools/bench/library.h"
#include "../../../tools/bench/node.h"
#include "../../../tools/bench/say.h"
#include "dies.h"

/* ---- the other files ---- */

void fb_library_open(void)
{
}

uint32_t fb_library_version(void)
{
	return FI_VERSION(2, 0);
}

const char *fb_library_path(void)
{
	return "";
}

/* ---- a node ---- */

static struct fb_config config;
static struct fb_control control;
static struct fb_node node;
static int peer_fd;

/* What the peer tells in node_agree. */
struct agreement {
	uint64_t call, tests, size_max, inject_max;
};

static void peer_says(const void *data, size_t len)
{
	assert_int_equal(write(peer_fd, data, len), len);
}

static void begin_as(int rank)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	fb_control_init(&control, rank, 2);
	fb_control_add(&control, !rank, fd[0], 5);
	peer_fd = fd[1];
	fb_config_init(&config);
	config.tests = 1 << FB_LATENCY;
	config.type = FI_EP_RDM;
	config.members = 2;
	config.threads = 1;
	config.timeout_s = 1;
	node = (struct fb_node){ .config = &config, .control = &control };
}

static int begin(void **state)
{
	struct fi_info *info = fi_allocinfo();

	(void)state;
	assert_non_null(info);
	memset(&fake, 0, sizeof(fake));
	fake.info = info;
	info->fabric_attr->prov_name = strdup("some");
	info->ep_attr->max_msg_size = 1 << 20;
	info->tx_attr->inject_size = 128;
	info->domain_attr->av_type = FI_AV_UNSPEC;
	info->dest_addr = strdup("dest");
	info->dest_addrlen = 5;
	begin_as(0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fi_freeinfo(fake.info);
	fb_control_close(&control);
	(void)close(peer_fd);
	return 0;
}

/* The peer agrees, and tells its address and no key. */
static struct agreement same(void)
{
	return (struct agreement){ FB_CALL_TAGGED, config.tests, 1 << 16, 64 };
}

static void peer_opens(const struct agreement *agreement, uint64_t address_len)
{
	struct fb_address address = { .len = address_len, .addr = "peer" };
	uint64_t keys[2] = { 0 };

	peer_says(agreement, sizeof(*agreement));
	peer_says(&address, sizeof(address));
	peer_says(keys, sizeof(keys));
}

static void open_node(void *arg)
{
	(void)arg;
	fb_node_open(&node);
}

/* ---- opening ---- */

static void endpoints_are_opened(void **state)
{
	struct agreement agreement = same();

	(void)state;
	peer_opens(&agreement, 5);
	fb_node_open(&node);
	assert_string_equal(fake_told(),
		"getinfo::0:8 fabric domain cq_open:0:0 av_open:2 endpoint bind:cq:c00 "
		"bind:av:0 enable getname:ep av_insert:peer:1");
	assert_int_equal(node.size_max, 1 << 16);
	assert_int_equal(node.inject_max, 64);
	fb_node_close(&node);
	assert_string_equal(
		fake_told(), "close:ep close:cq close:av close:domain close:fabric");
	assert_int_equal(fake.open, 0);
}

static void memory_is_registered(void **state)
{
	struct agreement agreement = same();

	(void)state;
	config.sleep = true;
	config.window = 257;
	fake.info->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT;
	fake.info->domain_attr->av_type = FI_AV_MAP;
	peer_opens(&agreement, 5);
	fb_node_open(&node);
	assert_non_null(strstr(fake.told, "cq_open:1028:1 av_open:1 "));
	assert_non_null(strstr(fake.told, ":800:0 bind:ep:0 mr_enable mr_reg:"));
	assert_non_null(strstr(fake.told, ":400:1 bind:ep:0 mr_enable"));
	(void)fake_told();
	fb_node_close(&node);
	assert_string_equal(fake_told(), "close:ep close:mr close:mr close:cq close:av "
					 "close:domain close:fabric");
}

static void each_step_may_fail(void **state)
{
	static const struct {
		const char *step, *what;
	} rows[] = {
		{ "fabric", "fi_fabric" },
		{ "domain", "fi_domain" },
		{ "cq_open", "fi_cq_open" },
		{ "av_open", "fi_av_open" },
		{ "endpoint", "fi_endpoint" },
		{ "bind", "binding a CQ" },
		{ "enable", "fi_enable" },
		{ "getname", "fi_getname" },
		{ "mr_reg", "fi_mr_reg" },
		{ "mr_enable", "fi_mr_enable" },
	};
	char text[128];

	(void)state;
	fake.info->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct agreement agreement = same();

		peer_opens(&agreement, 5);
		fake_refuse(rows[i].step, 0, -FI_EBUSY);
		(void)snprintf(text, sizeof(text),
			"fi_bench: %s: Device or resource busy\n", rows[i].what);
		dies(FB_EXIT_FAILED, text, open_node, NULL);
		fb_control_close(&control);
		(void)close(peer_fd);
		begin_as(0);
	}
}

static void members_agree(void **state)
{
	struct agreement agreement = same();

	(void)state;
	agreement.call = FB_CALL_MSG;
	peer_opens(&agreement, 5);
	dies(FB_EXIT_FAILED,
		"fi_bench: only one side has tagged messages: try --call=msg\n",
		open_node, NULL);
	agreement = same();
	agreement.tests++;
	(void)end(NULL);
	(void)begin(NULL);
	peer_opens(&agreement, 5);
	dies(FB_EXIT_FAILED,
		"fi_bench: only one side has all of these tests: name some\n",
		open_node, NULL);
}

static void addresses_are_checked(void **state)
{
	struct agreement agreement = same();

	(void)state;
	peer_opens(&agreement, 257);
	dies(FB_EXIT_FAILED, "fi_bench: the peer has an address of 257 bytes\n",
		open_node, NULL);
	(void)end(NULL);
	(void)begin(NULL);
	peer_opens(&agreement, 256);
	fake_refuse("av_insert", 0, 1);
	dies(FB_EXIT_FAILED, "fi_bench: fi_av_insert: the peer's address is refused\n",
		open_node, NULL);
}

/* ---- connections ---- */

static void listener_of(uint64_t len)
{
	struct fb_address listener = { .len = len, .addr = "listens" };
	struct agreement agreement = same();

	config.type = FI_EP_MSG;
	peer_says(&listener, sizeof(listener));
	peer_says(&agreement, sizeof(agreement));
	peer_says((uint64_t[2]){ 0 }, 16);
}

static void connections_are_opened(void **state)
{
	(void)state;
	listener_of(256);
	fake.eq[0] = (struct fake_read){ .ret = -FI_EINTR };
	fake.eq[1] = (struct fake_read){ .ret = 1, .event = FI_SHUTDOWN };
	fake.eq[2] = (struct fake_read){ .ret = 1, .event = FI_CONNECTED };
	fb_node_open(&node);
	assert_string_equal(fake_told(),
		"getinfo::0:8 fabric eq_open:1 domain cq_open:0:0 endpoint bind:cq:c00 "
		"bind:eq:0 enable connect:dest:0 eq_sread:100:0 eq_sread:100:0 "
		"eq_sread:100:0");
	assert_true(node.connect_ns > 0);
	fb_node_close(&node);
	assert_int_equal(fake.open, 0);
}

static void connections_fail(void **state)
{
	static const struct {
		struct fake_read event;
		const char *text;
	} rows[] = {
		{ { .ret = 1, .event = FI_CONNREQ },
			"fi_bench: connection: event 1 instead of 2\n" },
		{ { .ret = -FI_EAVAIL }, "fi_bench: connection: Connection refused\n" },
		{ { .ret = -FI_EIO },
			"fi_bench: waiting for a connection: Input/output error\n" },
		{ { .ret = 0 },
			"fi_bench: waiting for a connection: Connection timed out\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		listener_of(8);
		fake.eq[0] = rows[i].event;
		fake.err = FI_ECONNREFUSED;
		dies(FB_EXIT_FAILED, rows[i].text, open_node, NULL);
		(void)end(NULL);
		(void)begin(NULL);
	}
	listener_of(257);
	dies(FB_EXIT_FAILED, "fi_bench: the server listens at no address\n", open_node,
		NULL);
}

/* ---- hints ---- */

static void ask(void *arg)
{
	(void)arg;
	fb_node_getinfo(&node, NULL);
}

/* Without tagged messages others are asked for, and tests that there are not are left
 * out if none was named. */
static void less_is_asked_for(void **state)
{
	(void)state;
	fake_refuse("getinfo", 0, -FI_ENODATA);
	fb_node_getinfo(&node, NULL);
	assert_string_equal(fake_told(), "getinfo::0:8 getinfo::0:2");
	assert_int_equal(node.call, FB_CALL_MSG);
	fi_freeinfo(node.info);
	config.tests = 1 << FB_LATENCY | 1 << FB_READ_LATENCY | 1 << FB_ADD_RATE |
		       1 << FB_BARRIER;
	config.narrow = true;
	fake_refuse("getinfo", 0, -FI_ENODATA);
	fake.failures = 6;
	fb_node_getinfo(&node, NULL);
	assert_int_equal(config.tests, 1 << FB_LATENCY);
	assert_int_equal(node.call, FB_CALL_TAGGED);
	fi_freeinfo(node.info);
	config.narrow = false;
	fake_refuse("getinfo", 0, -FI_ENODATA);
	fake.failures = 2;
	dies(FB_EXIT_FAILED,
		"fi_bench: no endpoint of provider any fits the tests: No data "
		"available "
		"(fi_info shows what there is, FI_LOG_LEVEL=info why it does not "
		"fit)\n",
		ask, NULL);
	fake_refuse("getinfo", 0, -FI_ENOMEM);
	dies(FB_EXIT_FAILED,
		"fi_bench: no endpoint of provider any fits the tests: Cannot allocate "
		"memory (fi_info shows what there is, FI_LOG_LEVEL=info why it does "
		"not "
		"fit)\n",
		ask, NULL);
}

/* The address of the control connection counts where endpoints have such addresses and
 * one has it. */
static void addresses_of_the_control_connection(void **state)
{
	(void)state;
	node.source = "192.0.2.1";
	fake.info->addr_format = FI_ADDR_STR;
	fb_node_getinfo(&node, NULL);
	assert_string_equal(fake_told(), "getinfo::0:8");
	fi_freeinfo(node.info);
	fake.info->addr_format = FI_SOCKADDR_IN;
	fb_node_getinfo(&node, NULL);
	assert_string_equal(
		fake_told(), "getinfo::0:8 getinfo:192.0.2.1:200000000000000:8");
	fi_freeinfo(node.info);
	/* Without a first answer there is no second question. */
	fake_refuse("getinfo", 0, -FI_EBUSY);
	dies(FB_EXIT_FAILED,
		"fi_bench: no endpoint of provider any fits the tests: Device or "
		"resource busy (fi_info shows what there is, FI_LOG_LEVEL=info why it "
		"does not fit)\n",
		ask, NULL);
	/* The first answer counts where the second is none. */
	fake_refuse("getinfo", 1, -FI_ENODATA);
	fb_node_getinfo(&node, NULL);
	assert_non_null(node.info);
	fi_freeinfo(node.info);
}

static struct {
	uint64_t data_progress, threading, op_flags, tx_order, rx_order, mr_mode, mode;
	char provider[16], domain[16], fabric[16], dest[16];
} asked;

static void look(const struct fi_info *hints)
{
	memset(&asked, 0, sizeof(asked));
	asked.data_progress = hints->domain_attr->data_progress;
	asked.threading = hints->domain_attr->threading;
	asked.op_flags = hints->tx_attr->op_flags;
	asked.tx_order = hints->tx_attr->msg_order;
	asked.rx_order = hints->rx_attr->msg_order;
	asked.mr_mode = (uint64_t)hints->domain_attr->mr_mode;
	asked.mode = hints->mode;
	assert_int_equal(hints->ep_attr->type, config.type);
	assert_int_equal(hints->domain_attr->mode, FI_CONTEXT | FI_CONTEXT2);
#define COPY(to, from)                                                                 \
	(void)snprintf(asked.to, sizeof(asked.to), "%s", (from) ? (from) : "-")
	COPY(provider, hints->fabric_attr->prov_name);
	COPY(fabric, hints->fabric_attr->name);
	COPY(domain, hints->domain_attr->name);
	COPY(dest, (const char *)hints->dest_addr);
}

static void ask_once(void)
{
	fb_node_getinfo(&node, NULL);
	fi_freeinfo(node.info);
}

static void hints_are_as_configured(void **state)
{
	struct fb_address dest = { .len = 5, .addr = "dest" };

	(void)state;
	fake.look = look;
	ask_once();
	assert_int_equal(asked.data_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(asked.threading, FI_THREAD_DOMAIN);
	assert_int_equal(asked.op_flags, 0);
	assert_int_equal(asked.tx_order | asked.rx_order, 0);
	assert_int_equal(asked.mode, FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA);
	assert_int_equal(asked.mr_mode, FI_MR_LOCAL | FI_MR_VIRT_ADDR |
						FI_MR_ALLOCATED | FI_MR_PROV_KEY |
						FI_MR_ENDPOINT);
	assert_string_equal(asked.provider, "-");
	assert_string_equal(asked.dest, "-");
	config.sleep = true;
	config.threads = 2;
	config.verify = true;
	strcpy(config.provider, "tcp");
	strcpy(config.domain, "lo");
	strcpy(config.fabric, "net");
	fb_node_getinfo(&node, &dest);
	fi_freeinfo(node.info);
	assert_int_equal(asked.data_progress, FI_PROGRESS_UNSPEC);
	assert_int_equal(asked.threading, FI_THREAD_COMPLETION);
	assert_int_equal(asked.op_flags, 0);
	assert_int_equal(asked.tx_order, FI_ORDER_SAS);
	assert_int_equal(asked.rx_order, FI_ORDER_SAS);
	assert_string_equal(asked.provider, "tcp");
	assert_string_equal(asked.domain, "lo");
	assert_string_equal(asked.fabric, "net");
	assert_string_equal(asked.dest, "dest");
	config.tests = 1 << FB_ADD_RATE;
	config.threading = FI_THREAD_SAFE;
	config.progress = FI_PROGRESS_AUTO;
	ask_once();
	assert_int_equal(asked.op_flags, FI_DELIVERY_COMPLETE);
	assert_int_equal(asked.threading, FI_THREAD_SAFE);
	assert_int_equal(asked.data_progress, FI_PROGRESS_AUTO);
	config.tests = 1 << FB_WRITE_LATENCY;
	config.verify = config.sleep = false;
	config.progress = FI_PROGRESS_UNSPEC;
	ask_once();
	assert_int_equal(asked.op_flags, 0);
	(void)fake_told();
	config.silent = true;
	ask_once();
	assert_string_equal(fake_told(), "getinfo::0:c");
	assert_int_equal(asked.op_flags, FI_DELIVERY_COMPLETE);
	assert_int_equal(asked.data_progress, FI_PROGRESS_UNSPEC);
	config.tests = 1 << FB_ADD_RATE;
	ask_once();
	assert_string_equal(fake_told(), "getinfo::0:18");
	config.tests = 1 << FB_BARRIER;
	ask_once();
	assert_string_equal(fake_told(), "getinfo::0:4a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(endpoints_are_opened),
		TEST(memory_is_registered),
		TEST(each_step_may_fail),
		TEST(members_agree),
		TEST(addresses_are_checked),
		TEST(connections_are_opened),
		TEST(connections_fail),
		TEST(hints_are_as_configured),
		TEST(less_is_asked_for),
		TEST(addresses_of_the_control_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
