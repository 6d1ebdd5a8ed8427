/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include "../refuse.h"

/*
 * Names that stand for other providers. Two transports: net, with connections and
 * reliable datagrams, and dgr, with datagrams. "old" stands for both, "ofi_up" for a
 * layer over net.
 */

enum { OLD_PROTOCOL = 77, UP_PROTOCOL = 78, NET_PROTOCOL = 5 };

const struct wf_known_prov wf_known_provs[] = {
	{ "hard", .instead = "net" },
	{ "net" },
	{ "dgr", .one_machine = true },
	{ "old" },
	{ NULL },
};
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = {
	{ "old", "net", FI_EP_RDM, OLD_PROTOCOL },
	{ "old", "dgr", FI_EP_DGRAM, OLD_PROTOCOL },
	{ "ofi_up", "net", FI_EP_RDM, UP_PROTOCOL },
	{ "ofi_none", "nowhere", FI_EP_RDM, 0 },
	{ NULL },
};

/* What the base was asked last. */
static struct {
	bool hints;
	char prov_name[FI_NAME_MAX];
	enum fi_ep_type type;
	uint32_t protocol, protocol_version, prov_version;
	struct fid_fabric *fabric;
} asked;

static void note(const struct fi_info *hints)
{
	memset(&asked, 0, sizeof(asked));
	asked.hints = hints;
	if (!hints || !hints->fabric_attr)
		return;
	(void)snprintf(asked.prov_name, sizeof(asked.prov_name), "%s",
		hints->fabric_attr->prov_name);
	asked.type = hints->ep_attr->type;
	asked.protocol = hints->ep_attr->protocol;
	asked.protocol_version = hints->ep_attr->protocol_version;
	asked.prov_version = hints->fabric_attr->prov_version;
	asked.fabric = hints->fabric_attr->fabric;
}

static struct fi_info **add(struct fi_info **end, const char *domain,
	enum fi_ep_type type, const struct fi_info *hints)
{
	const char *refused = refuse.call;

	if (hints && hints->ep_attr && hints->ep_attr->type &&
		hints->ep_attr->type != type)
		return end;
	refuse.call = NULL; /* the bases have memory */
	*end = fake_info(NULL, domain);
	refuse.call = refused;
	(*end)->ep_attr->type = type;
	(*end)->ep_attr->protocol = NET_PROTOCOL;
	return &(*end)->next;
}

static int net_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	*info = NULL;
	note(hints);
	add(add(info, "net0", FI_EP_RDM, hints), "net0", FI_EP_MSG, hints);
	return *info ? 0 : -FI_ENODATA;
}

static int dgr_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	*info = NULL;
	note(hints);
	add(info, "dgr0", FI_EP_DGRAM, hints);
	return *info ? 0 : -FI_ENODATA;
}

static int real_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	*info = fake_info(NULL, "real0");
	return 0;
}

/* A layer over whatever a question without names finds. */
static int top_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	return fi_getinfo(version, node, service, flags, NULL, info);
}

/* Fabrics that count how often they are open, and their domains. */
struct fabric {
	struct fid_fabric fid;
	int opened, domains;
};
static struct fabric net_fabric, dgr_fabric;

static int fabric_close(struct fid *fid)
{
	struct fabric *fabric = (struct fabric *)fid;

	if (fabric->domains)
		return -FI_EBUSY;
	fabric->opened--;
	return 0;
}

static int fabric_domain(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **domain, void *context)
{
	((struct fabric *)fid)->domains++;
	*domain = (struct fid_domain *)fid;
	return 0;
}

static int fabric_domain2(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **domain, uint64_t flags, void *context)
{
	((struct fabric *)fid)->domains += 100;
	*domain = (struct fid_domain *)fid;
	return 0;
}

static struct fi_ops fid_ops = { .size = sizeof(fid_ops), .close = fabric_close };
static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops), .domain = fabric_domain, .domain2 = fabric_domain2
};

