/* SPDX-License-Identifier: BSD-2-Clause */
/* How fi_pingpong opens its endpoint and moves a message, over a library and a control
 * connection of the test: each step, and what is said and undone where it fails. */
#include "fake.h"

#include <time.h>
#include "../../../tools/pingpong/connect.h"
#include "../../../tools/pingpong/control.h"
#include "../../../tools/pingpong/message.h"
#include "../../../tools/pingpong/transfer.h"

static uint64_t now_ns, step_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_posix_memalign(void **ret, size_t alignment, size_t len);
int __real_posix_memalign(void **ret, size_t alignment, size_t len);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	now_ns += step_ns;
	ret->tv_sec = (time_t)(now_ns / 1000000000);
	ret->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

int __wrap_posix_memalign(void **ret, size_t alignment, size_t len)
{
	if (fake_call("memalign", ":%zu:%zu", alignment, len))
		return FI_ENOMEM;
	return __real_posix_memalign(ret, alignment, len);
}

/* ---- the other files ---- */

static char said[1024];
static enum pp_control_state control_state;
static enum fi_ep_type type;

bool pp_debug_wanted;

void pp_say(const char *format, ...)
{
	size_t at = strlen(said);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(said + at, sizeof(said) - at, format, args);
	va_end(args);
}

int pp_fail(const char *what, int error)
{
	pp_say("%s: %d", what, error);
	return error;
}

int pp_link_choose_type(struct pp_link *link)
{
	link->ep_type = type;
	return fake_call("type", "%s", "");
}

struct fi_info *pp_hints_new(const struct pp_options *options)
{
	(void)options;
	return fake_call("hints", "%s", "") ? NULL : fi_allocinfo();
}

int pp_link_getinfo(struct pp_link *link, struct fi_info *hints)
{
	int ret = fake_call("info", ":%zu:%u", hints->dest_addrlen, hints->addr_format);

	if (ret)
		return ret;
	link->info = fi_dupinfo(fake.info);
	assert_non_null(link->info);
	return 0;
}

int pp_control_open(const struct pp_options *options, int *ret_fd)
{
	(void)options;
	*ret_fd = -1;
	return fake_call("control", "%s", "");
}

int pp_control_send_name(int fd, const struct pp_name *name)
{
	(void)fd;
	return fake_call("tell", ":%u:%.*s", name->format, (int)name->len,
		(const char *)name->addr);
}

int pp_control_recv_name(int fd, struct pp_name *ret_name)
{
	int ret = fake_call("hear", "%s", "");

	(void)fd;
	if (ret)
		return ret;
	*ret_name = (struct pp_name){
		.format = FI_SOCKADDR_IN, .len = 5, .addr = strdup("peer")
	};
	assert_non_null(ret_name->addr);
	return 0;
}

enum pp_control_state pp_control_state(int fd)
{
	(void)fd;
	(void)fake_call("state", "%s", "");
	return control_state;
}

/* ---- a link ---- */

static struct pp_options options;
static struct pp_link link_;

static void begin_as(enum fi_ep_type ep_type, const char *server)
{
	struct fi_info *info = fake.info;

	memset(&fake, 0, sizeof(fake));
	fake.info = info;
	said[0] = 0;
	type = ep_type;
	options.server = server;
	link_ = (struct pp_link){
		.options = &options, .control = -1, .ep_type = ep_type
	};
}

