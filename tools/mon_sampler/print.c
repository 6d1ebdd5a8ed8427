/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <inttypes.h>

static const char *const functions[MON_FUNCTIONS] = {
	[MON_RECV] = "mon_recv",
	[MON_RECVV] = "mon_recvv",
	[MON_RECVMSG] = "mon_recvmsg",
	[MON_TRECV] = "mon_trecv",
	[MON_TRECVV] = "mon_trecvv",
	[MON_TRECVMSG] = "mon_trecvmsg",
	[MON_SEND] = "mon_send",
	[MON_SENDV] = "mon_sendv",
	[MON_SENDMSG] = "mon_sendmsg",
	[MON_INJECT] = "mon_inject",
	[MON_SENDDATA] = "mon_senddata",
	[MON_INJECTDATA] = "mon_injectdata",
	[MON_TSEND] = "mon_tsend",
	[MON_TSENDV] = "mon_tsendv",
	[MON_TSENDMSG] = "mon_tsendmsg",
	[MON_TINJECT] = "mon_tinject",
	[MON_TSENDDATA] = "mon_tsenddata",
	[MON_TINJECTDATA] = "mon_tinjectdata",
	[MON_READ] = "mon_read",
	[MON_READV] = "mon_readv",
	[MON_READMSG] = "mon_readmsg",
	[MON_WRITE] = "mon_write",
	[MON_WRITEV] = "mon_writev",
	[MON_WRITEMSG] = "mon_writemsg",
	[MON_INJECT_WRITE] = "mon_inject_write",
	[MON_WRITEDATA] = "mon_writedata",
	[MON_INJECT_WRITEDATA] = "mon_inject_writedata",
	[MON_MR_REG] = "mon_mr_reg",
	[MON_MR_REGV] = "mon_mr_regv",
	[MON_MR_REGATTR] = "mon_mr_regattr",
	[MON_CQ_READ] = "mon_cq_read",
	[MON_CQ_READFROM] = "mon_cq_readfrom",
	[MON_CQ_READERR] = "mon_cq_readerr",
	[MON_CQ_SREAD] = "mon_cq_sread",
	[MON_CQ_SREADFROM] = "mon_cq_sreadfrom",
	[MON_CQ_CTX] = "mon_cq_ctx",
	[MON_CQ_MSG_TX] = "mon_cq_msg_tx",
	[MON_CQ_MSG_RX] = "mon_cq_msg_rx",
	[MON_CQ_DATA_TX] = "mon_cq_data_tx",
	[MON_CQ_DATA_RX] = "mon_cq_data_rx",
	[MON_CQ_TAGGED_TX] = "mon_cq_tagged_tx",
	[MON_CQ_TAGGED_RX] = "mon_cq_tagged_rx",
};

static const char *const buckets[MON_BUCKETS] = {
	"0_64",
	"64_512",
	"512_1K",
	"1K_4K",
	"4K_64K",
	"64K_256K",
	"256K_1M",
	"1M_4M",
	"4M_UP",
};

static const char *print_comma(unsigned int function, unsigned int bucket)
{
	return function || bucket ? "," : "";
}

static void print_csv_header(FILE *out)
{
	for (unsigned int f = 0; f < MON_FUNCTIONS; f++)
		for (unsigned int b = 0; b < MON_BUCKETS; b++)
			fprintf(out, "%s%s_%s_c,%s_%s_s", print_comma(f, b),
				functions[f], buckets[b], functions[f], buckets[b]);
}

static void print_csv_sample(FILE *out, const struct mon_sample *sample)
{
	for (unsigned int f = 0; f < MON_FUNCTIONS; f++)
		for (unsigned int b = 0; b < MON_BUCKETS; b++)
			fprintf(out, "%s%" PRIu64 ",%" PRIu64, print_comma(f, b),
				sample->cell[f][b].count, sample->cell[f][b].sum);
}

void print_header(FILE *out, enum sampler_format format)
{
	if (format == FORMAT_CSV)
		print_csv_header(out);
	else
		fputs("shm,sockets", out);
	putc('\n', out);
}

void print_sample(
	FILE *out, enum sampler_format format, const struct mon_sample *sample)
{
	if (format == FORMAT_CSV)
		print_csv_sample(out, sample);
	else
		fprintf(out, "%" PRIu64 ",%" PRIu64, sample->peers_shm,
			sample->peers_sockets);
	putc('\n', out);
}
