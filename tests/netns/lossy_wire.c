/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lossy_wire IF_A IF_B LOSS DUP REORDER [DELAY_US [MBIT [QUEUE_KB [CHANGE]]]]
 *
 * A wire between two interfaces that loses, repeats, swaps and changes frames with UDP:
 * of a million, so many each. A frame that the interface cuts into datagrams loses them
 * one by one, and what is left between two lost ones goes on as one frame, as after a
 * network card that segments and one that joins. Changed are one to three bits behind
 * the UDP header of an IPv4 datagram, whose checksum is made to fit. With a delay
 * frames travel that long; with a rate they leave no faster, and those that the queue
 * has no room for are lost, as in a router. Frames keep the kernel's notes on
 * unfinished checksums and segments (struct virtio_net_hdr). Frames without IP (address
 * resolution) always pass. Ends by a signal.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/list.h"

enum {
	FRAME_MAX = 70000,
	BATCH = 64,
	SOCKET_BYTES = 32 << 20,
	GSO_UDP = 5, /* VIRTIO_NET_HDR_GSO_UDP_L4, which old headers lack */
};

struct frame {
	struct wf_list link;
	uint64_t at_ns;
	size_t len;
	uint8_t bytes[];
};

struct wire {
	uint32_t loss, dup, reorder, change; /* of a million */
	uint64_t delay_ns, ns_per_kb, queue_ns;
	uint64_t rng;
};

/* One direction. */
struct way {
	int in, out;
	uint64_t free_ns; /* when the last frame has left */
	struct wf_list frames;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t next_random(struct wire *wire)
{
	wire->rng ^= wire->rng << 13;
	wire->rng ^= wire->rng >> 7;
	wire->rng ^= wire->rng << 17;
	return wire->rng * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

static bool chance(struct wire *wire, uint32_t of_million)
{
	return next_random(wire) % 1000000 < of_million;
}

static int open_if(const char *name)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name) };
	struct packet_mreq all = { .mr_ifindex = addr.sll_ifindex,
		.mr_type = PACKET_MR_PROMISC };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)), on = 1;
	int bytes = SOCKET_BYTES;

	if (fd < 0 || !addr.sll_ifindex)
		fail(name);
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) ||
		setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
		setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) ||
		bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("setsockopt");
	return fd;
}

static void put(struct way *way, const uint8_t *bytes, size_t len, uint64_t at_ns)
{
	struct frame *frame = malloc(sizeof(*frame) + len);
	struct wf_list *pos = way->frames.prev;

	if (!frame)
		fail("malloc");
	frame->at_ns = at_ns;
	frame->len = len;
	memcpy(frame->bytes, bytes, len);
	while (pos != &way->frames &&
		wf_list_entry(pos, struct frame, link)->at_ns > at_ns)
		pos = pos->prev;
	wf_list_insert_after(pos, &frame->link);
}

static bool is_ip(const uint8_t *bytes, size_t len)
{
	size_t at = sizeof(struct virtio_net_hdr) + 12;

	return len > at + 2 &&
	       (bytes[at] == 0x08 ? bytes[at + 1] == 0 : bytes[at] == 0x86);
}

/* Where the UDP header of the IP packet is; 0: there is none. */
static size_t udp_at(const uint8_t *bytes, size_t len)
{
	size_t at = sizeof(struct virtio_net_hdr) + ETH_HLEN, head;

	if (len <= at + sizeof(struct ip6_hdr))
		return 0;
	if (bytes[at] >> 4 == 4 && bytes[at + 9] == IPPROTO_UDP)
		head = (size_t)(bytes[at] & 15) * 4;
	else if (bytes[at] >> 4 == 6 && bytes[at + 6] == IPPROTO_UDP)
		head = sizeof(struct ip6_hdr);
	else
		return 0;
	return len > at + head + sizeof(struct udphdr) ? at + head : 0;
}

/* The sum of one's complement that checksums are made of. */
static uint32_t add(uint32_t sum, uint16_t word)
{
	sum += word;
	return (sum & 0xffff) + (sum >> 16);
}

