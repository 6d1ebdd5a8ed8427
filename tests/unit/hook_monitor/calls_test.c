/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

/* Transfer calls: all arguments and results pass, and the successful ones are
 * counted. */

static char buf[8];
static void *desc = &desc;
static struct iovec iov[2] = { { buf, 600 }, { buf, 30 } };
static struct fi_msg msg = { .msg_iov = iov, .iov_count = 2 };
static struct fi_msg_tagged tmsg = { .msg_iov = iov, .iov_count = 2 };
static struct fi_msg_rma rmsg = { .msg_iov = iov, .iov_count = 2 };

enum { ADDR = 11, DATA = 12, TAG = 13, IGNORE = 14, RADDR = 15, KEY = 16, FLAGS = 64 };

/* Two calls, of which the provider refuses the second: counted are one call and @size_
 * bytes. The arguments arrive. */
#define CHECK(function_, name_, bucket_, size_, args_, call_)                          \
	do {                                                                           \
		const struct mon_sample *s;                                            \
		played.answer = 0;                                                     \
		assert_int_equal((call_), 0);                                          \
		assert_string_equal(played.call, name_);                               \
		assert_int_equal(played.args, (args_));                                \
		played.answer = -FI_EAGAIN;                                            \
		assert_int_equal((call_), -FI_EAGAIN);                                 \
		s = sample();                                                          \
		assert_cell(s, function_, bucket_, 1, size_);                          \
	} while (0)

#define BUF    ARG(buf)
#define DESC   (3 * ARG(desc))
#define TO     (4 * ADDR)
#define CTX    (5 * ARG(buf))
#define VECTOR (ARG(iov) + 2 * 2 + 3 * ARG(&desc))

static void messages(void **state)
{
	open_all();
	CHECK(MON_RECV, "recv", 0, 63, BUF + 2 * 63 + DESC + TO + CTX,
		fi_recv(fx.ep, buf, 63, desc, ADDR, buf));
	CHECK(MON_RECVV, "recvv", 2, 630, VECTOR + TO + CTX,
		fi_recvv(fx.ep, iov, &desc, 2, ADDR, buf));
	CHECK(MON_RECVMSG, "recvmsg", 2, 630, ARG(&msg) + 2 * FLAGS,
		fi_recvmsg(fx.ep, &msg, FLAGS));
	CHECK(MON_SEND, "send", 1, 64, BUF + 2 * 64 + DESC + TO + CTX,
		fi_send(fx.ep, buf, 64, desc, ADDR, buf));
	CHECK(MON_SENDV, "sendv", 2, 630, VECTOR + TO + CTX,
		fi_sendv(fx.ep, iov, &desc, 2, ADDR, buf));
	CHECK(MON_SENDMSG, "sendmsg", 2, 630, ARG(&msg) + 2 * FLAGS,
		fi_sendmsg(fx.ep, &msg, FLAGS));
	CHECK(MON_SENDDATA, "senddata", 3, 1024,
		BUF + 2 * 1024 + DESC + TO + CTX + 6 * DATA,
		fi_senddata(fx.ep, buf, 1024, desc, DATA, ADDR, buf));
	CHECK(MON_INJECTDATA, "injectdata", 4, 4096, BUF + 2 * 4096 + TO + 6 * DATA,
		fi_injectdata(fx.ep, buf, 4096, DATA, ADDR));
	/* The calls of sample() are mon_inject, too. */
	played.answer = 0;
	assert_int_equal(fi_inject(fx.ep, buf, 5, ADDR), 0);
	assert_int_equal(played.args, BUF + 2 * 5 + TO);
	assert_cell(sample(), MON_INJECT, 0, 2, 5);
	close_all();
}

static void tagged_messages(void **state)
{
	const uint64_t match = 7 * TAG + 8 * IGNORE;

	open_all();
	CHECK(MON_TRECV, "trecv", 0, 63, BUF + 2 * 63 + DESC + TO + CTX + match,
		fi_trecv(fx.ep, buf, 63, desc, ADDR, TAG, IGNORE, buf));
	CHECK(MON_TRECVV, "trecvv", 2, 630, VECTOR + TO + CTX + match,
		fi_trecvv(fx.ep, iov, &desc, 2, ADDR, TAG, IGNORE, buf));
	CHECK(MON_TRECVMSG, "trecvmsg", 2, 630, ARG(&tmsg) + 2 * FLAGS,
		fi_trecvmsg(fx.ep, &tmsg, FLAGS));
	CHECK(MON_TSEND, "tsend", 4, 65535, BUF + 2 * 65535 + DESC + TO + CTX + 7 * TAG,
		fi_tsend(fx.ep, buf, 65535, desc, ADDR, TAG, buf));
	CHECK(MON_TSENDV, "tsendv", 2, 630, VECTOR + TO + CTX + 7 * TAG,
		fi_tsendv(fx.ep, iov, &desc, 2, ADDR, TAG, buf));
	CHECK(MON_TSENDMSG, "tsendmsg", 2, 630, ARG(&tmsg) + 2 * FLAGS,
		fi_tsendmsg(fx.ep, &tmsg, FLAGS));
	CHECK(MON_TINJECT, "tinject", 5, 65536, BUF + 2 * 65536 + TO + 7 * TAG,
		fi_tinject(fx.ep, buf, 65536, ADDR, TAG));
	CHECK(MON_TSENDDATA, "tsenddata", 6, 1 << 18,
		BUF + (2 << 18) + DESC + TO + CTX + 6 * DATA + 7 * TAG,
		fi_tsenddata(fx.ep, buf, 1 << 18, desc, DATA, ADDR, TAG, buf));
	CHECK(MON_TINJECTDATA, "tinjectdata", 7, 1 << 20,
		BUF + (2 << 20) + TO + 6 * DATA + 7 * TAG,
		fi_tinjectdata(fx.ep, buf, 1 << 20, DATA, ADDR, TAG));
	close_all();
}

