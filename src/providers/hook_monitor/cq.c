/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/cq.h"

#include <stdlib.h>
#include <rdma/providers/fi_log.h>

#include "providers/hook_monitor/count.h"
#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/tables.h"

/*
 * Completion queues: the calls that read them, and the entries that were read. A call
 * that finds nothing counts as well, so that a process that only polls has ticks.
 */

/* How entries of one format are counted. */
struct mon_format {
	size_t size; /* of an entry; 0: not known, the entries are not counted */
	bool has_flags;
	enum mon_function tx, rx; /* the same without flags */
};

struct mon_cq {
	struct fi_ops_cq ops; /* replace @below, and call it */
	struct fi_ops fid_ops;
	struct fi_ops_cq *below;
	struct fi_ops *below_fid;
	struct mon_file *file;
	struct mon_format format;
};

/* With FI_CQ_FORMAT_UNSPEC the provider has chosen a format. */
static const struct mon_format formats[] = {
	[FI_CQ_FORMAT_UNSPEC] = { 0 },
	[FI_CQ_FORMAT_CONTEXT] = { sizeof(struct fi_cq_entry), false, MON_CQ_CTX,
		MON_CQ_CTX },
	[FI_CQ_FORMAT_MSG] = { sizeof(struct fi_cq_msg_entry), true, MON_CQ_MSG_TX,
		MON_CQ_MSG_RX },
	[FI_CQ_FORMAT_DATA] = { sizeof(struct fi_cq_data_entry), true, MON_CQ_DATA_TX,
		MON_CQ_DATA_RX },
	[FI_CQ_FORMAT_TAGGED] = { sizeof(struct fi_cq_tagged_entry), true,
		MON_CQ_TAGGED_TX, MON_CQ_TAGGED_RX },
};

static const uint64_t rx_flags =
	FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV;

static struct mon_cq *cq_of(struct fid_cq *fid)
{
	return wf_container_of(fid->ops, struct mon_cq, ops);
}

static void cq_count_entry(const struct mon_cq *cq, const void *entry)
{
	/* All formats with flags begin like this one. */
	const struct fi_cq_msg_entry *msg = entry;

	if (!cq->format.has_flags)
		mon_count_entry(cq->file, cq->format.tx, 0);
	else
		mon_count_entry(cq->file,
			msg->flags & rx_flags ? cq->format.rx : cq->format.tx,
			msg->len);
}

/* A call returned @ret, and the entries in @buf. */
static ssize_t cq_count_read(const struct mon_cq *cq, enum mon_function function,
	const void *buf, ssize_t ret)
{
	size_t entries = ret > 0 ? (size_t)ret : 0;

	for (size_t i = 0; cq->format.size && i < entries; i++)
		cq_count_entry(cq, (const char *)buf + i * cq->format.size);
	mon_count(cq->file, function, entries * cq->format.size, 0);
	return ret;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct mon_cq *cq = cq_of(fid);

	return cq_count_read(cq, MON_CQ_READ, buf, cq->below->read(fid, buf, count));
}

static ssize_t cq_readfrom(
	struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr)
{
	struct mon_cq *cq = cq_of(fid);

	return cq_count_read(cq, MON_CQ_READFROM, buf,
		cq->below->readfrom(fid, buf, count, src_addr));
}

/* The bytes are those of the operation that failed. */
static ssize_t cq_readerr(
	struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct mon_cq *cq = cq_of(fid);
	ssize_t ret = cq->below->readerr(fid, entry, flags);

	mon_count(cq->file, MON_CQ_READERR, ret > 0 ? entry->len : 0, 0);
	return ret;
}

static ssize_t cq_sread(
	struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	struct mon_cq *cq = cq_of(fid);

	return cq_count_read(cq, MON_CQ_SREAD, buf,
		cq->below->sread(fid, buf, count, cond, timeout));
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
	fi_addr_t *src_addr, const void *cond, int timeout)
{
	struct mon_cq *cq = cq_of(fid);

	return cq_count_read(cq, MON_CQ_SREADFROM, buf,
		cq->below->sreadfrom(fid, buf, count, src_addr, cond, timeout));
}

static int mon_cq_close(struct fid *fid)
{
	struct mon_cq *cq = wf_container_of(fid->ops, struct mon_cq, fid_ops);
	int ret = cq->below_fid->close(fid);

	if (!ret)
		free(cq);
	return ret;
}

static void cq_put(struct mon_cq *cq, struct fid_cq *fid)
{
	cq->below = fid->ops;
	cq->below_fid = fid->fid.ops;
	wf_copy_ops(&cq->ops, fid->ops, sizeof(cq->ops));
	wf_copy_ops(&cq->fid_ops, fid->fid.ops, sizeof(cq->fid_ops));
	MON_REPLACE(&cq->ops, read, cq_read);
	MON_REPLACE(&cq->ops, readfrom, cq_readfrom);
	MON_REPLACE(&cq->ops, readerr, cq_readerr);
	MON_REPLACE(&cq->ops, sread, cq_sread);
	MON_REPLACE(&cq->ops, sreadfrom, cq_sreadfrom);
	cq->fid_ops.close = mon_cq_close;
	fid->ops = &cq->ops;
	fid->fid.ops = &cq->fid_ops;
}

void mon_cq_put(struct fid_cq *fid, enum fi_cq_format format, struct mon_file *file)
{
	struct mon_cq *cq = calloc(1, sizeof(*cq));

	if (!cq) {
		FI_WARN(&mon_fi, FI_LOG_CQ,
			"a completion queue is not monitored: out of memory\n");
		return;
	}
	cq->file = file;
	if ((size_t)format < WF_ARRAY_SIZE(formats))
		cq->format = formats[format];
	cq_put(cq, fid);
}
