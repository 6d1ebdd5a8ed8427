/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of a layer, one for each of the provider below, and which of them are kept. */
#include "info_fake.h"

#include "objects/lower/getinfo.h"
#include "objects/lower/find.h"
#include "../refuse.h"

REFUSE_CALL(struct fi_info *, "memory", fi_dupinfo, NULL, (const struct fi_info *info),
	(info))

#define VISIBLE __attribute__((visibility("default")))
#define LATEST  FI_VERSION(2, 6)

/* ---- the layer ---- */

static struct fi_info layer_info;
static const struct fi_info *const layer_templates[] = { &layer_info, NULL };
static const struct wf_prov layer_prov = {
	.fi = &fake_fi,
	.templates = layer_templates,
	.default_fabric = "FAKE-IP",
	.default_domain = "fake",
};
static struct wf_lower_found kept = WF_LOWER_FOUND_INIT;
static const struct wf_lower_kind kind = {
	.prov = &layer_prov,
	.needs = { .layer = "fake", .type = FI_EP_RDM, .caps = FI_MSG },
	.found = &kept,
};

/* ---- the provider below ---- */

enum { BELOW_MAX = 3 };

static struct {
	int err;
	unsigned int count;
	const char *domain[BELOW_MAX];
	uint32_t format[BELOW_MAX];
	unsigned int asked, searched;
	char name[32], fabric_name[32], prov_name[32]; /* of the last search */
	bool forgets;                                  /* a search keeps nothing */
} below;

VISIBLE int __wrap_wf_lower_find_for(uint32_t oldest,
	const struct wf_lower_question *question, const struct fi_info *hints,
	struct fi_info **ret_list);
VISIBLE int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);

static char *text(const char *from)
{
	char *copy = __real_strdup(from);

	assert_non_null(copy);
	return copy;
}

static void save(char *to, size_t len, const char *from)
{
	(void)snprintf(to, len, "%s", from ? from : "(none)");
}

int __wrap_wf_lower_find_for(uint32_t oldest, const struct wf_lower_question *question,
	const struct fi_info *hints, struct fi_info **ret_list)
{
	struct fi_info **end = ret_list;

	below.asked++;
	assert_int_equal(oldest, FI_VERSION(1, 8));
	assert_int_equal(
		question->flags & ~(FI_SOURCE | FI_NUMERICHOST | FI_RESCAN), 0);
	if (below.err)
		return below.err;
	for (unsigned int i = 0; i < below.count; i++) {
		struct fi_info *info = __real_fi_dupinfo(&dgram_in);

		assert_non_null(info);
		info->addr_format = below.format[i];
		info->domain_attr->name = text(below.domain[i]);
		info->fabric_attr->name = text("net");
		info->fabric_attr->prov_name = text("under");
		*end = info;
		end = &info->next;
	}
	return 0;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	below.searched++;
	assert_int_equal(version, fi_version());
	save(below.name, sizeof(below.name), hints->domain_attr->name);
	save(below.fabric_name, sizeof(below.fabric_name), hints->fabric_attr->name);
	save(below.prov_name, sizeof(below.prov_name), hints->fabric_attr->prov_name);
	if (below.forgets) {
		*ret_info = __real_fi_dupinfo(&dgram_in);
		return 0;
	}
	return wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, NULL, ret_info);
}

static int setup(void **state)
{
	layer_info = rdm;
	layer_info.addr_format = FI_FORMAT_UNSPEC;
	memset(&below, 0, sizeof(below));
	below.count = 2;
	below.domain[0] = "one";
	below.domain[1] = "two";
	below.domain[2] = "three";
	for (int i = 0; i < BELOW_MAX; i++)
		below.format[i] = FI_SOCKADDR_IN;
	fake_log[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	wf_lower_getinfo_done(&kind);
	assert_null(kept.list);
	return 0;
}

static size_t kept_count(void)
{
	size_t count = 0;

	for (const struct fi_info *it = kept.list; it; it = it->next)
		count++;
	return count;
}

static void answers(void **state)
{
	struct fi_info *list = NULL;

	below.count = 3;
	below.format[1] = FI_ADDR_EFA;
	assert_int_equal(wf_lower_getinfo(&kind, LATEST, "host", "5",
				 FI_SOURCE | FI_NUMERICHOST | FI_RESCAN, NULL, &list),
		0);
	assert_string_equal(list->domain_attr->name, "one");
	assert_string_equal(list->fabric_attr->name, "net");
	assert_int_equal(list->addr_format, FI_SOCKADDR_IN);
	assert_int_equal(list->ep_attr->type, FI_EP_RDM);
	assert_string_equal(list->next->domain_attr->name, "three");
	assert_null(list->next->next);
	assert_non_null(strstr(
		fake_log, "not over under: no address vector for FI_ADDR_EFA\n"));
	assert_int_equal(kept_count(), 2);
	fi_freeinfo(list);

	/* The same ones are kept once. */
	assert_int_equal(
		wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, NULL, &list), 0);
	fi_freeinfo(list);
	assert_int_equal(kept_count(), 2);

	/* Also if the last one is of no use. */
	below.format[2] = FI_ADDR_EFA;
	assert_int_equal(
		wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, NULL, &list), 0);
	assert_string_equal(list->domain_attr->name, "one");
	assert_null(list->next);
	fi_freeinfo(list);

	below.format[0] = FI_ADDR_EFA;
	assert_int_equal(wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, NULL, &list),
		-FI_ENODATA);
	below.err = -FI_ENODEV;
	assert_int_equal(wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, NULL, &list),
		-FI_ENODEV);
	assert_non_null(strstr(fake_log, "nothing below: "));
	assert_int_equal(kept_count(), 2);
}

