/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#ifndef AF_IB
#define AF_IB 27
#endif

/*
 * Addresses as URIs. They may come from a peer or from an application's arithmetic, so
 * no format reads beyond the length of the address: an address shorter than its format
 * prints as an empty text.
 *
 * This file reads the layouts of foreign providers by offset; no other file needs them.
 */

static uint16_t addr_get16(const void *addr, size_t offset)
{
	uint16_t v;

	memcpy(&v, (const char *)addr + offset, sizeof(v));
	return v;
}

static uint32_t addr_get32(const void *addr, size_t offset)
{
	uint32_t v;

	memcpy(&v, (const char *)addr + offset, sizeof(v));
	return v;
}

static uint64_t addr_get64(const void *addr, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)addr + offset, sizeof(v));
	return v;
}

/* A GID, or an IPv6 address, in the notation of inet_ntop(3). */
static const char *addr_gid_text(const void *gid, char *text)
{
	return inet_ntop(AF_INET6, gid, text, INET6_ADDRSTRLEN);
}

static void addr_print_in(struct wf_strbuf *sb, const void *addr)
{
	struct sockaddr_in sin;
	char text[INET_ADDRSTRLEN];

	memcpy(&sin, addr, sizeof(sin));
	inet_ntop(AF_INET, &sin.sin_addr, text, sizeof(text));
	wf_strbuf_printf(sb, "fi_sockaddr_in://%s:%" PRIu16, text, ntohs(sin.sin_port));
}

static void addr_print_in6(struct wf_strbuf *sb, const void *addr)
{
	struct sockaddr_in6 sin6;
	char text[INET6_ADDRSTRLEN];

	memcpy(&sin6, addr, sizeof(sin6));
	wf_strbuf_printf(sb, "fi_sockaddr_in6://[%s]:%" PRIu16,
		addr_gid_text(&sin6.sin6_addr, text), ntohs(sin6.sin6_port));
}

/* family 0, pkey 2, flow 4, gid 8, service id 24, mask 32, scope 40; big endian. The
 * service id carries the port space above the 16 bits of the port. */
static void addr_print_ib(struct wf_strbuf *sb, const void *addr)
{
	uint64_t sid = be64toh(addr_get64(addr, 24));
	char text[INET6_ADDRSTRLEN];

	wf_strbuf_printf(sb,
		"fi_sockaddr_ib://[%s]:0x%" PRIx16 ":0x%" PRIx64 ":0x%" PRIx64,
		addr_gid_text((const char *)addr + 8, text),
		be16toh(addr_get16(addr, 2)), (sid >> 16) & 0xfff,
		be64toh(addr_get64(addr, 40)) & 0xff);
}

static void addr_print_sockaddr(struct wf_strbuf *sb, const void *addr, size_t len)
{
	static const struct {
		sa_family_t family;
		size_t len;
		void (*print)(struct wf_strbuf *sb, const void *addr);
	} families[] = {
		{ AF_INET, sizeof(struct sockaddr_in), addr_print_in },
		{ AF_INET6, sizeof(struct sockaddr_in6), addr_print_in6 },
		{ AF_IB, 48, addr_print_ib },
	};
	size_t i;

	if (len < sizeof(sa_family_t))
		return;
	for (i = 0; i < WF_ARRAY_SIZE(families); i++) {
		if (families[i].family == addr_get16(addr, 0) && len >= families[i].len)
			families[i].print(sb, addr);
	}
}

static void addr_print_psmx(struct wf_strbuf *sb, const void *addr)
{
	wf_strbuf_printf(sb, "fi_addr_psmx://%" PRIx64, addr_get64(addr, 0));
}

static void addr_print_psmx2(struct wf_strbuf *sb, const void *addr)
{
	wf_strbuf_printf(sb, "fi_addr_psmx2://%" PRIx64 ":%" PRIx64,
		addr_get64(addr, 0), addr_get64(addr, 8));
}

static void addr_print_psmx3(struct wf_strbuf *sb, const void *addr)
{
	wf_strbuf_printf(sb,
		"fi_addr_psmx3://%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64,
		addr_get64(addr, 0), addr_get64(addr, 8), addr_get64(addr, 16),
		addr_get64(addr, 24));
}

