/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/verbs/cm/cm.h"

void verbs_cm_data_set(struct verbs_cm_data *data, const void *bytes, size_t len)
{
	data->len = (uint8_t)WF_MIN(len, (size_t)VERBS_CM_DATA_SIZE);
	if (data->len)
		memcpy(data->bytes, bytes, data->len);
}

size_t verbs_cm_data_size(const struct verbs_cm_data *data)
{
	return (size_t)data->len + 1;
}

void verbs_cm_data_read(
	struct verbs_cm_data *ret, const void *private_data, size_t private_len)
{
	const uint8_t *in = private_data;

	ret->len = 0;
	if (!in || !private_len)
		return;
	ret->len = (uint8_t)WF_MIN((size_t)in[0], private_len - 1);
	memcpy(ret->bytes, in + 1, ret->len);
}