static int open_fabric(struct fabric *fabric, struct fid_fabric **ret, void *context)
{
	*fabric = (struct fabric){ .opened = fabric->opened + 1,
		.fid = { .fid = { .fclass = FI_CLASS_FABRIC,
				 .context = context,
				 .ops = &fid_ops },
			.ops = &fabric_ops } };
	*ret = &fabric->fid;
	return 0;
}

static char opened_name[FI_NAME_MAX];

static int net_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	(void)snprintf(
		opened_name, sizeof(opened_name), "%s:%s", attr->prov_name, attr->name);
	return open_fabric(&net_fabric, fabric, context);
}

static int dgr_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return open_fabric(&dgr_fabric, fabric, context);
}

#define PROVIDER(var, label, call, open)                                               \
	static struct fi_provider var = { .name = (label),                             \
		.version = FI_VERSION(1, 7),                                           \
		.fi_version = FAKE_VERSION,                                            \
		.getinfo = (call),                                                     \
		.fabric = (open) }

/* A hook that replaces the tables of the fabric. */
static struct fi_ops front_fid_ops;
static struct fi_ops_fabric front_ops;

static int front_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	front_fid_ops = *attr->fabric->fid.ops;
	front_ops = *attr->fabric->ops;
	attr->fabric->fid.ops = &front_fid_ops;
	attr->fabric->ops = &front_ops;
	*fabric = attr->fabric;
	return 0;
}

PROVIDER(net, "net", net_getinfo, net_open);
PROVIDER(dgr, "dgr", dgr_getinfo, dgr_open);
PROVIDER(top, "ofi_top", top_getinfo, fake_fabric);
PROVIDER(front, "ofi_hook_front", NULL, front_open);
PROVIDER(real_up, "ofi_up", real_getinfo, fake_fabric);

static void start_with(const char *var, const char *value, struct fi_provider *third)
{
	struct fi_provider *const provs[] = { &net, &dgr, third, NULL };
	const char *const env[] = { var, value, NULL };

	fake_start(value ? env : NULL, provs);
	wf_stand_ins_register();
	memset(&net_fabric, 0, sizeof(net_fabric));
	memset(&dgr_fabric, 0, sizeof(dgr_fabric));
}

static void start(const char *filter, struct fi_provider *third)
{
	start_with("FI_PROVIDER", filter, third);
}

/* "name:domain/protocol ..." of what fi_getinfo returns, or "none". */
static const char *list_of(const struct fi_info *hints)
{
	static char text[1024];
	struct fi_info *list, *it;

	(void)snprintf(text, sizeof(text), "none");
	if (fi_getinfo(FAKE_VERSION, NULL, NULL, 0, hints, &list))
		return text;
	text[0] = '\0';
	for (it = list; it; it = it->next)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"%s%s:%s/%u", it == list ? "" : " ", it->fabric_attr->prov_name,
			it->domain_attr->name, it->ep_attr->protocol);
	fi_freeinfo(list);
	return text;
}

static struct fi_info *hints_for(const char *prov_name)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->fabric_attr->prov_name = strdup(prov_name);
	return hints;
}

static const char *list_for(const char *prov_name)
{
	struct fi_info *hints = hints_for(prov_name);
	const char *text = list_of(hints);

	fi_freeinfo(hints);
	return text;
}

#define PLAIN "net:net0/5 net:net0/5 dgr:dgr0/5"
#define OLD   "old:net0/77 old:dgr0/77"

static void only_by_name(void **state)
{
	start(NULL, NULL);
	assert_string_equal(list_of(NULL), PLAIN);
	assert_logged("old: refused: prov_name: asked none, possible only by name");
	assert_string_equal(list_for("net"), "net:net0/5 net:net0/5");
	assert_string_equal(list_for("OLD"), OLD);
	assert_string_equal(list_for("ofi_up"), "net;ofi_up:net0/78");
	assert_string_equal(list_for("ofi_up;net"), "net;ofi_up:net0/78");
	assert_string_equal(list_for("dgr;ofi_up"), "none");
	/* Every name of the table that was asked for is here. */
	assert_null(strstr(fake_logged, "there is no provider"));
	assert_string_equal(list_for("ofi_none"), "none");
	assert_logged("asked ofi_none, possible none: there is no provider ofi_none");
}

