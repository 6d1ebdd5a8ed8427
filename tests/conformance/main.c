/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the suites against one target and reports in TAP.
 *
 *   conformance -p PROVIDER [-e dgram|rdm|msg] [-a in|in6|str] [-V API] [-n NODE]
 *               [-x CASE]... [-d] [-l] [-m] [CASE...]
 *
 * CASE is the name of a case, of a suite or of a requirement; without, all are run.
 * -V asks for an older API version, so that the suite also runs on other libraries;
 * -x leaves a case or a suite out. -d opens the two sides of a pair in domains of their
 * own, for links to providers that share a receive context with one endpoint of a
 * domain. -n is the address of this host for providers that are not on the loopback. -m
 * registers the buffers of transfers though the provider does not ask for it, as the
 * suite does with those that do.
 *
 * A case is forked, so that a crash or a hang costs only itself. Exit status of the
 * child: 0 passed, 77 skipped, anything else failed.
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../left.h"
#include "../sanitizer.h"
#include "conformance.h"
#include "suites.h"

enum { CASE_TIMEOUT_S = 60, EXIT_SKIPPED = 77, LEFT_OUT_MAX = 32 };

struct cf_target cf_target = { .version = FI_VERSION(2, 6) };

static const char *left_out[LEFT_OUT_MAX];
static int left_out_count;
static char message[512]; /* message of the child, read from a pipe */

void cf_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("%s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
	_exit(1);
}

void cf_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
	_exit(EXIT_SKIPPED);
}

/* The library's thread lasts, and the file of a log (tests/left.h). Loadable providers
 * have a thread each. */
static struct left lasting_of(const char *suite)
{
	enum { LOADED_MAX = 4 };

	return (struct left){ .fds = !strcmp(suite, "log"),
		.threads = getenv("FI_PROVIDER_PATH") ? 1 + LOADED_MAX : 1 };
}

static void run_child(const char *suite, const struct cf_case *test)
{
	struct left before;
	char text[256];

	if (test->caps) {
		struct fi_info *info, *hints = cf_hints();

		hints->caps = test->caps;
		if (cf_getinfo(cf_target.version, hints, &info))
			cf_skip("%s does not offer %s", cf_target.provider,
				fi_tostr(&test->caps, FI_TYPE_CAPS));
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
	before = left_count();
	test->run();
	if (left_more(before, lasting_of(suite), text, sizeof(text)))
		cf_fail(__FILE__, __LINE__, "%s", text);
}

/* Fork, run, collect the first line that the case printed. */
static int run_case(const char *suite, const struct cf_case *test)
{
	size_t used = 0;
	ssize_t n;
	int fds[2], status;
	pid_t pid;

	if (pipe(fds))
		abort();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)alarm(limit_s(CASE_TIMEOUT_S));
		(void)dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		run_child(suite, test);
		exit(0); /* not _exit: leak checkers run at exit */
	}
	close(fds[1]);
	while (used < sizeof(message) - 1 &&
		(n = read(fds[0], message + used, sizeof(message) - 1 - used)) > 0)
		used += (size_t)n;
	message[used] = '\0';
	message[strcspn(message, "\n")] = '\0';
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFSIGNALED(status)) {
		snprintf(message + strlen(message), sizeof(message) - strlen(message),
			" (%s)",
			WTERMSIG(status) == SIGALRM ? "timed out"
						    : strsignal(WTERMSIG(status)));
		return -1;
	}
	return WEXITSTATUS(status);
}

/* A name is that of a case or of a suite, or part of a requirement's number. */
static bool selected(
	const char *suite, const struct cf_case *test, char **names, int count)
{
	for (int i = 0; i < left_out_count; i++)
		if (!strcmp(left_out[i], test->name) || !strcmp(left_out[i], suite))
			return false;
	for (int i = 0; i < count; i++) {
		if (!strcmp(names[i], test->name) || !strcmp(names[i], suite) ||
			strstr(test->reqs, names[i]))
			return true;
	}
	return count == 0;
}

