/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_INFO_ROWS_H
#define TESTS_UNIT_OBJECTS_INFO_ROWS_H

#include "info_fake.h"

/*
 * Every field of hints: the values that are accepted, and their answer; the values that
 * are refused, with their log line; and differences between API versions. Fields are
 * identified by their offsets in the structs, so that a row reads like the call that it
 * stands for.
 */
enum part { END, INFO_, TX_, RX_, EP_, DOM_, FAB_ };

struct field {
	enum part part;
	size_t offset, size;
	uint64_t value;
};

#define FIELD(part_, type_, member_, value_)                                           \
	{                                                                              \
		part_, offsetof(type_, member_), sizeof(((type_ *)0)->member_),        \
			(uint64_t)(value_)                                             \
	}
#define INFO(member, value) FIELD(INFO_, struct fi_info, member, value)
#define TX(member, value)   FIELD(TX_, struct fi_tx_attr, member, value)
#define RX(member, value)   FIELD(RX_, struct fi_rx_attr, member, value)
#define EP(member, value)   FIELD(EP_, struct fi_ep_attr, member, value)
#define DOM(member, value)  FIELD(DOM_, struct fi_domain_attr, member, value)
#define FAB(member, value)  FIELD(FAB_, struct fi_fabric_attr, member, value)

#define V(minor_of_one) FI_VERSION(1, minor_of_one)
#define V2(minor)       FI_VERSION(2, minor)

/* A row holds for each of these versions in [from, to). */
static const uint32_t versions[] = { V(4), V(5), V(9), V(17), V(20), V2(0), V2(5),
	V2(6) };

struct row {
	struct fi_info *tmpl;
	uint32_t from, to; /* 0: open */
	struct field asked[5];
	const char *refused; /* the line after "refused: "; NULL: accepted */
	struct field answer[5];
};

#define ALL   0, 0
#define OLD   0, V2(0) /* before 2.0 */
#define NEW   V2(0), 0
#define RDM   "(FI_EP_RDM)"
#define MSG   "(FI_EP_MSG)"
#define DGRAM "(FI_EP_DGRAM)"

#define BASIC    1
#define SCALABLE 2
#define LOCAL_MR (1ULL << 55)

#define SRX EP(rx_ctx_cnt, FI_SHARED_CONTEXT)

#define MSG_MODE (FI_CONTEXT | FI_MSG_PREFIX)
#define MSG_BITS (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)

static char *part_of(struct fi_info *info, enum part part)
{
	switch (part) {
	case TX_:
		return (char *)info->tx_attr;
	case RX_:
		return (char *)info->rx_attr;
	case EP_:
		return (char *)info->ep_attr;
	case DOM_:
		return (char *)info->domain_attr;
	case FAB_:
		return (char *)info->fabric_attr;
	default:
		return (char *)info;
	}
}

static void set_fields(struct fi_info *info, const struct field *fields)
{
	for (size_t i = 0; i < 5 && fields[i].part; i++)
		memcpy(part_of(info, fields[i].part) + fields[i].offset,
			&fields[i].value, fields[i].size);
}

static void assert_fields(struct fi_info *info, const struct field *fields, size_t row)
{
	for (size_t i = 0; i < 5 && fields[i].part; i++) {
		uint64_t value = 0;

		memcpy(&value, part_of(info, fields[i].part) + fields[i].offset,
			fields[i].size);
		if (value != fields[i].value)
			fail_msg("row %zu, answer %zu: 0x%llx instead of 0x%llx", row,
				i, (unsigned long long)value,
				(unsigned long long)fields[i].value);
	}
}

static void clear_pointers(struct fi_info *hints)
{
	hints->ep_attr->xpu_ctx = NULL;
	hints->domain_attr->auth_key_size = hints->ep_attr->auth_key_size = 0;
}

static void try_row(const struct row *row, size_t number, uint32_t version)
{
	struct fi_info *hints = fake_hints(), *answer;
	char line[1400] = "refused: ";
	int ret;

	set_fields(hints, row->asked);
	ret = wf_info_match(&fake_prov, version, row->tmpl, hints);
	if (row->refused) {
		strcat(line, row->refused);
		if (ret != -FI_ENODATA || strncmp(fake_log, line, strlen(line)) ||
			strchr(fake_log, '\n') != fake_log + strlen(fake_log) - 1)
			fail_msg("row %zu, version %u.%u: %d, \"%s\" instead of \"%s\"",
				number, FI_MAJOR(version), FI_MINOR(version), ret,
				fake_log, line);
	} else {
		if (ret || *fake_log)
			fail_msg("row %zu, version %u.%u: %d, %s", number,
				FI_MAJOR(version), FI_MINOR(version), ret, fake_log);
		answer = wf_info_answer(&fake_prov, version, row->tmpl, hints);
		assert_non_null(answer);
		assert_fields(answer, row->answer, number);
		assert_int_equal(answer->fabric_attr->api_version, version);
		/* The answer can be asked for, and opened. */
		if (wf_info_match(&fake_prov, version, row->tmpl, answer) ||
			wf_info_check(&fake_prov, version, answer))
			fail_msg("row %zu, version %u.%u: own answer: %s", number,
				FI_MAJOR(version), FI_MINOR(version), fake_log);
		fi_freeinfo(answer);
	}
	clear_pointers(hints);
	fi_freeinfo(hints);
}

static void try_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t v = 0; v < WF_ARRAY_SIZE(versions); v++)
			if (versions[v] >= rows[i].from &&
				(!rows[i].to || versions[v] < rows[i].to))
				try_row(&rows[i], i, versions[v]);
}

#define ROWS_TEST(name)                                                                \
	static void name(void **state)                                                 \
	{                                                                              \
		try_rows(name##_rows, WF_ARRAY_SIZE(name##_rows));                     \
	}

#endif
