/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs two processes of ucx_perftest on this machine for each row; it prints
 * averages. */
#include "compare.h"
#include "process.h"
#include "say.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 60, TRIES = 100, PAUSE_MS = 20 };

static const char *const ucx_tests[FB_TEST_COUNT] = {
	[FB_LATENCY] = "tag_lat",
	[FB_BANDWIDTH] = "tag_bw",
	[FB_RATE] = "tag_bw",
	[FB_WRITE_LATENCY] = "ucp_put_lat",
	[FB_WRITE_BANDWIDTH] = "ucp_put_bw",
	[FB_READ_BANDWIDTH] = "ucp_get",
	[FB_FETCH_ADD] = "ucp_fadd",
	[FB_COMPARE_SWAP] = "ucp_cswap",
	[FB_ADD_RATE] = "ucp_add",
};

void fb_ucx_tests(struct fb_config *config)
{
	for (int test = 0; test < FB_TEST_COUNT; test++) {
		if (!fb_config_has(config, test) || ucx_tests[test])
			continue;
		if (!config->narrow)
			fb_say("%s: left out, ucx_perftest does not have it",
				fb_tests[test].name);
		config->tests &= ~((uint64_t)1 << test);
	}
	if (!config->tests)
		fb_die(FB_EXIT_USAGE, "ucx_perftest has none of these tests");
	if (config->silent)
		fb_say("--silent: ucx_perftest has no silent targets, those of UCX "
		       "make "
		       "calls here");
}

/* A port that nothing uses now. */
static uint16_t ucx_free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) ||
		getsockname(fd, (struct sockaddr *)&addr, &len))
		fb_die(FB_EXIT_FAILED, "no port: %s", strerror(errno));
	close(fd);
	return ntohs(addr.sin_port);
}

/* The processors that fi_bench itself would take. */
static int64_t ucx_core_of(const struct fb_options *o, int side)
{
	cpu_set_t set;
	int skip = side;

	if (o->cores[0].count || o->cores[1].count)
		return o->cores[side].count ? (int64_t)o->cores[side].core[0] : -1;
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2)
		return -1;
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, &set) && !skip--)
			return core;
	return -1;
}

/* Transports that correspond to the provider, unless the user chose some. Small
 * messages in shared memory are faster without cross-memory attach. */
static const char *ucx_transports(const struct fb_series *ours, uint64_t bytes)
{
	enum { SMALL = 8192 };

	if (getenv("UCX_TLS"))
		return NULL;
	if (!strncmp(ours->provider, "shm", 3))
		return bytes <= SMALL ? "UCX_TLS=posix" : "UCX_TLS=posix,cma";
	if (!strncmp(ours->provider, "tcp", 3))
		return "UCX_TLS=tcp";
	return NULL;
}

/* A number of messages that takes as long as our measurement did. */
static uint64_t ucx_messages(const struct fb_options *o, const struct fb_record *r)
{
	enum { LEAST = 100 };
	double ns = r->median_ns * (fb_tests[r->test].unit == FB_UNIT_TIME ? 2 : 1);
	uint64_t count = 0;

	if (ns > 0)
		count = (uint64_t)((double)o->config.duration_ns / ns);
	if (o->config.count)
		count = o->config.count;
	return count < LEAST ? LEAST : count;
}

/* Its last line begins with the number of messages, three latencies in us follow:
 * median, average since the last line, average of all. */
static bool ucx_read_average(FILE *output, double *ret_ns)
{
	char line[1024];
	bool found = false;
	double us;

	while (fgets(line, sizeof(line), output))
		if (sscanf(line, "%*d,%*f,%*f,%lf", &us) == 1) {
			*ret_ns = us * 1000;
			found = true;
		}
	return found && *ret_ns > 0;
}

static void ucx_pause_a_bit(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };

	nanosleep(&pause, NULL);
}

/* The client fails until its server listens. */
static bool ucx_run_client(const struct fb_process *client, double *ret_ns)
{
	for (int i = 0; i < TRIES; i++) {
		FILE *output;
		pid_t pid = fb_process_start(client, &output);
		bool found = ucx_read_average(output, ret_ns);

		fclose(output);
		if (!fb_process_wait(pid) && found)
			return true;
		ucx_pause_a_bit();
	}
	return false;
}

static bool ucx_run_row(const struct fb_options *o, const struct fb_series *ours,
	const struct fb_record *r, double *ret_ns)
{
	char port[8], bytes[24], count[24], warm[24],
		tls[32] = "UCX_WARN_UNUSED_ENV_VARS=n";
	char *env[] = { tls, NULL };
	char *server_argv[] = { "ucx_perftest", "-p", port, NULL };
	char *client_argv[] = { "ucx_perftest", "localhost", "-p", port, "-t",
		(char *)(uintptr_t)ucx_tests[r->test], "-s", bytes, "-n", count, "-w",
		warm, "-f", "-v", NULL };
	struct fb_process server = { .argv = server_argv,
		.env = env,
		.core = ucx_core_of(o, 0),
		.limit_s = LIMIT_S,
		.silent = true };
	struct fb_process client = server;
	uint64_t n = ucx_messages(o, r);
	bool done;
	pid_t pid;

	client.argv = client_argv;
	client.core = ucx_core_of(o, 1);
	if (ucx_transports(ours, r->bytes))
		snprintf(tls, sizeof(tls), "%s", ucx_transports(ours, r->bytes));
	snprintf(port, sizeof(port), "%u", ucx_free_port());
	snprintf(bytes, sizeof(bytes), "%" PRIu64, r->bytes);
	snprintf(count, sizeof(count), "%" PRIu64, n);
	snprintf(warm, sizeof(warm), "%" PRIu64, n / 10 + 1);
	pid = fb_process_start(&server, NULL);
	done = ucx_run_client(&client, ret_ns);
	if (!done)
		kill(pid, SIGKILL);
	(void)fb_process_wait(pid);
	return done;
}

void fb_ucx_run(const struct fb_options *o, const struct fb_series *ours,
	struct fb_series *ret_ucx)
{
	memset(ret_ucx, 0, sizeof(*ret_ucx));
	snprintf(ret_ucx->label, sizeof(ret_ucx->label), "UCX");
	snprintf(ret_ucx->library, sizeof(ret_ucx->library), "ucx_perftest");
	snprintf(ret_ucx->provider, sizeof(ret_ucx->provider), "%s",
		getenv("UCX_TLS") ? getenv("UCX_TLS") : ours->provider);
	for (size_t i = 0; i < ours->count; i++) {
		struct fb_record r = ours->record[i];
		double ns;

		fb_progress("ucx_perftest", r.bytes, (double)i / (double)ours->count);
		if (!ucx_run_row(o, ours, &r, &ns)) {
			fb_say("ucx_perftest -t %s -s %" PRIu64 " failed",
				ucx_tests[r.test], r.bytes);
			continue;
		}
		r = (struct fb_record){ .test = r.test,
			.bytes = r.bytes,
			.messages = ucx_messages(o, &r),
			.threads = 1,
			.best_ns = ns,
			.median_ns = ns };
		fb_series_add(ret_ucx, &r);
	}
}
