/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loadable hook, FI_HOOK=told, that writes down the calls of a program: a line for
 * each, with the time in ns first, in the file of the process, TOLD_CALLS.<pid>.
 * Objects of one process have the same tables, so one copy of each is enough.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#define SAY(...)                                                                       \
	do {                                                                           \
		FILE *to = file_of_process();                                          \
                                                                                       \
		flockfile(to);                                                         \
		(void)fprintf(to, "%llu ", now_ns());                                  \
		(void)fprintf(to, __VA_ARGS__);                                        \
		(void)fputc('\n', to);                                                 \
		funlockfile(to);                                                       \
	} while (0)

static unsigned long long now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u +
	       (unsigned long long)t.tv_nsec;
}

/* A forked child gets a file of its own. Opened with the fabric, before threads. */
static FILE *file_of_process(void)
{
	static FILE *file;
	static pid_t pid;
	char name[4096];

	if (pid == getpid())
		return file;
	(void)snprintf(
		name, sizeof(name), "%s.%d", getenv("TOLD_CALLS"), (int)getpid());
	file = fopen(name, "w");
	if (!file)
		abort();
	/* A process that ends by _exit has written all lines. */
	(void)setvbuf(file, NULL, _IOLBF, 0);
	pid = getpid();
	return file;
}

/* ---- data ---- */

static struct {
	struct fi_ops_msg msg;
	struct fi_ops_tagged tagged;
	struct fi_ops_rma rma;
	struct fi_ops_cq cq;
	struct fi_ops_domain domain;
	struct fi_ops_fabric fabric;
	struct fi_ops ep_fid;
} below;

/* Is the buffer in the memory file that --memory shared makes? */
static int is_shared(const void *buf)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long low, high;
	char line[4096];
	int shared = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &low, &high) == 2 &&
			(unsigned long)buf >= low && (unsigned long)buf < high)
			shared = strstr(line, "memfd:fi_bench") != NULL;
	if (maps)
		(void)fclose(maps);
	return shared;
}

static void say_first(const void *buf)
{
	static _Thread_local int said;
	cpu_set_t set;

	if (said++)
		return;
	SAY("memory kind=%s", is_shared(buf) ? "shared" : "private");
	if (!sched_getaffinity(0, sizeof(set), &set))
		SAY("thread cores=%d core=%d", CPU_COUNT(&set), sched_getcpu());
}

static void say_send(const char *call, const void *buf, size_t len, ssize_t ret)
{
	unsigned long long word = 0;

	if (ret)
		return;
	say_first(buf);
	memcpy(&word, buf, len < sizeof(word) ? len : sizeof(word));
	SAY("%s len=%zu buf=%p word=%llx", call, len, buf, word);
}

static ssize_t told_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	ssize_t ret = below.msg.send(ep, buf, len, desc, dest, context);

	say_send("send", buf, len, ret);
	return ret;
}

static ssize_t told_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	ssize_t ret = below.msg.inject(ep, buf, len, dest);

	say_send("inject", buf, len, ret);
	return ret;
}

static ssize_t told_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t tag, void *context)
{
	ssize_t ret = below.tagged.send(ep, buf, len, desc, dest, tag, context);

	say_send("tsend", buf, len, ret);
	return ret;
}

static ssize_t told_tinject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	ssize_t ret = below.tagged.inject(ep, buf, len, dest, tag);

	say_send("tinject", buf, len, ret);
	return ret;
}

static ssize_t told_write(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	ssize_t ret = below.rma.write(ep, buf, len, desc, dest, addr, key, context);

	say_send("write", buf, len, ret);
	return ret;
}

static ssize_t told_read(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	ssize_t ret = below.rma.read(ep, buf, len, desc, dest, addr, key, context);

	say_send("read", buf, len, ret);
	return ret;
}

/* Of reads that find nothing, one of many. */
static void say_entries(
	const char *call, const struct fi_cq_msg_entry *entry, ssize_t n)
{
	enum { MANY = 100 };
	static _Thread_local unsigned int empty;
	int received = 0, i;

	if (n <= 0 && empty++ % MANY)
		return;
	for (i = 0; i < n; i++)
		received += (entry[i].flags & FI_RECV) != 0;
	SAY("%s sent=%d received=%d", call, n > 0 ? (int)n - received : 0, received);
}

