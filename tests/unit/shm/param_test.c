/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "providers/shm/copy/span.h"
#include "providers/shm/param.h"

struct fi_provider shm_fi = { .name = "shm" };

/* The library's log is off; its lines are checked by tests/interop. */
static void values(void **state)
{
	struct shm_params defaults = shm_params;

	assert_int_equal(defaults.tx_size, 1024);
	assert_int_equal(defaults.rx_size, 1024);
	assert_int_equal(defaults.disable_cma, 0);
	assert_false(shm_is_past((24 << 20) - 1));
	assert_true(shm_is_past(24 << 20));

	setenv("FI_SHM_TX_SIZE", "0", 1);
	setenv("FI_SHM_RX_SIZE", "0x20", 1);
	setenv("FI_SHM_DISABLE_CMA", "yes", 1);
	setenv("FI_SHM_DISABLE_MAPPING", "1", 1);
	setenv("FI_SHM_INJECT_SIZE", "0", 1);
	setenv("FI_SHM_EAGER_SIZE", "70000", 1);
	setenv("FI_SHM_CMA_SIZE", "1000000", 1);
	setenv("FI_SHM_NONTEMPORAL_SIZE", "1000", 1);
	setenv("FI_SHM_UNEXPECTED_SIZE", "many", 1);
	setenv("FI_SHM_CONNECT_TIMEOUT", "0", 1);
	/* Parameters of other implementations are accepted with any value. */
	setenv("FI_SHM_USE_XPMEM", "1", 1);
	setenv("FI_SHM_USE_DSA_SAR", "1", 1);
	setenv("FI_SHM_MAX_GDRCOPY_SIZE", "0", 1);
	setenv("FI_SHM_BUFFER_THRESHOLD", "7", 1);
	shm_params_init();

	assert_int_equal(shm_params.tx_size, defaults.tx_size);
	assert_int_equal(shm_params.rx_size, 32);
	assert_int_equal(shm_params.disable_cma, 1);
	assert_int_equal(shm_params.disable_mapping, 1);
	assert_int_equal(shm_params.inject_size, 0);
	assert_int_equal(shm_params.eager_size, defaults.eager_size);
	assert_int_equal(shm_params.cma_size, 1000000);
	assert_int_equal(shm_params.nontemporal_size, 1000);
	assert_false(shm_is_past(999));
	assert_true(shm_is_past(1000));
	assert_int_equal(shm_params.unexpected_size, defaults.unexpected_size);
	assert_int_equal(shm_params.connect_timeout, 0);

	setenv("FI_SHM_EAGER_SIZE", "1000", 1);
	shm_params_init();
	assert_int_equal(shm_params.eager_size, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
