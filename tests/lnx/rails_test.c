/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that one rail does not reach: rails_test LINKS, where the first link is shm
 * and another one tcp. What was learnt of its rails is not held against the next peer
 * that gets its index.
 */
#include "lnx_pair.h"

/* The name of an endpoint over all links that is closed again. */
static void name_of_closed(const char *port, uint8_t name[NAME_ROOM])
{
	struct rdm_end end;

	rdm_end_open(&end, lnx_info(FI_FORMAT_UNSPEC, "127.0.0.1", port, FI_SOURCE), 0,
		FI_WAIT_NONE);
	memcpy(name, end.name, NAME_ROOM);
	rdm_end_close(&end);
}

/* Its successor at @port, which has no shared memory. */
static void open_successor(struct rdm_end *end, const char *port)
{
	struct fi_info *hints = lnx_hints(FI_SOCKADDR_IN), *info;

	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = strdup("tcp");
	assert_int_equal(fi_getinfo(FI_VERSION(2, 0), "127.0.0.1", port, FI_SOURCE,
				 hints, &info),
		0);
	fi_freeinfo(hints);
	rdm_end_open(end, info, 0, FI_WAIT_NONE);
}

static void an_index_is_used_again(void **state)
{
	uint8_t name[NAME_ROOM];
	struct rdm_end from, to;
	fi_addr_t addr;
	char port[8];

	(void)snprintf(port, sizeof(port), "%u", free_port());
	name_of_closed(port, name);
	open_successor(&to, port);
	rdm_end_open(&from, lnx_info(FI_FORMAT_UNSPEC, NULL, NULL, 0), 0, FI_WAIT_NONE);
	for (uint64_t tag = 0; tag < 3; tag++) {
		addr = end_insert(&from, name);
		assert_int_equal(addr, 0);
		(void)exchange(&from, addr, &to, tag);
		assert_int_equal(fi_av_remove(from.av, &addr, 1, 0), 0);
	}
	rdm_end_close(&from);
	rdm_end_close(&to);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_is_used_again),
	};

	if (argc != 2)
		return 2;
	/* Read when the providers are first asked for something. */
	(void)setenv("FI_LNX_PROV_LINKS", argv[1], 1);
	(void)setenv("FI_SHM_REFUSED_TIMEOUT", "0", 1);
	/* With one rail to other hosts, operations have records for this alone. */
	(void)setenv("FI_LNX_DUMP_STATS", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
