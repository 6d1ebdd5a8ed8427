/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_FORMAT_H
#define WF_HOOK_MONITOR_FORMAT_H

#include <stdint.h>

/*
 * The file between a monitored process and fi_mon_sampler, in the byte order of the
 * machine. Both read and write it with pread(2) and pwrite(2): a mapping would end the
 * process that uses it when another one truncates the file.
 *
 * The sampler asks for a sample by a new value in @wanted; the process answers at its
 * next tick with a sample that has this number, and then stores the number in
 * @answered. At the end it stores a last sample with the number @wanted + 1. Samples
 * alternate between two slots, so that the last one does not overwrite the sample that
 * is being read.
 *
 * The process holds an open file description lock on the file as long as it lives, and
 * reads nothing but @wanted. The sampler holds a flock(2), so that there is one.
 */
#define MON_MAGIC "weftmon" /* with the NUL, the first eight bytes */

enum {
	MON_VERSION = 1,
	MON_BUCKETS = 9,
	MON_SLOTS = 2,
};

/* Counted functions, in the order of the columns. mon_cq_ctx and those after it are
 * entries of completion queues. */
enum mon_function {
	MON_RECV,
	MON_RECVV,
	MON_RECVMSG,
	MON_TRECV,
	MON_TRECVV,
	MON_TRECVMSG,
	MON_SEND,
	MON_SENDV,
	MON_SENDMSG,
	MON_INJECT,
	MON_SENDDATA,
	MON_INJECTDATA,
	MON_TSEND,
	MON_TSENDV,
	MON_TSENDMSG,
	MON_TINJECT,
	MON_TSENDDATA,
	MON_TINJECTDATA,
	MON_READ,
	MON_READV,
	MON_READMSG,
	MON_WRITE,
	MON_WRITEV,
	MON_WRITEMSG,
	MON_INJECT_WRITE,
	MON_WRITEDATA,
	MON_INJECT_WRITEDATA,
	MON_MR_REG,
	MON_MR_REGV,
	MON_MR_REGATTR,
	MON_CQ_READ,
	MON_CQ_READFROM,
	MON_CQ_READERR,
	MON_CQ_SREAD,
	MON_CQ_SREADFROM,
	MON_CQ_CTX,
	MON_CQ_MSG_TX,
	MON_CQ_MSG_RX,
	MON_CQ_DATA_TX,
	MON_CQ_DATA_RX,
	MON_CQ_TAGGED_TX,
	MON_CQ_TAGGED_RX,
	MON_FUNCTIONS,
};

struct mon_cell {
	uint64_t count; /* number of calls or entries */
	uint64_t sum;   /* number of their bytes */
};

/* What happened since the sample before. */
struct mon_sample {
	uint64_t number;
	uint64_t ended; /* 1: the process ends, and takes no more samples */
	/* Peers of all open endpoints at the time of the sample, by transport. */
	uint64_t peers_shm, peers_sockets;
	struct mon_cell cell[MON_FUNCTIONS][MON_BUCKETS];
};

struct mon_layout {
	char magic[8];
	uint32_t version; /* MON_VERSION */
	uint32_t size;    /* bytes of this struct */
	uint32_t functions, buckets;
	uint64_t wanted;   /* written by the sampler */
	uint64_t answered; /* number of the newest sample, in slot @answered % 2 */
	struct mon_sample sample[MON_SLOTS];
};

#endif