static int begin(void **state)
{
	(void)state;
	fake.info = fi_allocinfo();
	assert_non_null(fake.info);
	fake.info->addr_format = FI_ADDR_STR;
	fake.info->ep_attr->max_msg_size = 1 << 20;
	fake.info->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT;
	fake.info->domain_attr->av_type = FI_AV_TABLE;
	fake.info->dest_addr = strdup("dest");
	fake.info->dest_addrlen = 5;
	options = (struct pp_options){ .size = { .choice = PP_SIZES_ONE, .one = 64 } };
	control_state = PP_CONTROL_QUIET;
	now_ns = 1;
	step_ns = 1;
	begin_as(FI_EP_RDM, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fi_freeinfo(fake.info);
	fake.info = NULL;
	return 0;
}

/* A request of the client brings an interface, which the link then owns. */
static void events_are(uint32_t first, uint32_t second)
{
	fake.eq[0] = (struct fake_read){ .ret = 1, .event = first };
	if (first == FI_CONNREQ)
		fake.eq[0].context = fi_dupinfo(fake.info);
	if (second)
		fake.eq[1] = (struct fake_read){ .ret = 1, .event = second };
}

/* ---- opening ---- */

#define ENDPOINT_BEGIN                                                                 \
	"memalign:4096:64 memalign:4096:64 domain cq_open:0:0 cq_open:0:0 "
#define ENDPOINT_END                                                                   \
	"enable mr_reg:64:800:1 bind:ep:0 mr_enable mr_reg:64:400:2 bind:ep:0 "        \
	"mr_enable recv:64"

static const struct {
	enum fi_ep_type type;
	const char *server, *told;
} roles[] = {
	{ FI_EP_RDM, NULL,
		"type control hints info:0:0 fabric " ENDPOINT_BEGIN
		"av_open:2 endpoint bind:av:0 bind:cq:800 bind:cq:400 " ENDPOINT_END
		" getname:ep getname:ep tell:9:name hear av_insert:peer:1" },
	{ FI_EP_DGRAM, "server",
		"type control hear hints info:5:2 fabric " ENDPOINT_BEGIN
		"av_open:2 endpoint bind:av:0 bind:cq:800 bind:cq:400 " ENDPOINT_END
		" av_insert:dest:1 getname:ep getname:ep tell:9:name" },
	{ FI_EP_MSG, NULL,
		"type control hints info:0:0 fabric eq_open:1 passive_ep bind:eq:0 "
		"listen "
		"getname:pep getname:pep tell:9:name eq_sread:100:0 " ENDPOINT_BEGIN
		"endpoint bind:eq:0 bind:cq:800 bind:cq:400 " ENDPOINT_END
		" accept:0 eq_sread:100:0" },
	{ FI_EP_MSG, "server",
		"type control hear hints info:5:2 fabric eq_open:1 " ENDPOINT_BEGIN
		"endpoint bind:eq:0 bind:cq:800 bind:cq:400 " ENDPOINT_END
		" connect:dest:0 eq_sread:100:0" },
};

static int open_as(size_t role)
{
	if (roles[role].type == FI_EP_MSG)
		events_are(roles[role].server ? FI_CONNECTED : FI_CONNREQ,
			roles[role].server ? 0 : FI_CONNECTED);
	return pp_link_open(&link_);
}

/* The request that was not read has its interface still. */
static void close_link(void)
{
	if (!fake.eq_at && fake.eq[0].event == FI_CONNREQ)
		fi_freeinfo(fake.eq[0].context);
	pp_link_close(&link_);
	assert_int_equal(fake.open, 0);
}

static void each_role_opens(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		begin_as(roles[i].type, roles[i].server);
		assert_int_equal(open_as(i), 0);
		assert_string_equal(fake_told(), roles[i].told);
		assert_string_equal(said, "");
		close_link();
		assert_string_equal(fake_told(),
			roles[i].type != FI_EP_MSG
				? "close:ep close:mr close:mr close:av close:cq "
				  "close:cq close:domain close:fabric"
			: roles[i].server ? "close:ep close:mr close:mr close:cq "
					    "close:cq close:domain close:eq "
					    "close:fabric"
					  : "close:ep close:pep close:mr close:mr "
					    "close:cq close:cq close:domain close:eq "
					    "close:fabric");
	}
}