/* PRV-002, PRV-004 */
static void named_by_the_user(void **state)
{
	start("old", NULL);
	assert_string_equal(list_of(NULL), OLD);
	assert_string_equal(list_for("net"), "none");
	start("net;ofi_up", NULL);
	assert_string_equal(list_of(NULL), "net;ofi_up:net0/78");
	start("^old", NULL);
	assert_string_equal(list_for("old"), "none");
	assert_string_equal(list_of(NULL), PLAIN);
	start("^net", NULL);
	assert_string_equal(list_for("old"), "old:dgr0/77");
	assert_string_equal(list_for("ofi_up"), "none");
	start("^ofi_up", NULL);
	assert_string_equal(list_for("net;ofi_up"), "none");
}

static void hints_reach_the_base_in_its_words(void **state)
{
	struct fi_info *hints = hints_for("old");

	start(NULL, NULL);
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->protocol = OLD_PROTOCOL;
	hints->ep_attr->protocol_version = 9;
	hints->fabric_attr->prov_version = FI_VERSION(2, 0);
	assert_string_equal(list_of(hints), "old:net0/77");
	assert_string_equal(asked.prov_name, "net");
	assert_int_equal(asked.type, FI_EP_RDM);
	assert_int_equal(asked.protocol, FI_PROTO_UNSPEC);
	assert_int_equal(asked.protocol_version, 9);
	assert_int_equal(asked.prov_version, 0);
	/* The base's own protocol is not that of the name. */
	hints->ep_attr->protocol = NET_PROTOCOL;
	assert_string_equal(list_of(hints), "none");
	assert_logged("old: refused: ep_attr.protocol: asked ");
	hints->ep_attr->protocol = FI_PROTO_UNSPEC;
	hints->ep_attr->type = FI_EP_MSG;
	assert_string_equal(list_of(hints), "none");
	assert_logged("old: no results: No data available (-61)");
	assert_null(strstr(fake_logged, "warning old: no results"));
	fi_freeinfo(hints);
	/* Hints need not have all attributes, and no hints stay none. */
	start("old", NULL);
	hints = fi_allocinfo();
	free(hints->fabric_attr);
	hints->fabric_attr = NULL;
	assert_string_equal(list_of(hints), OLD);
	free(hints->ep_attr);
	hints->ep_attr = NULL;
	assert_string_equal(list_of(hints), OLD);
	assert_null(strstr(fake_logged, "warning old: no results"));
	fi_freeinfo(hints);
	assert_string_equal(list_of(NULL), OLD);
	assert_false(asked.hints);
}

static void a_real_one_takes_its_place(void **state)
{
	start(NULL, &real_up);
	assert_string_equal(list_for("ofi_up"), "ofi_up:real0/0");
	assert_string_equal(list_for("old"), OLD);
}

/* A name in FI_PROVIDER means the provider for the program, not the transport of a
 * layer. */
static void not_below_an_unnamed_layer(void **state)
{
	start("old", &top);
	assert_string_equal(list_of(NULL), OLD);
	start(NULL, &top);
	assert_string_equal(list_for("ofi_top"),
		"net;ofi_top:net0/5 net;ofi_top:net0/5 dgr;ofi_top:dgr0/5");
	assert_string_equal(list_for("dgr;ofi_top"), "dgr;ofi_top:dgr0/5");
}

/* FI_PROV_ATTR_ONLY, GI-034: once each, behind the others. */
static void listed_once(void **state)
{
	static const char *const names[] = { "net", "dgr", "old", "ofi_up" };
	struct fi_info *list, *it;
	size_t i = 0;

	start(NULL, NULL);
	assert_int_equal(
		fi_getinfo(FAKE_VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list),
		0);
	for (it = list; it; it = it->next) {
		assert_true(i < sizeof(names) / sizeof(names[0]));
		assert_string_equal(it->fabric_attr->prov_name, names[i++]);
	}
	assert_int_equal(i, sizeof(names) / sizeof(names[0]));
	fi_freeinfo(list);
}

