/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for people: fi_tostr and fi_strerror. */
#include "suites.h"

static void check_text(const void *data, enum fi_type type, const char *wanted)
{
	char buf[256];

	CHECK(fi_tostr_r(buf, sizeof(buf), data, type) == buf);
	CHECK_STR(buf, wanted);
	CHECK_STR(fi_tostr(data, type), wanted);
}

static void flags_are_joined(void)
{
	uint64_t caps = FI_MSG | FI_SEND, none = 0;

	check_text(&caps, FI_TYPE_CAPS, "FI_MSG, FI_SEND");
	check_text(&none, FI_TYPE_CAPS, "");
}

static void values_have_their_names(void)
{
	enum fi_ep_type type = FI_EP_DGRAM;
	enum fi_threading threading = FI_THREAD_COMPLETION;
	enum fi_progress progress = FI_PROGRESS_MANUAL;
	enum fi_av_type av = FI_AV_TABLE;
	uint32_t format = FI_SOCKADDR_IN6, protocol = FI_PROTO_UDP;

	check_text(&type, FI_TYPE_EP_TYPE, "FI_EP_DGRAM");
	check_text(&threading, FI_TYPE_THREADING, "FI_THREAD_COMPLETION");
	check_text(&progress, FI_TYPE_PROGRESS, "FI_PROGRESS_MANUAL");
	check_text(&av, FI_TYPE_AV_TYPE, "FI_AV_TABLE");
	check_text(&format, FI_TYPE_ADDR_FORMAT, "FI_SOCKADDR_IN6");
	check_text(&protocol, FI_TYPE_PROTOCOL, "FI_PROTO_UDP");
}

static void unknown_values_and_types(void)
{
	enum fi_ep_type type = (enum fi_ep_type)99;

	check_text(&type, FI_TYPE_EP_TYPE, "Unknown");
	check_text(&type, (enum fi_type)9999, "Unknown type");
	CHECK(fi_tostr(NULL, FI_TYPE_CAPS) == NULL);
}

static void text_is_cut_to_the_buffer(void)
{
	uint64_t caps = FI_MSG | FI_SEND;
	char buf[8];

	memset(buf, '#', sizeof(buf));
	CHECK(fi_tostr_r(buf, 4, &caps, FI_TYPE_CAPS) == buf);
	CHECK(memchr(buf, '\0', 4) != NULL);
	CHECK(!strncmp(buf, "FI_MSG", strlen(buf)) && buf[0]);
	CHECK(buf[4] == '#');
}

/* Where @text starts a line of @all, after @from; fails when it does not. */
static const char *line_after(const char *all, const char *from, const char *text)
{
	for (const char *at = from; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, text, strlen(text)))
			return at;
	}
	cf_fail(__FILE__, __LINE__, "no \"%s\" in its place in: %.60s...", text, all);
}

static void an_info_prints_in_order(void)
{
	static const char *const lines[] = { "fi_info:", "    caps: [ FI_MSG",
		"    mode: [", "    addr_format: ", "    src_addrlen: ",
		"    dest_addrlen: ", "    src_addr: ", "    dest_addr: (null)",
		"    handle: ", "    fi_tx_attr:", "        caps: [ ",
		"        inject_size: ", "    fi_rx_attr:", "        caps: [ ",
		"    fi_ep_attr:", "        type: ", "        max_msg_size: ",
		"    fi_domain_attr:", "        threading: ", "        mr_mode: ",
		"    fi_fabric_attr:", "        prov_name: ", "    nic:" };
	struct fi_info *hints = cf_hints(), *info;
	size_t size = 1 << 16;
	const char *at;
	char *text = malloc(size);

	CHECK(text);
	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	CHECK(fi_tostr_r(text, size, info, FI_TYPE_INFO) == text);
	CHECK(!strchr(text, '\t'));
	at = text;
	for (size_t i = 0; i < CF_COUNT(lines); i++)
		at = line_after(text, at, lines[i]);
	if (cf_target.version >= FI_VERSION(2, 0)) {
		(void)line_after(text, text, "        progress: ");
		CHECK(!strstr(text, "control_progress"));
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
	free(text);
}

static void missing_parts_print_as_null(void)
{
	struct fi_info *info = fi_allocinfo(), bare;
	char text[4096];

	CHECK(info);
	bare = *info;
	bare.tx_attr = NULL;
	bare.domain_attr = NULL;
	CHECK(fi_tostr_r(text, sizeof(text), &bare, FI_TYPE_INFO) == text);
	(void)line_after(text, text, "    src_addr: (null)");
	(void)line_after(text, text, "    fi_tx_attr: (null)");
	(void)line_after(text, text, "    fi_domain_attr: (null)");
	fi_freeinfo(info);
}

static void errors_have_text(void)
{
	CHECK_STR(fi_strerror(0), "Success");
	CHECK_STR(fi_strerror(FI_EINVAL), strerror(EINVAL));
	CHECK_STR(fi_strerror(-FI_EINVAL), strerror(EINVAL));
	CHECK(strcmp(fi_strerror(FI_EOPBADSTATE), fi_strerror(FI_ENOCQ)));
	CHECK_STR(fi_strerror(-FI_ENOCQ), fi_strerror(FI_ENOCQ));
	CHECK_STR(fi_strerror(9999), "Unspecified error");
	CHECK_STR(fi_strerror(-9999), "Unspecified error");
	for (int i = 0; i < 300; i++)
		CHECK(fi_strerror(i) && *fi_strerror(i));
}

static void version_prints(void)
{
	int any = 0;
	const char *text = fi_tostr(&any, FI_TYPE_VERSION);

	CHECK(text && strchr(text, '.'));
}

CF_SUITE(tostr, CF_CASE(flags_are_joined, "STR-001 STR-004", 0),
	CF_CASE(values_have_their_names, "STR-009", 0),
	CF_CASE(unknown_values_and_types, "STR-002 STR-003", 0),
	CF_CASE(text_is_cut_to_the_buffer, "STR-001", 0),
	CF_CASE(an_info_prints_in_order, "STR-004 STR-005 STR-006 STR-008", 0),
	CF_CASE(missing_parts_print_as_null, "STR-007", 0),
	CF_CASE(errors_have_text, "STR-012 STR-013", 0),
	CF_CASE(version_prints, "STR-002", 0));