/* Flip bits of the datagram whose header is at @at. */
static void change(struct wire *wire, uint8_t *bytes, size_t len, size_t at)
{
	struct virtio_net_hdr head;
	struct udphdr udp;

	memcpy(&head, bytes, sizeof(head));
	memcpy(&udp, bytes + at, sizeof(udp));
	/* Without VIRTIO_NET_HDR_F_NEEDS_CSUM the sum is there: 0 is none. */
	if (!(head.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		udp.check = 0;
	memcpy(bytes + at, &udp, sizeof(udp));
	at += sizeof(udp);
	for (uint64_t n = 1 + next_random(wire) % 3; n > 0; n--)
		bytes[at + next_random(wire) % (len - at)] ^=
			(uint8_t)(1 << next_random(wire) % 8);
}

/* When a frame of @len bytes leaves that comes now; 0: the queue has no room. */
static uint64_t queue(const struct wire *wire, struct way *way, size_t len)
{
	uint64_t now_ns = wf_now_ns();

	if (!wire->ns_per_kb)
		return now_ns;
	if (way->free_ns < now_ns)
		way->free_ns = now_ns;
	if (way->free_ns - now_ns > wire->queue_ns)
		return 0;
	way->free_ns += len * wire->ns_per_kb / 1000;
	return way->free_ns;
}

/* A frame of @len bytes that is not lost; its UDP header is at @udp, or 0. */
static void pass(
	struct wire *wire, struct way *way, uint8_t *bytes, size_t len, size_t udp)
{
	uint64_t at_ns = queue(wire, way, len);

	if (!at_ns)
		return;
	at_ns += wire->delay_ns;
	if (udp && chance(wire, wire->reorder))
		at_ns += 200000;
	if (udp && chance(wire, wire->change))
		change(wire, bytes, len, udp);
	if (udp && chance(wire, wire->dup))
		put(way, bytes, len, at_ns + 100000);
	put(way, bytes, len, at_ns);
}

/* Make the headers, whose UDP header is at @at, those of @payload bytes. Their checksum
 * is unfinished: it is the sum of the pseudo header, which has the length as well. */
static void resize(uint8_t *bytes, size_t at, size_t payload)
{
	const size_t ip = sizeof(struct virtio_net_hdr) + ETH_HLEN;
	uint16_t whole = htons((uint16_t)(sizeof(struct udphdr) + payload)), size,
		 check;
	struct virtio_net_hdr head;
	struct udphdr udp;
	uint32_t sum;

	memcpy(&head, bytes, sizeof(head));
	if (payload <= head.gso_size) {
		head.gso_type = VIRTIO_NET_HDR_GSO_NONE;
		head.gso_size = 0;
		memcpy(bytes, &head, sizeof(head));
	}
	memcpy(&udp, bytes + at, sizeof(udp));
	udp.check = (uint16_t)add(add(udp.check, (uint16_t)~udp.len), whole);
	udp.len = whole;
	memcpy(bytes + at, &udp, sizeof(udp));
	if (bytes[ip] >> 4 != 4) {
		memcpy(bytes + ip + 4, &whole, sizeof(whole));
		return;
	}
	size = htons((uint16_t)(at - ip + sizeof(udp) + payload));
	memcpy(bytes + ip + 2, &size, sizeof(size));
	memset(bytes + ip + 10, 0, sizeof(check));
	sum = 0;
	for (size_t i = ip; i < at; i += 2) {
		memcpy(&check, bytes + i, sizeof(check));
		sum = add(sum, check);
	}
	check = (uint16_t)~sum;
	memcpy(bytes + ip + 10, &check, sizeof(check));
}

/* The datagrams from @first on, @len bytes of them, go on as a frame of their own. */
static void pass_run(struct wire *wire, struct way *way, const uint8_t *frame,
	size_t udp, const uint8_t *first, size_t len)
{
	static uint8_t bytes[FRAME_MAX];
	size_t headers = udp + sizeof(struct udphdr);

	if (len == 0)
		return;
	memcpy(bytes, frame, headers);
	memcpy(bytes + headers, first, len);
	resize(bytes, udp, len);
	pass(wire, way, bytes, headers + len, udp);
}

/* A frame that the interface would cut into datagrams of @size bytes. */
static void take_train(struct wire *wire, struct way *way, const uint8_t *bytes,
	size_t len, size_t udp, size_t size)
{
	size_t begin = udp + sizeof(struct udphdr), at = begin;

	for (; at < len; at += size)
		if (chance(wire, wire->loss)) {
			pass_run(wire, way, bytes, udp, bytes + begin, at - begin);
			begin = at + size < len ? at + size : len;
		}
	pass_run(wire, way, bytes, udp, bytes + begin, len - begin);
}

static void take(struct wire *wire, struct way *way, uint8_t *bytes, size_t len)
{
	struct virtio_net_hdr head;
	size_t udp = is_ip(bytes, len) ? udp_at(bytes, len) : 0;

	memcpy(&head, bytes, sizeof(head));
	if (!is_ip(bytes, len))
		put(way, bytes, len, wf_now_ns());
	else if (udp && head.gso_type == GSO_UDP && head.gso_size > 0)
		take_train(wire, way, bytes, len, udp, head.gso_size);
	else if (!udp || !chance(wire, wire->loss))
		pass(wire, way, bytes, len, udp);
}

static void receive(struct wire *wire, struct way *way)
{
	static uint8_t bytes[FRAME_MAX];

	for (int i = 0; i < BATCH; i++) {
		ssize_t len = recv(way->in, bytes, sizeof(bytes), 0);

		if (len <= (ssize_t)sizeof(struct virtio_net_hdr))
			return;
		take(wire, way, bytes, (size_t)len);
	}
}

/* Send what is due; returns when the next frame is. */
static uint64_t transmit(struct way *way)
{
	while (!wf_list_empty(&way->frames)) {
		struct frame *frame =
			wf_list_entry(way->frames.next, struct frame, link);

		if (frame->at_ns > wf_now_ns())
			return frame->at_ns;
		(void)!send(way->out, frame->bytes, frame->len, 0);
		wf_list_remove(&frame->link);
		free(frame);
	}
	return UINT64_MAX;
}

static uint32_t number(char **argv, int argc, int i)
{
	return i < argc ? (uint32_t)strtoul(argv[i], NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	struct wire wire = { .loss = number(argv, argc, 3),
		.dup = number(argv, argc, 4),
		.reorder = number(argv, argc, 5),
		.change = number(argv, argc, 9),
		.delay_ns = UINT64_C(1000) * number(argv, argc, 6),
		.rng = 88172645463325252 };
	uint32_t mbit = number(argv, argc, 7), queue_kb = number(argv, argc, 8);
	struct way ways[2];

	if (argc < 6) {
		fprintf(stderr,
			"usage: %s IF_A IF_B LOSS DUP REORDER [DELAY_US [MBIT "
			"[QUEUE_KB [CHANGE]]]]\n",
			argv[0]);
		return 2;
	}
	if (mbit) {
		wire.ns_per_kb = 8000000 / mbit;
		wire.queue_ns = (queue_kb ? queue_kb : 100) * wire.ns_per_kb;
	}
	ways[0].in = ways[1].out = open_if(argv[1]);
	ways[1].in = ways[0].out = open_if(argv[2]);
	for (int i = 0; i < 2; i++) {
		ways[i].free_ns = 0;
		wf_list_init(&ways[i].frames);
	}
	for (;;) {
		struct pollfd fds[2] = { { ways[0].in, POLLIN, 0 },
			{ ways[1].in, POLLIN, 0 } };
		uint64_t next_ns = UINT64_MAX, now_ns;
		struct timespec wait = { 1, 0 };

		for (int i = 0; i < 2; i++) {
			uint64_t at_ns = transmit(&ways[i]);

			next_ns = at_ns < next_ns ? at_ns : next_ns;
		}
		now_ns = wf_now_ns();
		if (next_ns != UINT64_MAX) {
			wait.tv_sec = 0;
			wait.tv_nsec = next_ns > now_ns ? (long)(next_ns - now_ns) : 0;
			if (wait.tv_nsec > 500000000)
				wait.tv_nsec = 500000000;
		}
		(void)ppoll(fds, 2, &wait, NULL);
		for (int i = 0; i < 2; i++)
			receive(&wire, &ways[i]);
	}
}
