/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints of tcp;ofi_rxm with automatic progress, on one machine: the first message
 * to a peer leaves without another call of the sender, although nothing but the
 * connection by memory is left to wait for.
 */
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "../loopback.h"
#include "../time_limits.h"

static void open_auto(struct rdm_end *end)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	assert_int_equal(fi_getinfo(FI_VERSION(1, 20), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &info),
		0);
	fi_freeinfo(hints);
	rdm_end_open(end, info, 0, FI_WAIT_UNSPEC);
}

/* THR-006. */
static void test_the_first_message_leaves(void **state)
{
	enum { PAIRS = 100 };

	(void)state;
	for (int i = 0; i < PAIRS; i++) {
		struct fi_cq_tagged_entry entry;
		struct rdm_end from, to;
		char buf[4] = { 0 };
		fi_addr_t addr;
		ssize_t ret;

		open_auto(&from);
		open_auto(&to);
		assert_int_equal(fi_av_insert(from.av, &to.addr, 1, &addr, 0, NULL), 1);
		assert_int_equal(fi_trecv(to.ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC,
					 1, 0, buf),
			0);
		while ((ret = fi_tinject(from.ep, "abc", 4, addr, 1)) == -FI_EAGAIN)
			;
		assert_int_equal(ret, 0);
		assert_int_equal(
			fi_cq_sread(to.cq, &entry, 1, NULL, limit_ms(20000)), 1);
		assert_memory_equal(buf, "abc", 4);
		rdm_end_close(&from);
		rdm_end_close(&to);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_message_leaves),
	};

	/* Probes of the connection's socket would wake the sender by chance. */
	(void)setenv("FI_TCP_KEEPALIVE_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
