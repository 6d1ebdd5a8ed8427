/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream PROVIDER serve ADDRESS PORT, stream PROVIDER send ADDRESS PORT SECONDS
 *
 * Messages in one direction between two hosts, a few of them in flight, for as long as
 * told; the sender prints megabits per second. To see what share of a link an endpoint
 * gets next to other traffic, and what is left of it where packets are lost. It uses
 * what every libfabric since 1.17 has, to run on another one as well.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "../tests/rdm_endpoint.h"
#include "must.h"
#include "sys/clock.h"

enum { SIZE = 1 << 16, FLYING = 8 };

/* @flags: FI_SOURCE if the address is this end's; 0: the other's. */
static void open_end(struct rdm_endpoint *end, const char *provider, const char *node,
	const char *service, uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		exit(1);
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->fabric_attr->prov_name = strdup(provider);
	must(fi_getinfo(FI_VERSION(1, 17), node, service, flags, hints, &end->info),
		"fi_getinfo");
	fi_freeinfo(hints);
	rdm_endpoint_open(end, FI_CQ_FORMAT_CONTEXT, fi_fabric, must);
}

/* Read one completion; false: there is none. */
static bool poll_one(struct rdm_endpoint *end)
{
	struct fi_cq_entry entry;
	ssize_t ret = fi_cq_read(end->cq, &entry, 1);

	if (ret == -FI_EAGAIN)
		return false;
	must(ret, "fi_cq_read");
	return true;
}

static void serve(struct rdm_endpoint *end, char *buf)
{
	for (int i = 0; i < FLYING; i++)
		must(fi_recv(end->ep, buf, SIZE, NULL, 0, NULL), "fi_recv");
	for (;;)
		if (poll_one(end))
			must(fi_recv(end->ep, buf, SIZE, NULL, 0, NULL), "fi_recv");
}

static void send_for(struct rdm_endpoint *end, char *buf, unsigned int seconds)
{
	uint64_t start_ns, end_ns, done = 0;
	unsigned int flying = 0;
	fi_addr_t peer;

	if (fi_av_insert(end->av, end->info->dest_addr, 1, &peer, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
	start_ns = wf_now_ns();
	end_ns = start_ns + seconds * UINT64_C(1000000000);
	while (wf_now_ns() < end_ns) {
		while (flying < FLYING) {
			ssize_t ret = fi_send(end->ep, buf, SIZE, NULL, peer, NULL);

			if (ret == -FI_EAGAIN)
				break;
			must(ret, "fi_send");
			flying++;
		}
		if (poll_one(end)) {
			flying--;
			done++;
		}
	}
	printf("%.1f\n", (double)done * SIZE * 8e3 / (double)(wf_now_ns() - start_ns));
}

int main(int argc, char **argv)
{
	bool serves = argc == 5 && !strcmp(argv[2], "serve");
	char *buf = calloc(1, SIZE);
	struct rdm_endpoint end;

	if ((!serves && (argc != 6 || strcmp(argv[2], "send") != 0)) || !buf) {
		fprintf(stderr,
			"usage: %s PROVIDER serve ADDRESS PORT\n"
			"       %s PROVIDER send ADDRESS PORT SECONDS\n",
			argv[0], argv[0]);
		return 2;
	}
	open_end(&end, argv[1], argv[3], argv[4], serves ? FI_SOURCE : 0);
	if (serves)
		serve(&end, buf);
	send_for(&end, buf, (unsigned int)strtoul(argv[5], NULL, 10));
	/* The process ends with messages under way: nothing waits for them. */
	fflush(stdout);
	_Exit(0);
}
