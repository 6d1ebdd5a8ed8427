/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/stripe/wire.h"

#include <string.h>

enum { VERSION = 1 };

size_t lnx_stripe_write(const struct lnx_stripe_msg *msg, uint8_t *buf)
{
	const uint8_t head[4] = { msg->kind, VERSION, msg->has_data, msg->name_len };
	const uint64_t words[] = { msg->nonce, msg->id, msg->size, msg->data,
		msg->key };

	memcpy(buf, head, sizeof(head));
	memcpy(buf + 4, &msg->err, sizeof(msg->err));
	memcpy(buf + 8, words, sizeof(words));
	memcpy(buf + LNX_STRIPE_HEADER, msg->name, msg->name_len);
	return LNX_STRIPE_HEADER + (size_t)msg->name_len;
}

/* Do only those kinds have a name that need one? */
static bool wire_name_fits(const struct lnx_stripe_msg *msg)
{
	bool needs =
		msg->kind == LNX_STRIPE_HELLO || msg->kind == LNX_STRIPE_ASK_RECEIVER;

	return needs == (msg->name_len != 0);
}

bool lnx_stripe_read(const uint8_t *buf, size_t len, struct lnx_stripe_msg *ret)
{
	uint64_t words[5];

	if (len < LNX_STRIPE_HEADER || buf[1] != VERSION || !buf[0] ||
		buf[0] >= LNX_STRIPE_KINDS || buf[2] > 1 || buf[3] > LNX_NAME_LEN ||
		len != LNX_STRIPE_HEADER + (size_t)buf[3])
		return false;
	memcpy(words, buf + 8, sizeof(words));
	*ret = (struct lnx_stripe_msg){
		.kind = buf[0],
		.has_data = buf[2],
		.name_len = buf[3],
		.nonce = words[0],
		.id = words[1],
		.size = words[2],
		.data = words[3],
		.key = words[4],
	};
	memcpy(&ret->err, buf + 4, sizeof(ret->err));
	if (ret->err > LNX_STRIPE_ERR_MAX)
		return false;
	memcpy(ret->name, buf + LNX_STRIPE_HEADER, ret->name_len);
	return wire_name_fits(ret);
}
