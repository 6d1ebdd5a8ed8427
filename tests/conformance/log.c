/* SPDX-License-Identifier: BSD-2-Clause */
/* Logging, and the objects that fi_open knows. */
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suites.h"

static struct fi_provider prov = { .name = "conf" };

static char path[64];

static void log_to_file(const char *level)
{
	snprintf(path, sizeof(path), "/tmp/conformance-log-%d", (int)getpid());
	(void)unlink(path);
	CHECK_OK(setenv("FI_LOG_LOCATION", path, 1));
	if (level)
		CHECK_OK(setenv("FI_LOG_LEVEL", level, 1));
	else
		CHECK_OK(unsetenv("FI_LOG_LEVEL"));
	(void)unsetenv("FI_LOG_PROV");
	(void)unsetenv("FI_LOG_SUBSYS");
}

/* What was written, without the file that held it. */
static const char *logged(void)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t len = 0;

	if (file) {
		len = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[len] = '\0';
	(void)unlink(path);
	return text;
}

static bool enabled(enum fi_log_level level, enum fi_log_subsys subsys)
{
	return fi_log_enabled(&prov, level, subsys) != 0;
}

static void nothing_by_default(void)
{
	log_to_file(NULL);
	CHECK(!enabled(FI_LOG_WARN, FI_LOG_CORE));
	CHECK(!enabled(FI_LOG_DEBUG, FI_LOG_EQ));
	CHECK_STR(logged(), "");
}

static void levels_are_cumulative(void)
{
	log_to_file("trace");
	CHECK(enabled(FI_LOG_WARN, FI_LOG_CORE));
	CHECK(enabled(FI_LOG_TRACE, FI_LOG_CORE));
	CHECK(!enabled(FI_LOG_INFO, FI_LOG_CORE));
	(void)logged();
}

static void an_unknown_level_acts_as_warn(void)
{
	log_to_file("chatty");
	CHECK(enabled(FI_LOG_WARN, FI_LOG_CORE));
	CHECK(!enabled(FI_LOG_TRACE, FI_LOG_CORE));
	(void)logged();
}

static void providers_and_subsystems_filter(void)
{
	struct fi_provider other = { .name = "other" };

	log_to_file("info");
	CHECK_OK(setenv("FI_LOG_PROV", "^other", 1));
	CHECK_OK(setenv("FI_LOG_SUBSYS", "av,cq", 1));
	CHECK(enabled(FI_LOG_WARN, FI_LOG_AV));
	CHECK(enabled(FI_LOG_INFO, FI_LOG_CQ));
	CHECK(!enabled(FI_LOG_WARN, FI_LOG_EQ));
	CHECK(!fi_log_enabled(&other, FI_LOG_WARN, FI_LOG_AV));
	(void)logged();
}

static void lines_have_their_format(void)
{
	char prefix[64], tail[64];
	const char *text;

	NEED_API(2, 0);
	log_to_file("warn");
	FI_WARN(&prov, FI_LOG_CQ, "lost %d things\n", 3);
	text = logged();
	snprintf(prefix, sizeof(prefix), "libfabric:%d:", (int)getpid());
	snprintf(tail, sizeof(tail), ":conf:cq:%s():", __func__);
	CHECK(!strncmp(text, prefix, strlen(prefix)));
	CHECK(strstr(text, tail) != NULL);
	CHECK(strstr(text, "<warn> lost 3 things\n") != NULL);
}

static void the_file_is_private(void)
{
	struct stat info;

	NEED_API(2, 0);
	log_to_file("warn");
	FI_WARN(&prov, FI_LOG_CQ, "a line\n");
	CHECK_OK(stat(path, &info));
	CHECK_EQ(info.st_mode & 0777, 0600);
	(void)logged();
}

static void sparse_messages_come_once_in_a_while(void)
{
	uint64_t showtime = 0, other = 0;

	log_to_file("warn");
	CHECK_OK(setenv("FI_LOG_INTERVAL", "1000000", 1));
	CHECK(fi_log_ready(&prov, FI_LOG_WARN, FI_LOG_CQ, &showtime));
	CHECK(!fi_log_ready(&prov, FI_LOG_WARN, FI_LOG_CQ, &showtime));
	CHECK(fi_log_ready(&prov, FI_LOG_WARN, FI_LOG_CQ, &other));
	CHECK(!fi_log_ready(&prov, FI_LOG_INFO, FI_LOG_CQ, &(uint64_t){ 0 }));
	(void)logged();
}

/* ---- fi_open ---- */

static void only_known_names_open(void)
{
	struct fid *fid;

	NEED_API(1, 13);
	CHECK_EQ(fi_open(cf_target.version, "no such thing", NULL, 0, 0, &fid, NULL),
		-FI_ENOSYS);
	CHECK_EQ(fi_open(cf_target.version, "logging", NULL, 0, 1, &fid, NULL),
		-FI_EBADFLAGS);
	CHECK_OK(fi_open(cf_target.version, "LOGGING", NULL, 0, 0, &fid, NULL));
	CHECK_OK(fi_close(fid));
	CHECK_OK(fi_open(cf_target.version, "mr_cache", NULL, 0, 0, &fid, NULL));
	CHECK_OK(fi_close(fid));
}

static int messages;

static int always(const struct fi_provider *from, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	return level == FI_LOG_WARN;
}

static void count(const struct fi_provider *from, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	messages += strstr(msg, "counted") != NULL;
}

static void callbacks_replace_logging_until_closed(void)
{
	struct fi_ops_log ops = {
		.size = sizeof(ops), .enabled = always, .log = count
	};
	struct fid_logging logging = { .ops = &ops };

	NEED_API(1, 13);
	log_to_file(NULL);
	CHECK_OK(fi_import_log(cf_target.version, 0, &logging));
	FI_WARN(&prov, FI_LOG_CQ, "counted\n");
	CHECK_EQ(messages, 1);
	FI_INFO(&prov, FI_LOG_CQ, "counted\n");
	CHECK_EQ(messages, 1);
	CHECK_OK(fi_close(&logging.fid));
	FI_WARN(&prov, FI_LOG_CQ, "counted\n");
	CHECK_EQ(messages, 1);
	CHECK_STR(logged(), "");
}

CF_SUITE(log, CF_CASE(nothing_by_default, "PRV-036", 0),
	CF_CASE(levels_are_cumulative, "PRV-036 PRV-041", 0),
	CF_CASE(an_unknown_level_acts_as_warn, "PRV-036", 0),
	CF_CASE(providers_and_subsystems_filter, "PRV-037 PRV-041", 0),
	CF_CASE(lines_have_their_format, "PRV-038 PRV-040", 0),
	CF_CASE(the_file_is_private, "PRV-038 PRV-039", 0),
	CF_CASE(sparse_messages_come_once_in_a_while, "PRV-042", 0),
	CF_CASE(only_known_names_open, "PRV-044 PRV-045", 0),
	CF_CASE(callbacks_replace_logging_until_closed, "PRV-046 PRV-047 PRV-048", 0));
