/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <rdma/fi_errno.h>

#include "providers/tcp/cm/cm.h"

/* The data of FI_EP_RDM endpoints in request and reply, and the choice between two
 * crossed requests. */
enum { EVALUATED = 0x80, FIREWALL = 0x01 };

struct rdm_data {
	uint8_t version;  /* TCP_RDM_VERSION, and EVALUATED in replies */
	uint8_t features; /* FIREWALL, or 0 */
	uint16_t port;    /* big endian: the port at which the sender listens */
	uint32_t id;      /* big endian: id of the sender's endpoint */
};

static_assert(sizeof(struct rdm_data) == TCP_RDM_DATA, "wire layout");

void tcp_rdm_encode(uint8_t buf[TCP_RDM_DATA], const struct tcp_rdm_hello *hello)
{
	struct rdm_data data = {
		.version =
			(uint8_t)(hello->version | (hello->evaluated ? EVALUATED : 0)),
		.features = hello->firewall ? FIREWALL : 0,
		.port = htobe16(hello->port),
		.id = htobe32(hello->id),
	};

	memcpy(buf, &data, sizeof(data));
}

static int cm_rdm_decode(const void *bytes, size_t len, struct tcp_rdm_hello *ret)
{
	struct rdm_data data;

	if (len < sizeof(data))
		return -FI_EPROTO;
	memcpy(&data, bytes, sizeof(data));
	if (!data.port)
		return -FI_EPROTO;
	*ret = (struct tcp_rdm_hello){
		.version = data.version & (uint8_t)~EVALUATED,
		.evaluated = data.version & EVALUATED,
		.firewall = data.features & FIREWALL,
		.port = be16toh(data.port),
		.id = be32toh(data.id),
	};
	return 0;
}

/* Detect an rxm endpoint that connected to this one by mistake, by the length and the
 * first bytes of its request. Other implementations take it for one of their RDM
 * endpoints, and both then wait for ever. */
static bool cm_rdm_is_rxm(const void *bytes, size_t len)
{
	static const uint8_t start[4] = { 1, 2, 4, 3 };

	return len == 24 && !memcmp(bytes, start, sizeof(start));
}

int tcp_rdm_decode_request(const void *data, size_t len, struct tcp_rdm_hello *ret)
{
	return cm_rdm_is_rxm(data, len) ? -FI_EPROTO : cm_rdm_decode(data, len, ret);
}

int tcp_rdm_decode_reply(
	const void *data, size_t len, uint16_t port, struct tcp_rdm_hello *ret)
{
	struct tcp_rdm_hello hello;
	int err = cm_rdm_decode(data, len, &hello);

	if (err)
		return err;
	if (hello.port != port)
		return -FI_EPROTO;
	*ret = hello;
	return 0;
}

void tcp_rdm_answer(const struct tcp_rdm_hello *request, const struct tcp_cm_msg *msg,
	uint32_t own_id, struct tcp_rdm_hello *ret)
{
	*ret = (struct tcp_rdm_hello){
		.firewall = request->firewall,
		.port = request->port,
		.id = own_id,
	};
	/* Other implementations do not convert the headers of a rendezvous between
	 * machines of different byte order. */
	if (!request->version || (!msg->same_order && !msg->ext.instance))
		return;
	ret->evaluated = true;
	ret->version = TCP_RDM_VERSION;
}

uint32_t tcp_rdm_have(const struct tcp_rdm_hello *reply)
{
	uint32_t have = TCP_HAVE_TAGGED;

	if (reply->evaluated && reply->version == TCP_RDM_VERSION)
		have |= TCP_HAVE_RDV;
	return have;
}

/* Compare the hosts' bytes, then the ports' bytes, both in network order. */
static int cm_rdm_compare_bytes(const void *own_host, const void *peer_host, size_t len,
	in_port_t own_port, in_port_t peer_port)
{
	int order = memcmp(own_host, peer_host, len);

	return order ? order : memcmp(&own_port, &peer_port, sizeof(own_port));
}

int tcp_rdm_cross(const union wf_sockaddr *own, const union wf_sockaddr *peer)
{
	if (own->sa.sa_family == AF_INET6)
		return cm_rdm_compare_bytes(&own->in6.sin6_addr, &peer->in6.sin6_addr,
			sizeof(own->in6.sin6_addr), own->in6.sin6_port,
			peer->in6.sin6_port);
	return cm_rdm_compare_bytes(&own->in.sin_addr, &peer->in.sin_addr,
		sizeof(own->in.sin_addr), own->in.sin_port, peer->in.sin_port);
}