/* Each step that fails ends it with its error, and what was opened is closed. */
static void each_step_may_fail(void **state)
{
	enum { E = -FI_EBUSY };
	static const struct {
		const char *step;
		int passed, ret, role;
		const char *said, *last;
	} rows[] = {
		{ "type", 0, E, 0, "", "type" },
		{ "control", 0, E, 0, "", "control" },
		{ "hints", 0, -FI_ENOMEM, 0, "", "hints" },
		{ "hints", 0, -FI_ENOMEM, 1, "", "hints" },
		{ "hints", 0, -FI_ENOMEM, 2, "", "hints" },
		{ "info", 0, E, 0, "", "info:0:0" },
		{ "info", 0, E, 1, "", "info:5:2" },
		{ "info", 0, E, 3, "", "info:5:2" },
		{ "hear", 0, E, 0, "", "hear" },
		{ "hear", 0, E, 1, "", "hear" },
		{ "hear", 0, E, 3, "", "hear" },
		{ "fabric", 0, E, 0, "fi_fabric: -16", "fabric" },
		{ "fabric", 0, E, 2, "fi_fabric: -16", "fabric" },
		{ "eq_open", 0, E, 3, "fi_eq_open: -16", "eq_open:1" },
		{ "memalign", 0, -FI_ENOMEM, 0, "buffers: -12", "memalign:4096:64" },
		{ "memalign", 1, -FI_ENOMEM, 0, "buffers: -12",
			"memalign:4096:64 memalign:4096:64" },
		{ "domain", 0, E, 0, "fi_domain: -16", "domain" },
		{ "cq_open", 0, E, 0, "fi_cq_open: -16", "domain cq_open:0:0" },
		{ "cq_open", 1, E, 0, "fi_cq_open: -16", "cq_open:0:0 cq_open:0:0" },
		{ "av_open", 0, E, 0, "fi_av_open: -16", "av_open:2" },
		{ "endpoint", 0, E, 0, "fi_endpoint: -16", "endpoint" },
		{ "bind", 0, E, 0, "fi_ep_bind: -16", "bind:av:0" },
		{ "bind", 1, E, 0, "fi_ep_bind: -16", "bind:cq:800" },
		{ "bind", 2, E, 0, "fi_ep_bind: -16", "bind:cq:400" },
		{ "bind", 0, E, 3, "fi_ep_bind: -16", "bind:eq:0" },
		{ "enable", 0, E, 0, "fi_enable: -16", "enable" },
		{ "mr_reg", 0, E, 0, "fi_mr_reg: -16", "mr_reg:64:800:1" },
		{ "mr_reg", 1, E, 0, "fi_mr_reg: -16", "mr_reg:64:400:2" },
		{ "bind", 3, E, 0, "fi_mr_bind: -16", "mr_reg:64:800:1 bind:ep:0" },
		{ "mr_enable", 0, E, 0, "fi_mr_bind: -16", "mr_enable" },
		{ "mr_enable", 1, E, 0, "fi_mr_bind: -16",
			"mr_reg:64:400:2 bind:ep:0 mr_enable" },
		{ "recv", 0, E, 0, "fi_recv: -16", "recv:64" },
		{ "getname", 0, E, 0, "fi_getname: -16", "getname:ep" },
		{ "getname", 1, E, 0, "fi_getname: -16", "getname:ep getname:ep" },
		{ "tell", 0, E, 0, "", "tell:9:name" },
		{ "tell", 0, E, 1, "", "tell:9:name" },
		{ "av_insert", 0, E, 0, "fi_av_insert: -16", "av_insert:peer:1" },
		{ "av_insert", 0, E, 1, "fi_av_insert: -16", "av_insert:dest:1" },
		{ "passive_ep", 0, E, 2, "fi_passive_ep: -16", "passive_ep" },
		{ "bind", 0, E, 2, "fi_listen: -16", "passive_ep bind:eq:0" },
		{ "listen", 0, E, 2, "fi_listen: -16", "listen" },
		{ "domain", 0, E, 2, "fi_domain: -16", "domain" },
		{ "accept", 0, E, 2, "fi_accept: -16", "accept:0" },
		{ "connect", 0, E, 3, "fi_connect: -16", "connect:dest:0" },
		{ "domain", 0, E, 3, "fi_domain: -16", "domain" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int role = rows[i].role;
		const char *told;

		begin_as(roles[role].type, roles[role].server);
		fake_refuse(rows[i].step, rows[i].passed, E);
		assert_int_equal(open_as((size_t)role), rows[i].ret);
		assert_string_equal(said, rows[i].said);
		told = fake_told();
		assert_true(strlen(told) >= strlen(rows[i].last));
		assert_string_equal(
			told + strlen(told) - strlen(rows[i].last), rows[i].last);
		close_link();
	}
}

static void an_address_is_not_taken(void **state)
{
	(void)state;
	fake_refuse("av_insert", 0, 1);
	assert_int_equal(open_as(0), -FI_EINVAL);
	assert_string_equal(said, "fi_av_insert: -22");
	close_link();
	begin_as(FI_EP_RDM, NULL);
	fake_refuse("getname", 0, 1);
	assert_int_equal(open_as(0), 1);
	close_link();
}

/* Nothing is opened where no size is left, and small buffers have the closing message. */
static void sizes_fit(void **state)
{
	(void)state;
	fake.info->ep_attr->max_msg_size = 63;
	assert_int_equal(open_as(0), -FI_EMSGSIZE);
	assert_string_equal(said, "the endpoint sends at most 63 bytes");
	close_link();
	begin_as(FI_EP_RDM, NULL);
	options.size.one = 3;
	fake.info->mode = FI_MSG_PREFIX;
	fake.info->ep_attr->msg_prefix_size = 24;
	assert_int_equal(open_as(0), 0);
	assert_int_equal(link_.prefix, 24);
	assert_int_equal(link_.buf_len, 28);
	assert_ptr_equal(link_.tx_desc, &fake);
	close_link();
	begin_as(FI_EP_RDM, NULL);
	fake.info->mode = 0;
	fake.info->domain_attr->mr_mode = FI_MR_LOCAL;
	assert_int_equal(open_as(0), 0);
	assert_int_equal(link_.prefix, 0);
	assert_null(strstr(fake.told, "mr_enable"));
	assert_non_null(strstr(fake.told, "mr_reg:4:400:2"));
	close_link();
	begin_as(FI_EP_RDM, NULL);
	fake.info->domain_attr->mr_mode = 0;
	assert_int_equal(open_as(0), 0);
	assert_null(strstr(fake.told, "mr_reg"));
	close_link();
}

/* ---- events ---- */

static void connections_fail(void **state)
{
	static const struct {
		struct fake_read event;
		int err, ret;
		const char *said;
	} rows[] = {
		{ { .ret = -FI_EAVAIL }, FI_EACCES, -FI_EACCES, "connecting: -13" },
		{ { .ret = -FI_EAVAIL }, 0, -FI_ECONNREFUSED, "connecting: -111" },
		{ { .ret = -FI_EIO }, 0, -FI_EIO, "unexpected event: -5" },
		{ { .ret = 1, .event = FI_SHUTDOWN }, 0, -FI_ECONNABORTED,
			"unexpected event: -103" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_as(FI_EP_MSG, "server");
		fake.eq[0] = rows[i].event;
		fake.err = rows[i].err;
		assert_int_equal(pp_link_open(&link_), rows[i].ret);
		assert_string_equal(said, rows[i].said);
		close_link();
	}
	begin_as(FI_EP_MSG, "server");
	fake.eq[0] = rows[0].event;
	fake_refuse("eq_readerr", 0, -FI_EBUSY);
	assert_int_equal(pp_link_open(&link_), -FI_EBUSY);
	assert_string_equal(said, "fi_eq_readerr: -16");
	close_link();
}

static void connections_are_waited_for(void **state)
{
	static const ssize_t empty[] = { -FI_EAGAIN, -FI_EINTR, -FI_ETIMEDOUT };

	(void)state;
	begin_as(FI_EP_MSG, "server");
	for (size_t i = 0; i < 3; i++)
		fake.eq[i].ret = empty[i];
	fake.eq[3] = (struct fake_read){ .ret = 1, .event = FI_CONNECTED };
	assert_int_equal(pp_link_open(&link_), 0);
	assert_non_null(strstr(fake.told, "connect:dest:0 eq_sread:100:0 state "
					  "eq_sread:100:0 state eq_sread:100:0 state "
					  "eq_sread:100:0"));
	close_link();
	begin_as(FI_EP_MSG, "server");
	control_state = PP_CONTROL_GONE;
	assert_int_equal(pp_link_open(&link_), -FI_ECONNRESET);
	assert_string_equal(said, "the peer left: -104");
	close_link();
	begin_as(FI_EP_MSG, "server");
	control_state = PP_CONTROL_QUIET;
	step_ns = UINT64_C(4000000000);
	assert_int_equal(pp_link_open(&link_), -FI_ETIMEDOUT);
	assert_string_equal(said, "connecting: -110");
	assert_int_equal(fake.eq_at, 0);
	close_link();
}

/* ---- a message ---- */

static void transfer_begin(void)
{
	begin_as(FI_EP_RDM, "server");
	link_.info = fi_dupinfo(fake.info);
	assert_non_null(link_.info);
	link_.info->tx_attr->inject_size = 16;
	link_.ep = &fake_ep;
	link_.rx_cq = &fake_cq;
	link_.tx_cq = &fake_cq;
	link_.peer = 5;
	link_.prefix = 4;
	link_.buf_len = 68;
	step_ns = 1;
}

static void transfer_end(void)
{
	fi_freeinfo(link_.info);
}

static void messages_are_sent(void **state)
{
	static const struct {
		bool tagged;
		size_t len;
		int (*send)(struct pp_link *link, size_t len);
		const char *told;
		bool busy;
	} rows[] = {
		{ false, 12, pp_send, "inject:16:5", false },
		{ true, 12, pp_send, "tinject:16:5:1234", false },
		{ false, 13, pp_send, "send:17:5", true },
		{ true, 13, pp_send, "tsend:17:5:1234", true },
		{ false, 4, pp_send_last, "sendmsg:8:5:9000000", true },
		{ true, 4, pp_send_last, "tsendmsg:8:5:1234:9000000", true },
	};

	(void)state;
	assert_int_equal(FI_TRANSMIT_COMPLETE | FI_COMPLETION, 0x9000000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		transfer_begin();
		options.tagged = rows[i].tagged;
		assert_int_equal(rows[i].send(&link_, rows[i].len), 0);
		assert_string_equal(fake_told(), rows[i].told);
		assert_int_equal(link_.tx_busy, rows[i].busy);
		transfer_end();
	}
	options.tagged = true;
	transfer_begin();
	assert_int_equal(pp_post_recv(&link_), 0);
	assert_string_equal(fake_told(), "trecv:68:1234:0");
	transfer_end();
}

/* Calls are repeated until the provider takes them, an error comes or a minute is over. */
static void calls_are_repeated(void **state)
{
	(void)state;
	transfer_begin();
	options.tagged = false;
	fake_refuse("send", 0, -FI_EAGAIN);
	fake.failures = 2;
	assert_int_equal(pp_send(&link_, 64), 0);
	assert_string_equal(fake_told(), "send:68:5 send:68:5 send:68:5");
	fake_refuse("send", 0, -FI_EBUSY);
	link_.tx_busy = false;
	assert_int_equal(pp_send(&link_, 64), -FI_EBUSY);
	assert_string_equal(said, "fi_send: -16");
	assert_false(link_.tx_busy);
	said[0] = 0;
	fake_refuse("send", 0, -FI_EAGAIN);
	fake.cq[0].ret = -FI_EIO;
	assert_int_equal(pp_send(&link_, 64), -FI_EIO);
	assert_string_equal(said, "fi_cq_read: -5");
	transfer_end();
	transfer_begin();
	fake_refuse("send", 0, -FI_EAGAIN);
	fake.failures = 1 << 20;
	step_ns = UINT64_C(50000000000);
	assert_int_equal(pp_send(&link_, 64), -FI_ETIMEDOUT);
	assert_string_equal(said, "fi_send: -110");
	transfer_end();
}

static void receives_are_repeated(void **state)
{
	(void)state;
	transfer_begin();
	options.tagged = false;
	link_.rx_done = true;
	fake_refuse("recv", 0, -FI_EAGAIN);
	assert_int_equal(pp_post_recv(&link_), 0);
	assert_string_equal(fake_told(), "recv:68 recv:68");
	assert_false(link_.rx_done);
	fake_refuse("recv", 0, -FI_EAGAIN);
	fake.cq[0].ret = -FI_EIO;
	assert_int_equal(pp_post_recv(&link_), -FI_EIO);
	assert_string_equal(said, "fi_cq_read: -5");
	said[0] = 0;
	fake_refuse("recv", 0, -FI_EAGAIN);
	fake.failures = 1 << 20;
	step_ns = UINT64_C(50000000000);
	assert_int_equal(pp_post_recv(&link_), -FI_EAGAIN);
	assert_string_equal(said, "fi_recv: -11");
	transfer_end();
}

static void completions_are_read(void **state)
{
	(void)state;
	transfer_begin();
	/* The queue of sends is not read as long as there is none. */
	fake.cq[0] = (struct fake_read){ .ret = 1, .len = 12 };
	fake.cq[1].ret = -FI_EIO;
	assert_int_equal(pp_wait_recv(&link_, PP_FOR_MESSAGE, 1000), PP_ARRIVED);
	assert_true(link_.rx_done);
	assert_int_equal(link_.rx_len, 8);
	/* Shorter than the prefix. */
	link_.rx_done = false;
	fake.cq_at = 0;
	fake.cq[0].len = 3;
	assert_int_equal(pp_wait_recv(&link_, PP_FOR_MESSAGE, 1000), PP_ARRIVED);
	assert_int_equal(link_.rx_len, 0);
	/* The receive queue is read first. */
	link_.rx_done = false;
	link_.tx_busy = true;
	fake.cq_at = 0;
	fake.cq[0].ret = -FI_EAGAIN;
	fake.cq[1] = (struct fake_read){ .ret = 1 };
	assert_int_equal(pp_wait_sent(&link_), 0);
	assert_false(link_.tx_busy);
	assert_false(link_.rx_done);
	link_.tx_busy = true;
	step_ns = UINT64_C(50000000000);
	assert_int_equal(pp_wait_sent(&link_), -FI_ETIMEDOUT);
	assert_string_equal(said, "waiting for a send: -110");
	transfer_end();
}

static void failed_transfers_say_why(void **state)
{
	(void)state;
	transfer_begin();
	fake.cq[0].ret = -FI_EAVAIL;
	fake.err = FI_ETRUNC;
	assert_int_equal(pp_wait_recv(&link_, PP_FOR_MESSAGE, 1000), -FI_ETRUNC);
	assert_string_equal(said, "transfer failed: Truncation error: reason 77");
	fake.err = 0;
	fake.cq_at = 0;
	assert_int_equal(pp_wait_recv(&link_, PP_FOR_MESSAGE, 1000), -FI_EIO);
	said[0] = 0;
	fake.cq_at = 0;
	fake_refuse("cq_readerr", 0, -FI_EBUSY);
	assert_int_equal(pp_wait_recv(&link_, PP_FOR_MESSAGE, 1000), -FI_EBUSY);
	assert_string_equal(said, "fi_cq_readerr: -16");
	transfer_end();
}

static void waits_end(void **state)
{
	static const struct {
		enum pp_wait_for what;
		enum pp_control_state peer;
		int ret;
		const char *said;
	} rows[] = {
		{ PP_FOR_MESSAGE, PP_CONTROL_QUIET, PP_TIMED_OUT, "" },
		{ PP_FOR_MESSAGE, PP_CONTROL_TALKS, PP_TIMED_OUT, "" },
		{ PP_FOR_MESSAGE, PP_CONTROL_GONE, -FI_ECONNRESET,
			"the peer left: -104" },
		{ PP_FOR_MESSAGE_OR_TALK, PP_CONTROL_TALKS, PP_MOVED_ON, "" },
		{ PP_FOR_TALK_OR_MESSAGE, PP_CONTROL_TALKS, PP_MOVED_ON, "" },
		{ PP_FOR_TALK_OR_MESSAGE, PP_CONTROL_QUIET, PP_TIMED_OUT, "" },
		{ PP_FOR_LAST_MESSAGE, PP_CONTROL_GONE, PP_TIMED_OUT, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		transfer_begin();
		/* Some hundred readings of the clock. */
		step_ns = 10000;
		control_state = rows[i].peer;
		assert_int_equal(pp_wait_recv(&link_, rows[i].what, 1), rows[i].ret);
		assert_string_equal(said, rows[i].said);
		transfer_end();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_role_opens),
		TEST(each_step_may_fail),
		TEST(an_address_is_not_taken),
		TEST(sizes_fit),
		TEST(connections_fail),
		TEST(connections_are_waited_for),
		TEST(messages_are_sent),
		TEST(calls_are_repeated),
		TEST(receives_are_repeated),
		TEST(completions_are_read),
		TEST(failed_transfers_say_why),
		TEST(waits_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