static void addr_print_gni(struct wf_strbuf *sb, const void *addr)
{
	wf_strbuf_printf(sb, "fi_addr_gni://%" PRIx64, addr_get64(addr, 0));
}

static void addr_print_opx(struct wf_strbuf *sb, const void *addr)
{
	wf_strbuf_printf(sb, "fi_addr_opx://%016" PRIx64, addr_get64(addr, 0));
}

static void addr_print_cxi(struct wf_strbuf *sb, const void *addr)
{
	wf_strbuf_printf(sb, "fi_addr_cxi://0x%08" PRIx32, addr_get32(addr, 0));
}

/* gid 0, qpn 16, lid 20, pkey 22, service 24, sl 26 */
static void addr_print_ib_ud(struct wf_strbuf *sb, const void *addr)
{
	char text[INET6_ADDRSTRLEN];

	wf_strbuf_printf(sb,
		"fi_addr_ib_ud://%s:%" PRIx32 "/%" PRIx16 "/%" PRIx16 "/%x",
		addr_gid_text(addr, text), addr_get32(addr, 16), addr_get16(addr, 20),
		addr_get16(addr, 22), ((const uint8_t *)addr)[26]);
}

/* gid 0, qpn 16, qkey 20 */
static void addr_print_efa(struct wf_strbuf *sb, const void *addr)
{
	char text[INET6_ADDRSTRLEN];

	wf_strbuf_printf(sb, "fi_addr_efa://[%s]:%" PRIu16 ":%" PRIu32,
		addr_gid_text(addr, text), addr_get16(addr, 16), addr_get32(addr, 20));
}

static void addr_print_opaque(
	struct wf_strbuf *sb, const char *scheme, const void *addr)
{
	wf_strbuf_printf(sb, "%s://%p", scheme, addr);
}

static void addr_print_foreign(
	struct wf_strbuf *sb, uint32_t addr_format, const void *addr, size_t len)
{
	static const struct {
		uint32_t format;
		size_t len;
		void (*print)(struct wf_strbuf *sb, const void *addr);
	} formats[] = {
		{ FI_ADDR_PSMX, 8, addr_print_psmx },
		{ FI_ADDR_PSMX2, 16, addr_print_psmx2 },
		{ FI_ADDR_PSMX3, 32, addr_print_psmx3 },
		{ FI_ADDR_GNI, 8, addr_print_gni },
		{ FI_ADDR_OPX, 8, addr_print_opx },
		{ FI_ADDR_CXI, 4, addr_print_cxi },
		{ FI_ADDR_IB_UD, 28, addr_print_ib_ud },
		{ FI_ADDR_EFA, 24, addr_print_efa },
	};
	size_t i;

	for (i = 0; i < WF_ARRAY_SIZE(formats); i++) {
		if (formats[i].format == addr_format && len >= formats[i].len)
			formats[i].print(sb, addr);
	}
}

void wf_addr_print(
	struct wf_strbuf *sb, uint32_t addr_format, const void *addr, size_t len)
{
	if (!addr) {
		wf_strbuf_printf(sb, "(null)");
		return;
	}
	switch (addr_format) {
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN6:
	case FI_SOCKADDR_IB:
	case FI_SOCKADDR_IP:
		addr_print_sockaddr(sb, addr, len);
		break;
	case FI_ADDR_STR:
		wf_strbuf_printf(sb, "%.*s",
			(int)strnlen(addr, WF_MIN(len, FI_NAME_MAX * 64u)),
			(const char *)addr);
		break;
	case FI_ADDR_BGQ:
		addr_print_opaque(sb, "fi_addr_bgq", addr);
		break;
	case FI_ADDR_MLX:
		addr_print_opaque(sb, "fi_addr_mlx", addr);
		break;
	case FI_ADDR_UCX:
		addr_print_opaque(sb, "fi_addr_ucx", addr);
		break;
	default:
		addr_print_foreign(sb, addr_format, addr, len);
		break;
	}
}