static int run_all(char **names, int count, bool list)
{
	int number = 0, failed = 0;

	for (size_t s = 0; cf_suites[s].name; s++) {
		for (const struct cf_case *t = cf_suites[s].cases; t->name; t++) {
			if (!selected(cf_suites[s].name, t, names, count))
				continue;
			if (list) {
				printf("%s %s: %s\n", cf_suites[s].name, t->name,
					t->reqs);
				continue;
			}
			int result = run_case(cf_suites[s].name, t);

			printf("%s %d - %s.%s [%s]%s%s\n",
				result == 0 || result == EXIT_SKIPPED ? "ok" : "not ok",
				++number, cf_suites[s].name, t->name, t->reqs,
				result == EXIT_SKIPPED ? " # SKIP " : "",
				result == EXIT_SKIPPED ? message : "");
			if (result != 0 && result != EXIT_SKIPPED) {
				printf("# %s\n", message);
				failed++;
			}
		}
	}
	if (!list)
		printf("1..%d\n", number);
	return failed;
}

/* Without it every case would be skipped. In a process of its own: the library reads
 * the environment once, and cases set theirs first. */
static bool is_there(const char *provider)
{
	struct fi_info *list, *it;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (fi_getinfo(cf_target.version, NULL, NULL, FI_PROV_ATTR_ONLY, NULL,
			    &list))
			_exit(1);
		for (it = list; it && strcmp(it->fabric_attr->prov_name, provider);)
			it = it->next;
		_exit(!it);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

static bool parse_type(const char *word)
{
	static const struct {
		const char *word;
		enum fi_ep_type type;
	} types[] = { { "dgram", FI_EP_DGRAM }, { "rdm", FI_EP_RDM },
		{ "msg", FI_EP_MSG } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(word, types[i].word)) {
			cf_target.type = types[i].type;
			return true;
		}
	}
	return false;
}

static bool parse_format(const char *word)
{
	static const struct {
		const char *word;
		uint32_t format;
	} formats[] = { { "in", FI_SOCKADDR_IN }, { "in6", FI_SOCKADDR_IN6 },
		{ "str", FI_ADDR_STR } };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(word, formats[i].word)) {
			cf_target.addr_format = formats[i].format;
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	bool list = false, usage = false;
	unsigned int major = 0, minor = 0;
	int c;

	while ((c = getopt(argc, argv, "p:e:a:V:n:x:dglmo")) != -1) {
		switch (c) {
		case 'p':
			cf_target.provider = optarg;
			break;
		case 'e':
			usage |= !parse_type(optarg);
			break;
		case 'a':
			usage |= !parse_format(optarg);
			break;
		case 'V':
			usage |= sscanf(optarg, "%u.%u", &major, &minor) != 2;
			cf_target.version = FI_VERSION(major, minor);
			break;
		case 'x':
			if (left_out_count < LEFT_OUT_MAX)
				left_out[left_out_count++] = optarg;
			else
				usage = true;
			break;
		case 'n':
			cf_target.node = optarg;
			break;
		case 'm':
			cf_target.local = true;
			break;
		case 'd':
			cf_target.apart = true;
			break;
		case 'g':
			cf_target.greeted = true;
			break;
		case 'o':
			cf_target.one_apart = true;
			break;
		case 'l':
			list = true;
			break;
		default:
			usage = true;
		}
	}
	if (usage || (!cf_target.provider && !list)) {
		fprintf(stderr,
			"usage: %s -p PROVIDER [-e dgram|rdm|msg] [-a in|in6|str] "
			"[-V MAJOR.MINOR] [-n NODE] [-x CASE]... [-d] [-g] [-l] [-m] "
			"[-o] "
			"[CASE...]\n",
			argv[0]);
		return 2;
	}
	sanitizer_no_threads();
	if (!list && !strchr(cf_target.provider, ';') &&
		!is_there(cf_target.provider)) {
		printf("Bail out! no provider %s is there\n", cf_target.provider);
		return 1;
	}
	return run_all(argv + optind, argc - optind, list) ? 1 : 0;
}