static ssize_t told_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	ssize_t n = below.cq.read(cq, buf, count);

	say_entries("cq_read", buf, n);
	return n;
}

static ssize_t told_cq_sread(
	struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	ssize_t n = below.cq.sread(cq, buf, count, cond, timeout);

	say_entries("cq_sread", buf, n);
	return n;
}

/* ---- objects ---- */

#define COPY(to, from)                                                                 \
	memcpy(&(to), (from), (from)->size < sizeof(to) ? (from)->size : sizeof(to))

static void put_data(struct fid_ep *ep)
{
	static struct fi_ops_msg msg;
	static struct fi_ops_tagged tagged;
	static struct fi_ops_rma rma;

	if (ep->msg && ep->msg != &msg) {
		COPY(below.msg, ep->msg);
		msg = below.msg;
		msg.send = told_send;
		msg.inject = told_inject;
		ep->msg = &msg;
	}
	if (ep->tagged && ep->tagged != &tagged) {
		COPY(below.tagged, ep->tagged);
		tagged = below.tagged;
		tagged.send = told_tsend;
		tagged.inject = told_tinject;
		ep->tagged = &tagged;
	}
	if (ep->rma && ep->rma != &rma) {
		COPY(below.rma, ep->rma);
		rma = below.rma;
		rma.write = told_write;
		rma.read = told_read;
		ep->rma = &rma;
	}
}

static int told_control(struct fid *fid, int command, void *arg)
{
	int ret = below.ep_fid.control(fid, command, arg);

	if (command == FI_ENABLE && !ret)
		put_data((struct fid_ep *)(void *)fid);
	return ret;
}

static int told_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, void *context)
{
	static struct fi_ops ops;
	int ret = below.domain.endpoint(domain, info, ep, context);
	const struct sockaddr_in *source = info->src_addr;

	if (ret)
		return ret;
	SAY("endpoint type=%s delivery=%d source=%s",
		fi_tostr(&info->ep_attr->type, FI_TYPE_EP_TYPE),
		(info->tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0,
		source && info->addr_format == FI_SOCKADDR_IN
			? inet_ntoa(source->sin_addr)
			: "other");
	if ((*ep)->fid.ops == &ops)
		return 0;
	COPY(below.ep_fid, (*ep)->fid.ops);
	ops = below.ep_fid;
	ops.control = told_control;
	(*ep)->fid.ops = &ops;
	put_data(*ep);
	return 0;
}

static int told_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **cq, void *context)
{
	static struct fi_ops_cq ops;
	int ret = below.domain.cq_open(domain, attr, cq, context);

	if (ret)
		return ret;
	SAY("cq wait=%s", attr->wait_obj == FI_WAIT_NONE ? "none" : "some");
	if ((*cq)->ops == &ops)
		return 0;
	COPY(below.cq, (*cq)->ops);
	ops = below.cq;
	ops.read = told_cq_read;
	ops.sread = told_cq_sread;
	(*cq)->ops = &ops;
	return 0;
}

static int told_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **domain, void *context)
{
	static struct fi_ops_domain ops;
	int ret = below.fabric.domain(fabric, info, domain, context);

	if (ret)
		return ret;
	SAY("domain name=%s", info->domain_attr->name);
	/* Two lines, because fi_tostr has one buffer. */
	SAY("domain threading=%s",
		fi_tostr(&info->domain_attr->threading, FI_TYPE_THREADING));
	SAY("domain progress=%s",
		fi_tostr(&info->domain_attr->data_progress, FI_TYPE_PROGRESS));
	if ((*domain)->ops == &ops)
		return 0;
	COPY(below.domain, (*domain)->ops);
	ops = below.domain;
	ops.cq_open = told_cq_open;
	ops.endpoint = told_endpoint;
	(*domain)->ops = &ops;
	return 0;
}

static int told_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	static struct fi_ops_fabric ops;

	(void)context;
	*ret_fabric = attr->fabric;
	SAY("fabric name=%s", attr->name);
	if (attr->fabric->ops == &ops)
		return 0;
	COPY(below.fabric, attr->fabric->ops);
	ops = below.fabric;
	ops.domain = told_domain;
	attr->fabric->ops = &ops;
	return 0;
}

static struct fi_provider told = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(2, 6),
	.name = "ofi_hook_told",
	.fabric = told_fabric,
};

struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	return &told;
}