static int open_by(const char *prov_name, struct fid_fabric **fabric)
{
	char name[FI_NAME_MAX];
	struct fi_fabric_attr attr = { .name = "nw", .prov_name = name };

	(void)snprintf(name, sizeof(name), "%s", prov_name);
	return fi_fabric(&attr, fabric, &asked);
}

static void fabric_of_one_base(void **state)
{
	struct fid_fabric *fabric;

	start(NULL, NULL);
	assert_int_equal(open_by("net;ofi_up", &fabric), 0);
	assert_ptr_equal(fabric, &net_fabric);
	assert_ptr_equal(fabric->ops, &fabric_ops);
	assert_ptr_equal(fabric->fid.context, &asked);
	assert_string_equal(opened_name, "net:nw");
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_int_equal(open_by("dgr;ofi_up", &fabric), -FI_ENODEV);
	assert_int_equal(open_by("ofi_none", &fabric), -FI_ENODEV);
}

/* A fabric of several bases opens each domain where its endpoints are. */
static void check_two_bases(void)
{
	struct fi_info *rdm = fi_allocinfo(), *dgram = fi_allocinfo(), *hints;
	struct fid_domain *domain;
	struct fid_fabric *fabric;

	rdm->ep_attr->type = FI_EP_RDM;
	dgram->ep_attr->type = FI_EP_DGRAM;
	assert_int_equal(open_by("old", &fabric), 0);
	assert_int_equal(dgr_fabric.opened, 0);
	assert_int_equal(fi_domain(fabric, rdm, &domain, NULL), 0);
	assert_int_equal(net_fabric.domains, 1);
	assert_int_equal(fi_domain(fabric, dgram, &domain, NULL), 0);
	assert_int_equal(fi_domain2(fabric, dgram, &domain, FI_PEER, NULL), 0);
	assert_int_equal(fi_domain2(fabric, rdm, &domain, FI_PEER, NULL), 0);
	assert_int_equal(dgr_fabric.opened, 1);
	assert_int_equal(dgr_fabric.domains, 101);
	assert_int_equal(net_fabric.domains, 101);

	/* Hints that hold the open fabric mean the base's own. */
	hints = hints_for("old");
	hints->fabric_attr->fabric = fabric;
	hints->ep_attr->type = FI_EP_RDM;
	(void)list_of(hints);
	assert_ptr_equal(asked.fabric, fabric);
	hints->ep_attr->type = FI_EP_DGRAM;
	(void)list_of(hints);
	assert_ptr_equal(asked.fabric, &dgr_fabric);
	fi_freeinfo(hints);

	/* Neither base's open domains are lost. */
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	dgr_fabric.domains = 0;
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	assert_int_equal(dgr_fabric.opened, 0);
	assert_int_equal(fi_domain(fabric, dgram, &domain, NULL), 0);
	assert_int_equal(dgr_fabric.opened, 1);
	dgr_fabric.domains = net_fabric.domains = 0;
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_int_equal(net_fabric.opened, 0);
	assert_int_equal(dgr_fabric.opened, 0);
	fi_freeinfo(rdm);
	fi_freeinfo(dgram);
}

static void fabric_of_two_bases(void **state)
{
	start(NULL, NULL);
	check_two_bases();
}

/* PRV-051 */
static void fabric_of_two_bases_behind_a_hook(void **state)
{
	start_with("FI_HOOK", "front", &front);
	check_two_bases();
	assert_non_null(front_ops.domain);
}

static int getinfo_for(const struct fi_info *hints, struct fi_info **list)
{
	fake_logged[0] = '\0';
	*list = NULL;
	return fi_getinfo(FAKE_VERSION, NULL, NULL, 0, hints, list);
}

