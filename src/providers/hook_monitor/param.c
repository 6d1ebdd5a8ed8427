/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/param.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "objects/notice.h"
#include "providers/hook_monitor/monitor.h"

#define DEFAULT_BASEPATH "/dev/shm/ofi"

enum {
	DIR_MODE = 01700,
	FILE_MODE = 0600,
	MODE_MAX = 07777,
	TICK_MAX = 1024,
};

struct mon_params mon_params = {
	.basepath = DEFAULT_BASEPATH,
	.dir_mode = DIR_MODE,
	.file_mode = FILE_MODE,
	.tick_max = TICK_MAX,
};

/* A value outside of the range is logged and ignored. */
static void param_read_int(const char *name, int max, int *value, const char *help)
{
	int given;
	char var[64];

	(void)fi_param_define(&mon_fi, name, FI_PARAM_INT, "%s", help);
	if (fi_param_get_int(&mon_fi, name, &given))
		return;
	if (given < 0 || given > max)
		wf_notice(&mon_fi, "%s is %d: possible 0 to %d; %d is used",
			wf_notice_var(&mon_fi, name, var, sizeof(var)), given, max,
			*value);
	else
		*value = given;
}

/* Memory of basepath, if it was given. */
static char *own_basepath;

static void param_read_basepath(void)
{
	char *given = NULL;

	(void)fi_param_define(&mon_fi, "basepath", FI_PARAM_STRING,
		"Directory below which the files for fi_mon_sampler are, in "
		"<user id>/<host name> (default: " DEFAULT_BASEPATH ")");
	if (!fi_param_get_str(&mon_fi, "basepath", &given) && given && *given)
		own_basepath = strdup(given);
	if (own_basepath)
		mon_params.basepath = own_basepath;
}

void mon_params_read(void)
{
	param_read_basepath();
	param_read_int("dir_mode", MODE_MAX, &mon_params.dir_mode,
		"Permissions of the directories for files (default: 01700)");
	param_read_int("file_mode", MODE_MAX, &mon_params.file_mode,
		"Permissions of the files (default: 0600)");
	param_read_int("tick_max", 1 << 30, &mon_params.tick_max,
		"Counted calls of a thread after which it looks whether a sample is "
		"wanted (default: 1024)");
	(void)fi_param_define(&mon_fi, "linger", FI_PARAM_BOOL,
		"Keep the files when the fabric is closed or the process ends "
		"(default: no)");
	(void)fi_param_get_bool(&mon_fi, "linger", &mon_params.linger);
}

void mon_params_done(void)
{
	free(own_basepath);
	own_basepath = NULL;
	mon_params.basepath = DEFAULT_BASEPATH;
}
