/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <pthread.h>
#include <stdatomic.h>

/* GI-056. Meant for ThreadSanitizer: several threads race for the first call of the
 * process, then list, copy, free and ask for parameters at the same time. */

enum { THREADS = 8, ROUNDS = 200 };

static atomic_int inits;
static pthread_barrier_t start_line;

static int net_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	*info = fake_info(NULL, "net0");
	return 0;
}

/* A layer, so that the stack of providers being asked is used. */
static int up_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	return fi_getinfo(version, node, service, flags, hints, info);
}

static struct fi_provider net = { .name = "net",
	.version = 1,
	.fi_version = FAKE_VERSION,
	.getinfo = net_getinfo,
	.fabric = fake_fabric };
static struct fi_provider up = { .name = "ofi_up",
	.version = 1,
	.fi_version = FAKE_VERSION,
	.getinfo = up_getinfo,
	.fabric = fake_fabric };

static struct fi_provider *net_ini(void)
{
	char *value;

	atomic_fetch_add(&inits, 1);
	/* Calls back into the library that is being started. */
	assert_int_equal(fi_param_define(&net, "knob", FI_PARAM_STRING, "help"), 0);
	assert_int_equal(fi_param_get(&net, "knob", &value), -FI_ENODATA);
	return &net;
}

static struct fi_provider *up_ini(void)
{
	return &up;
}

const struct wf_known_prov wf_known_provs[] = { { "net" }, { "net;ofi_up" }, { NULL } };
const wf_prov_ini_fn wf_builtin_providers[] = { net_ini, up_ini, NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

static int one_round(void)
{
	struct fi_info *list, *copy;
	struct fi_param *params;
	int count, wrong = 0;

	if (fi_getinfo(FAKE_VERSION, NULL, NULL, 0, NULL, &list))
		return 1;
	wrong += strcmp(list->fabric_attr->prov_name, "net") != 0;
	wrong += !list->next ||
		 strcmp(list->next->fabric_attr->prov_name, "net;ofi_up") != 0;
	copy = fi_dupinfo(list);
	fi_freeinfo(list);
	wrong += !copy || strcmp(copy->domain_attr->name, "net0") != 0;
	fi_freeinfo(copy);
	if (fi_getparams(&params, &count))
		return wrong + 1;
	fi_freeparams(params);
	return wrong;
}

static void *worker(void *arg)
{
	int *wrong = arg;

	(void)pthread_barrier_wait(&start_line);
	for (int i = 0; i < ROUNDS; i++)
		*wrong += one_round();
	return NULL;
}

static void concurrent_calls(void **state)
{
	pthread_t threads[THREADS];
	int wrong[THREADS] = { 0 };

	assert_int_equal(pthread_barrier_init(&start_line, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, worker, &wrong[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(wrong[i], 0);
	}
	(void)pthread_barrier_destroy(&start_line);
	assert_int_equal(atomic_load(&inits), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(concurrent_calls),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
