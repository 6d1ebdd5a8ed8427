/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/find.h"

/* The interface version before @version. */
static uint32_t find_version_before(uint32_t version)
{
	if (FI_MINOR(version))
		return FI_VERSION(FI_MAJOR(version), FI_MINOR(version) - 1);
	return FI_VERSION(1, 22);
}

static int find_ask(uint32_t version, const struct wf_lower_question *question,
	const struct fi_info *hints, struct fi_info **ret_list)
{
	return fi_getinfo(version, question->node, question->service, question->flags,
		hints, ret_list);
}

/* A provider answers calls up to the version for which it was built. So the newest
 * version is tried first, then the oldest, which tells whether there is an answer at
 * all, and only then the versions between. */
int wf_lower_find_for(uint32_t oldest, const struct wf_lower_question *question,
	const struct fi_info *hints, struct fi_info **ret_list)
{
	uint32_t version = fi_version();
	struct fi_info *newer;
	int ret = find_ask(version, question, hints, ret_list);

	if (!ret || !FI_VERSION_LT(oldest, version))
		return ret;
	ret = find_ask(oldest, question, hints, ret_list);
	if (ret)
		return ret;
	for (version = find_version_before(version); FI_VERSION_LT(oldest, version);
		version = find_version_before(version)) {
		if (find_ask(version, question, hints, &newer))
			continue;
		fi_freeinfo(*ret_list);
		*ret_list = newer;
		break;
	}
	return 0;
}

int wf_lower_find(
	uint32_t oldest, const struct fi_info *hints, struct fi_info **ret_list)
{
	const struct wf_lower_question question = { NULL, NULL, 0 };

	return wf_lower_find_for(oldest, &question, hints, ret_list);
}

int wf_lower_find_again(const struct fi_info *hints, struct fi_info **ret_list)
{
	const struct wf_lower_question question = { NULL, NULL, 0 };

	return find_ask(hints->fabric_attr->api_version, &question, hints, ret_list);
}
