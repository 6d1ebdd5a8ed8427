/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <rdma/fi_errno.h>

#include "providers/tcp/cm/cm.h"

/*
 * The messages that begin a connection.
 *
 * The extension is in 20 bytes which all older peers send as zeros and ignore. Its
 * magic differs between request and answer, so that a program that echoes a request
 * does not pass for a peer with the extension.
 */
enum { CM_VERSION = 3, EXT_VERSION = 1 };

struct cm_hdr {
	uint8_t version;   /* CM_VERSION */
	uint8_t type;      /* TCP_CM_REQUEST, ... */
	uint16_t data_len; /* big endian, as all fields of the extension */
	/* The extension, if @magic is magic_request or magic_answer; its fields are
	 * those of struct tcp_cm_ext. */
	uint8_t magic[4];
	uint8_t ext_version; /* EXT_VERSION */
	uint8_t reason;
	uint16_t contexts;
	uint32_t features;
	uint64_t instance;
	/* Not of the extension: 1 in the sender's byte order; 0 in rejects. */
	uint64_t marker;
};

static_assert(sizeof(struct cm_hdr) == TCP_CM_HDR, "wire layout");
static_assert(offsetof(struct cm_hdr, magic) == 4, "wire layout");
static_assert(offsetof(struct cm_hdr, instance) == 16, "wire layout");
static_assert(offsetof(struct cm_hdr, marker) == 24, "wire layout");

static const uint8_t magic_request[4] = { 'W', 'e', 'f', '?' };
static const uint8_t magic_answer[4] = { 'W', 'e', 'f', '!' };

static const uint8_t *cm_msg_magic_of(uint8_t type)
{
	return type == TCP_CM_REQUEST ? magic_request : magic_answer;
}

static struct tcp_cm_ext cm_msg_get_ext(const struct cm_hdr *hdr)
{
	struct tcp_cm_ext ext = { 0 };

	/* Later versions of the extension only add fields. */
	if (memcmp(hdr->magic, cm_msg_magic_of(hdr->type), sizeof(hdr->magic)) ||
		hdr->ext_version < EXT_VERSION || !hdr->instance)
		return ext;
	ext.features = be32toh(hdr->features) & TCP_HAVE_OFFER;
	ext.instance = be64toh(hdr->instance);
	ext.contexts = be16toh(hdr->contexts);
	if (hdr->type == TCP_CM_REJECT ? hdr->reason < TCP_REASONS
				       : hdr->type == TCP_CM_REQUEST &&
						 hdr->reason == TCP_REASON_CONNECTED)
		ext.reason = hdr->reason;
	return ext;
}

/* Check the first bytes as early as possible: the connecting program may speak another
 * protocol. */
static int cm_msg_check_start(const uint8_t *buf, size_t len)
{
	if (len > 0 && buf[0] != CM_VERSION)
		return -FI_ENOPROTOOPT;
	if (len > 1 && buf[1] != TCP_CM_REQUEST && buf[1] != TCP_CM_REPLY &&
		buf[1] != TCP_CM_REJECT)
		return -FI_EPROTO;
	if (len > 3 && (buf[2] << 8 | buf[3]) > TCP_CM_DATA_MAX)
		return -FI_ENOPROTOOPT;
	return 0;
}

int tcp_cm_decode(const uint8_t *buf, size_t len, struct tcp_cm_msg *ret)
{
	struct cm_hdr hdr;
	uint16_t data_len;
	int err = cm_msg_check_start(buf, len);

	if (err)
		return err;
	if (len < sizeof(hdr))
		return sizeof(hdr);
	memcpy(&hdr, buf, sizeof(hdr));
	data_len = be16toh(hdr.data_len);
	if (len < sizeof(hdr) + data_len)
		return (int)sizeof(hdr) + data_len;
	*ret = (struct tcp_cm_msg){
		.type = hdr.type,
		.same_order = hdr.marker == 1,
		.data_len = data_len,
		.ext = cm_msg_get_ext(&hdr),
	};
	return 0;
}

size_t tcp_cm_encode(uint8_t *buf, enum tcp_cm_type type, const struct tcp_cm_ext *ext,
	const void *data, size_t data_len)
{
	struct cm_hdr hdr = {
		.version = CM_VERSION,
		.type = (uint8_t)type,
		.data_len = htobe16((uint16_t)data_len),
		.marker = type == TCP_CM_REJECT ? 0 : 1,
	};

	assert(data_len <= TCP_CM_DATA_MAX);
	if (ext) {
		memcpy(hdr.magic, cm_msg_magic_of(hdr.type), sizeof(hdr.magic));
		hdr.ext_version = EXT_VERSION;
		hdr.reason = ext->reason;
		hdr.contexts = htobe16(ext->contexts);
		hdr.features = htobe32(ext->features);
		hdr.instance = htobe64(ext->instance);
	}
	memcpy(buf, &hdr, sizeof(hdr));
	if (data_len)
		memcpy(buf + sizeof(hdr), data, data_len);
	return sizeof(hdr) + data_len;
}

/* Payloads are never converted, so atomics need machines of the same byte order; so
 * does shared memory. */
uint32_t tcp_cm_agree(uint32_t own, uint32_t peer, bool same_order)
{
	uint32_t agreed = own & peer & TCP_HAVE_OFFER;

	if (!same_order)
		agreed &= ~(uint32_t)(TCP_HAVE_ATOMIC | TCP_HAVE_LDBL_X87 |
				      TCP_HAVE_LDBL_QUAD | TCP_HAVE_LOCAL);
	return agreed;
}