/* Hints that no answer can meet ask nobody; names are those of the provider below. */
static void hints_are_matched_first(void **state)
{
	struct fi_info *hints = fake_hints(), *list = NULL;

	hints->caps = FI_MULTICAST;
	assert_int_equal(wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, hints, &list),
		-FI_ENODATA);
	assert_int_equal(below.asked, 0);
	hints->caps = 0;
	hints->domain_attr->name = text("two");
	hints->fabric_attr->name = text("net");
	assert_int_equal(
		wf_lower_getinfo(&kind, LATEST, NULL, NULL, 0, hints, &list), 0);
	assert_int_equal(below.asked, 1);
	assert_string_equal(list->domain_attr->name, "two");
	assert_null(list->next);
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

static struct fi_info *above_of(const char *domain, const char *prov_name)
{
	struct fi_info *above = fi_allocinfo();

	assert_non_null(above);
	above->addr_format = FI_SOCKADDR_IN;
	above->domain_attr->name = text(domain);
	above->fabric_attr->name = text("net");
	above->fabric_attr->prov_name = prov_name ? text(prov_name) : NULL;
	return above;
}

static void what_is_below_an_answer(void **state)
{
	struct fi_info *above = above_of("two", "under;fake"), *info = NULL;

	/* Not known yet: the layer is asked, which keeps the answers. */
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), 0);
	assert_int_equal(below.searched, 1);
	assert_string_equal(below.name, "two");
	assert_string_equal(below.fabric_name, "net");
	assert_string_equal(below.prov_name, "under;fake");
	assert_string_equal(info->domain_attr->name, "two");
	assert_string_equal(info->fabric_attr->prov_name, "under");
	assert_int_equal(info->ep_attr->type, FI_EP_DGRAM);
	assert_null(info->next);
	fi_freeinfo(info);
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), 0);
	assert_int_equal(below.searched, 1);
	fi_freeinfo(info);
	/* Another format, or another provider. */
	above->addr_format = FI_SOCKADDR_IN6;
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), -FI_ENODATA);
	assert_int_equal(below.searched, 2);
	fi_freeinfo(above);
	above = above_of("two", "over;fake");
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), -FI_ENODATA);
	fi_freeinfo(above);

	/* Without a name of a provider the layer asks itself. */
	above = above_of("four", NULL);
	fake_log[0] = '\0';
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), -FI_ENODATA);
	assert_string_equal(below.prov_name, "fake");
	assert_string_equal(below.name, "four");
	assert_non_null(strstr(fake_log, "nothing below domain four: "));
	below.forgets = true;
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), -FI_ENODATA);
	below.forgets = false;
	below.err = -FI_ENODEV;
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), -FI_ENODEV);
	fi_freeinfo(above);
}

/* Each allocation fails once. */
static void no_memory_is_told(void **state)
{
	struct fi_info *above = above_of("two", "under;fake"), *info;
	unsigned int number[2] = { 0, 0 };
	int ret;

	for (int i = 0; i < 2; i++) {
		do {
			info = NULL;
			refuse_one("memory", ++number[i], ENOMEM);
			ret = i ? wf_lower_getinfo_below(&kind, above, &info)
				: wf_lower_getinfo(
					  &kind, LATEST, NULL, NULL, 0, above, &info);
			if (refuse_end() && ret != -FI_ENOMEM)
				fail_msg("%d, allocation %u: %d", i, number[i], ret);
			wf_lower_getinfo_done(&kind);
		} while (refuse_end() && number[i] < 100);
		(void)refuse_end();
		assert_int_equal(ret, 0);
		fi_freeinfo(info);
	}
	assert_true(number[0] > 5 && number[1] > number[0]);
	/* One that is kept needs a name and a copy. */
	assert_int_equal(wf_lower_getinfo_below(&kind, above, &info), 0);
	fi_freeinfo(info);
	for (unsigned int i = 1; i <= 2; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_int_equal(
			wf_lower_getinfo_below(&kind, above, &info), -FI_ENOMEM);
		assert_true(refuse_end());
	}
	fi_freeinfo(above);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(answers),
		EACH(hints_are_matched_first),
		EACH(what_is_below_an_answer),
		EACH(no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
