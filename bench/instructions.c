/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions PROVIDER SIZE COUNT
 *
 * COUNT tagged messages of SIZE bytes between two endpoints of one process, to and fro,
 * one after the other: a receive is posted, the message sent, and both completions are
 * read. run_instructions.sh counts the instructions. It uses what every libfabric since
 * 1.17 has, to run on another one as well.
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
#include <rdma/fi_tagged.h>

#include "../tests/rdm_endpoint.h"
#include "must.h"

/* While the first messages pass the endpoints connect, and both make progress. */
enum { CONNECTING = 64, TAG = 7 };

struct end {
	struct rdm_endpoint rdm;
	fi_addr_t peer;
	struct fi_context2 receive, send;
};

static void open_end(struct end *end, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		exit(1);
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->fabric_attr->prov_name = strdup(provider);
	must(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints,
		     &end->rdm.info),
		"fi_getinfo");
	fi_freeinfo(hints);
	rdm_endpoint_open(&end->rdm, FI_CQ_FORMAT_TAGGED, fi_fabric, must);
}

static void insert_peer(struct end *end, struct end *peer)
{
	char name[256];
	size_t len = sizeof(name);

	must(fi_getname(&peer->rdm.ep->fid, name, &len), "fi_getname");
	if (fi_av_insert(end->rdm.av, name, 1, &end->peer, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
}

/* Read one completion of @end; @other makes progress, too, if it is not NULL. */
static void wait_one(struct end *end, struct end *other)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(end->rdm.cq, &entry, 1)) == -FI_EAGAIN)
		if (other)
			(void)fi_cq_read(other->rdm.cq, &entry, 0);
	must(ret, "fi_cq_read");
}

static void message(struct end *from, struct end *to, char *buf, size_t size, bool both)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	must(fi_trecv(
		     to->rdm.ep, buf, size, NULL, FI_ADDR_UNSPEC, TAG, 0, &to->receive),
		"fi_trecv");
	while ((ret = fi_tsend(from->rdm.ep, buf + size, size, NULL, from->peer, TAG,
			&from->send)) == -FI_EAGAIN) {
		(void)fi_cq_read(from->rdm.cq, &entry, 0);
		(void)fi_cq_read(to->rdm.cq, &entry, 0);
	}
	must(ret, "fi_tsend");
	wait_one(to, both ? from : NULL);
	wait_one(from, both ? to : NULL);
}

int main(int argc, char **argv)
{
	unsigned long size = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	char *buf = size ? calloc(2, size) : NULL;
	struct end ends[2] = { 0 };

	if (!buf) {
		fprintf(stderr, "usage: %s PROVIDER SIZE COUNT\n", argv[0]);
		return 2;
	}
	open_end(&ends[0], argv[1]);
	open_end(&ends[1], argv[1]);
	insert_peer(&ends[0], &ends[1]);
	insert_peer(&ends[1], &ends[0]);
	for (unsigned long i = 0; i < CONNECTING + count; i++)
		message(&ends[i % 2], &ends[1 - i % 2], buf, size, i < CONNECTING);
	/* The process ends with its endpoints open: closing is not counted. */
	fflush(stdout);
	_Exit(0);
}
