/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_HOOK_MONITOR_FIXTURE_H
#define TESTS_UNIT_HOOK_MONITOR_FIXTURE_H

#include "played.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/hook_monitor/format.h"
#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/param.h"

/* A monitored fabric with a domain, and the sampler's side of its file. */
struct fixture {
	char base[64], dir[512], path[1024];
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	int fd; /* the sampler's */
	struct mon_layout layout;
};

static struct fixture fx;

static int remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline int fixture_setup(void **state)
{
	char host[256] = "";

	memset(&fx, 0, sizeof(fx));
	memset(&played, 0, sizeof(played));
	(void)snprintf(fx.base, sizeof(fx.base), "/tmp/mon_unit_XXXXXX");
	assert_non_null(mkdtemp(fx.base));
	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(fx.dir, sizeof(fx.dir), "%s/%u/%s", fx.base,
		(unsigned int)geteuid(), host);
	mon_params = (struct mon_params){
		.basepath = fx.base, .dir_mode = 01700, .file_mode = 0600, .tick_max = 1
	};
	fx.fd = -1;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	if (fx.fd >= 0)
		(void)close(fx.fd);
	return nftw(fx.base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The number of files; the name of one of them is in fx.path. */
static inline int count_files(void)
{
	DIR *dir = opendir(fx.dir);
	const struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		(void)snprintf(
			fx.path, sizeof(fx.path), "%s/%s", fx.dir, entry->d_name);
		count++;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

static inline struct fid_fabric *monitor(struct fid_fabric *fabric)
{
	struct fi_fabric_attr attr = { .fabric = fabric,
		.name = (char *)(uintptr_t) "net",
		.prov_name = (char *)(uintptr_t) "played" };
	struct fid_fabric *front = NULL;

	assert_int_equal(mon_fi.fabric(&attr, &front, NULL), 0);
	assert_ptr_equal(front, fabric);
	return front;
}

/* Open everything, up to an enabled endpoint, and the file. */
static inline void open_all(void)
{
	fx.fabric = monitor(new_fabric());
	assert_int_equal(fi_domain(fx.fabric, NULL, &fx.domain, NULL), 0);
	assert_int_equal(fi_endpoint(fx.domain, NULL, &fx.ep, NULL), 0);
	assert_int_equal(fi_enable(fx.ep), 0);
	assert_int_equal(count_files(), 1);
	fx.fd = open(fx.path, O_RDWR);
	assert_true(fx.fd >= 0);
}

static inline void close_all(void)
{
	assert_int_equal(fi_close(&fx.ep->fid), 0);
	assert_int_equal(fi_close(&fx.domain->fid), 0);
	assert_int_equal(fi_close(&fx.fabric->fid), 0);
}

static inline void read_file(void)
{
	assert_int_equal(
		pread(fx.fd, &fx.layout, sizeof(fx.layout), 0), sizeof(fx.layout));
}

static inline void want(uint64_t number)
{
	assert_int_equal(pwrite(fx.fd, &number, sizeof(number),
				 offsetof(struct mon_layout, wanted)),
		sizeof(number));
}

static inline const struct mon_sample *newest(void)
{
	read_file();
	return &fx.layout.sample[fx.layout.answered % MON_SLOTS];
}

/* Ask for a sample and make a call that is counted as nothing but mon_inject of 0
 * bytes, with which the process reaches a tick. */
static inline const struct mon_sample *sample(void)
{
	uint64_t number;

	read_file();
	number = fx.layout.answered + 1;
	want(number);
	played.answer = 0;
	assert_int_equal(fi_inject(fx.ep, NULL, 0, 0), 0);
	assert_int_equal(newest()->number, number);
	return newest();
}

/* The sample has these counts in one bucket of @function, and none in others of it. */
static inline void assert_cell(const struct mon_sample *s, enum mon_function function,
	unsigned int bucket, uint64_t count, uint64_t sum)
{
	for (unsigned int b = 0; b < MON_BUCKETS; b++) {
		const struct mon_cell *cell = &s->cell[function][b];

		assert_int_equal(cell->count, b == bucket ? count : 0);
		assert_int_equal(cell->sum, b == bucket ? sum : 0);
	}
}

#endif
