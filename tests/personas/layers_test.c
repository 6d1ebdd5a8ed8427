/* SPDX-License-Identifier: BSD-2-Clause */
#include "persona.h"

/* The layers of the libfabric of ofiwg, which may run over transports of this one. */

static void hints_for(struct persona *p, enum fi_ep_type type, const char *name)
{
	p->hints = fi_allocinfo();
	p->hints->mode = ~0ULL;
	p->hints->domain_attr->mr_mode = ~3;
	p->hints->ep_attr->type = type;
	p->hints->fabric_attr->prov_name = strdup(name);
}

/* ofi_rxm asks for receives in a shared context, more than a connection gets
 * unasked. */
static void rxm(void **state)
{
	struct persona p = { 0 };

	hints_for(&p, FI_EP_MSG, "tcp");
	p.hints->caps = FI_MSG | FI_RMA;
	p.hints->rx_attr->size = 4096;
	p.hints->tx_attr->size = 4096;
	persona_expect(&p, FI_VERSION(1, 18), "tcp");
	assert_int_equal(p.info->rx_attr->size, 4096);
	assert_int_equal(p.info->tx_attr->size, 4096);
	p.hints->rx_attr->size = 0;
	p.hints->tx_attr->size = 0;
	persona_expect(&p, FI_VERSION(1, 18), "tcp");
	assert_int_equal(p.info->rx_attr->size, 1024);
	assert_int_equal(p.info->tx_attr->size, 1024);
	persona_close(&p);
}

static void rxd(void **state)
{
	struct persona p = { 0 };

	hints_for(&p, FI_EP_DGRAM, "udp");
	p.hints->caps = FI_MSG;
	persona_expect(&p, FI_VERSION(1, 18), "udp");
	persona_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rxm),
		cmocka_unit_test(rxd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