static void remote_memory(void **state)
{
	const uint64_t where = 9 * RADDR + 10 * KEY;

	open_all();
	CHECK(MON_READ, "read", 7, (4 << 20) - 1,
		BUF + (8 << 20) - 2 + DESC + TO + CTX + where,
		fi_read(fx.ep, buf, (4 << 20) - 1, desc, ADDR, RADDR, KEY, buf));
	CHECK(MON_READV, "readv", 2, 630, VECTOR + TO + CTX + where,
		fi_readv(fx.ep, iov, &desc, 2, ADDR, RADDR, KEY, buf));
	CHECK(MON_READMSG, "readmsg", 2, 630, ARG(&rmsg) + 2 * FLAGS,
		fi_readmsg(fx.ep, &rmsg, FLAGS));
	CHECK(MON_WRITE, "write", 8, 4 << 20, BUF + (8 << 20) + DESC + TO + CTX + where,
		fi_write(fx.ep, buf, 4 << 20, desc, ADDR, RADDR, KEY, buf));
	CHECK(MON_WRITEV, "writev", 2, 630, VECTOR + TO + CTX + where,
		fi_writev(fx.ep, iov, &desc, 2, ADDR, RADDR, KEY, buf));
	CHECK(MON_WRITEMSG, "writemsg", 2, 630, ARG(&rmsg) + 2 * FLAGS,
		fi_writemsg(fx.ep, &rmsg, FLAGS));
	CHECK(MON_INJECT_WRITE, "inject_write", 0, 9, BUF + 2 * 9 + TO + where,
		fi_inject_write(fx.ep, buf, 9, ADDR, RADDR, KEY));
	CHECK(MON_WRITEDATA, "writedata", 1, 511,
		BUF + 2 * 511 + DESC + TO + CTX + 6 * DATA + where,
		fi_writedata(fx.ep, buf, 511, desc, DATA, ADDR, RADDR, KEY, buf));
	CHECK(MON_INJECT_WRITEDATA, "inject_writedata", 2, 512,
		BUF + 2 * 512 + TO + 6 * DATA + where,
		fi_inject_writedata(fx.ep, buf, 512, DATA, ADDR, RADDR, KEY));
	close_all();
}

/* What an engine of collectives posts is not the application's. */
static void transfers_of_peers(void **state)
{
	const struct mon_sample *s;

	open_all();
	assert_int_equal(fi_sendmsg(fx.ep, &msg, FI_PEER_TRANSFER), 0);
	assert_int_equal(fi_tsendmsg(fx.ep, &tmsg, FI_PEER_TRANSFER), 0);
	assert_int_equal(fi_trecvmsg(fx.ep, &tmsg, FI_PEER_TRANSFER), 0);
	assert_int_equal(fi_writemsg(fx.ep, &rmsg, FI_PEER_TRANSFER), 0);
	s = sample();
	assert_cell(s, MON_SENDMSG, 0, 0, 0);
	assert_cell(s, MON_TSENDMSG, 0, 0, 0);
	assert_cell(s, MON_TRECVMSG, 0, 0, 0);
	assert_cell(s, MON_WRITEMSG, 0, 0, 0);
	close_all();
}

static void registrations(void **state)
{
	struct fi_mr_attr attr = { .mr_iov = iov, .iov_count = 2 };
	struct fid_mr *mr = NULL;

	open_all();
	CHECK(MON_MR_REG, "mr_reg", 1, 100,
		BUF + 2 * 100 + 3 * 1 + 4 * 2 + 5 * 3 + 6 * 4 + 7 * ARG(buf),
		fi_mr_reg(fx.domain, buf, 100, 1, 2, 3, 4, &mr, buf));
	CHECK(MON_MR_REGV, "mr_regv", 2, 630,
		ARG(iov) + 2 * 2 + 3 * 1 + 4 * 2 + 5 * 3 + 6 * 4 + 7 * ARG(buf),
		fi_mr_regv(fx.domain, iov, 2, 1, 2, 3, 4, &mr, buf));
	CHECK(MON_MR_REGATTR, "mr_regattr", 2, 630, ARG(&attr) + 2 * 4,
		fi_mr_regattr(fx.domain, &attr, 4, &mr));
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			messages, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			tagged_messages, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			remote_memory, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			transfers_of_peers, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			registrations, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