/* Of one base without memory nothing is listed, for the name; what only lacks memory for
 * its own name is left out alone. */
static void no_memory_for_results(void **state)
{
	struct fi_info *hints = hints_for("old"), *list;
	unsigned int failed = 0, left_out = 0;

	start(NULL, NULL);
	for (unsigned int nth = 1;; nth++) {
		int err;

		refuse_one("memory", nth, ENOMEM);
		err = getinfo_for(hints, &list);
		if (!refuse_end())
			break;
		if (err) {
			assert_int_equal(err, -FI_ENODATA);
			assert_logged("warning old: no results: Cannot allocate memory "
				      "(-12)");
			failed++;
			continue;
		}
		assert_logged(": a result is left out: no memory for its name");
		assert_null(list->next);
		fi_freeinfo(list);
		left_out++;
	}
	/* The hints for both bases are copied; the result of each gets the name of the
	 * base, and then this one. */
	assert_true(failed >= 2);
	assert_int_equal(left_out, 4);
	assert_string_equal(list->domain_attr->name, "net0");
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

/* A layer's name is appended to that of its base. */
static void no_memory_for_the_name_of_a_layer(void **state)
{
	struct fi_info *hints = hints_for("ofi_up"), *list;
	unsigned int left_out = 0;

	start(NULL, NULL);
	for (unsigned int nth = 1;; nth++) {
		int err;

		refuse_one("memory", nth, ENOMEM);
		err = getinfo_for(hints, &list);
		if (!refuse_end())
			break;
		assert_int_equal(err, -FI_ENODATA);
		if (strstr(fake_logged, "warning ofi_up: a result is left out: no "
					"memory for its name"))
			left_out++;
	}
	assert_int_equal(left_out, 1);
	assert_string_equal(list->fabric_attr->prov_name, "net;ofi_up");
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

static void no_memory_for_the_list(void **state)
{
	struct fi_info *list = NULL;
	int err;

	start(NULL, NULL);
	REFUSE_EACH("memory", ENOMEM,
		err = fi_getinfo(
			FAKE_VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list),
		{
			assert_int_equal(err, -FI_ENOMEM);
			assert_null(list);
		});
	assert_int_equal(err, 0);
	fi_freeinfo(list);
}

/* What was opened for the chooser is closed. */
static void no_memory_for_a_fabric_of_two_bases(void **state)
{
	struct fid_fabric *fabric = NULL;
	int err;

	start(NULL, NULL);
	REFUSE_EACH("memory", ENOMEM, err = open_by("old", &fabric), {
		assert_int_equal(err, -FI_ENOMEM);
		assert_null(fabric);
		assert_int_equal(net_fabric.opened, 0);
	});
	assert_int_equal(err, 0);
	assert_int_equal(net_fabric.opened, 1);
	assert_int_equal(fi_close(&fabric->fid), 0);
	/* A name with one base takes none. */
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(open_by("net;ofi_up", &fabric), 0);
	assert_false(refuse_end());
	assert_int_equal(fi_close(&fabric->fid), 0);
}

static int second_answer;

static int refused_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return second_answer ? second_answer : dgr_open(attr, fabric, context);
}

/* A base that does not open, first or second, is the answer of that call alone. */
static void base_that_does_not_open(void **state)
{
	struct fi_info *dgram = fi_allocinfo(), *rdm = fi_allocinfo();
	struct fid_domain *domain = NULL;
	struct fid_fabric *fabric = NULL;

	start(NULL, NULL);
	dgr.fabric = refused_open;
	second_answer = -FI_EACCES;
	dgram->ep_attr->type = FI_EP_DGRAM;
	rdm->ep_attr->type = FI_EP_RDM;
	assert_int_equal(open_by("dgr;old", &fabric), -FI_EACCES);
	assert_null(fabric);
	assert_int_equal(open_by("old", &fabric), 0);
	assert_int_equal(fi_domain(fabric, dgram, &domain, NULL), -FI_EACCES);
	assert_int_equal(fi_domain2(fabric, dgram, &domain, FI_PEER, NULL), -FI_EACCES);
	assert_null(domain);
	assert_int_equal(fi_domain(fabric, rdm, &domain, NULL), 0);
	assert_int_equal(net_fabric.domains, 1);
	/* No type, or one of neither base: the first. */
	assert_int_equal(fi_domain(fabric, NULL, &domain, NULL), 0);
	dgram->ep_attr->type = FI_EP_MSG;
	assert_int_equal(fi_domain2(fabric, dgram, &domain, FI_PEER, NULL), 0);
	assert_int_equal(net_fabric.domains, 102);
	dgram->ep_attr->type = FI_EP_DGRAM;
	second_answer = 0;
	assert_int_equal(fi_domain(fabric, dgram, &domain, NULL), 0);
	assert_int_equal(dgr_fabric.domains, 1);
	dgr_fabric.domains = net_fabric.domains = 0;
	assert_int_equal(fi_close(&fabric->fid), 0);
	dgr.fabric = dgr_open;
	fi_freeinfo(dgram);
	fi_freeinfo(rdm);
}

/* One layer over a base is all that a name says. */
static void names_of_no_fabric(void **state)
{
	struct fid_fabric *fabric = NULL;

	start(NULL, NULL);
	assert_int_equal(open_by("net;dgr;old", &fabric), -FI_ENODEV);
	assert_int_equal(open_by("hard;old", &fabric), -FI_ENODEV);
	assert_int_equal(net_fabric.opened, 0);
	/* With its base's name it is no choice between two. */
	assert_int_equal(open_by("dgr;old", &fabric), 0);
	assert_ptr_equal(fabric->ops, &fabric_ops);
	assert_int_equal(dgr_fabric.opened, 1);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

static size_t count_logged(const char *text)
{
	size_t count = 0;

	for (const char *at = fake_logged; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void missing_name_is_told_once(void **state)
{
	start(NULL, NULL);
	assert_string_equal(list_for("hard"), "none");
	assert_string_equal(list_for("hard;ofi_up"), "none");
	assert_logged(
		"core: refused: prov_name: asked hard, possible none: there is no "
		"provider hard here; net would serve");
	assert_int_equal(count_logged("no provider hard"), 1);
}

/* Peers on this machine only: what reaches no other comes first. */
static void local_peers_first(void **state)
{
	struct fi_info *hints = fi_allocinfo();

	start(NULL, NULL);
	hints->caps = FI_MSG | FI_LOCAL_COMM;
	assert_string_equal(list_of(hints), "dgr:dgr0/5 net:net0/5 net:net0/5");
	hints->caps = FI_MSG | FI_LOCAL_COMM | FI_REMOTE_COMM;
	assert_string_equal(list_of(hints), PLAIN);
	hints->caps = FI_MSG | FI_REMOTE_COMM;
	assert_string_equal(list_of(hints), PLAIN);
	hints->caps = FI_MSG;
	assert_string_equal(list_of(hints), PLAIN);
	fi_freeinfo(hints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_by_name),
		cmocka_unit_test(named_by_the_user),
		cmocka_unit_test(hints_reach_the_base_in_its_words),
		cmocka_unit_test(a_real_one_takes_its_place),
		cmocka_unit_test(not_below_an_unnamed_layer),
		cmocka_unit_test(listed_once),
		cmocka_unit_test(fabric_of_one_base),
		cmocka_unit_test(fabric_of_two_bases),
		cmocka_unit_test(fabric_of_two_bases_behind_a_hook),
		cmocka_unit_test(no_memory_for_results),
		cmocka_unit_test(no_memory_for_the_name_of_a_layer),
		cmocka_unit_test(no_memory_for_the_list),
		cmocka_unit_test(no_memory_for_a_fabric_of_two_bases),
		cmocka_unit_test(base_that_does_not_open),
		cmocka_unit_test(names_of_no_fabric),
		cmocka_unit_test(missing_name_is_told_once),
		cmocka_unit_test(local_peers_first),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
