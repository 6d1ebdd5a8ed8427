/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/providers/fi_log.h>

#include "config.h"
#include "core/elf_check.h"
#include "core/load.h"
#include "core/log/log.h"
#include "core/registry.h"
#include "sys/calls.h"
#include "sys/compiler.h"

/*
 * Provider libraries: finding, checking and opening them.
 *
 * Without FI_PROVIDER_PATH the loader path is searched for each name that the core
 * knows, then every *-fi.so of the default directory is loaded. If it is set, even
 * empty, only its entries are used; if it names no directory, the default directory is
 * used as well.
 *
 * Loading a library runs its code. A process with more rights than its user (AT_SECURE)
 * ignores the variable; such a process, and root, load only files that no user but root
 * and the process's own user could have written. Each file that is not loaded gets one
 * warning.
 */

#define SUFFIX "-" FI_LIB_SUFFIX

enum { NAME_SIZE = FI_NAME_MAX + 16 };

struct loader {
	/* Of several providers with one name the first one that is loaded is used, else
	 * the one with the highest version. */
	bool first_wins;
	bool suspicious;   /* Check owner and mode of files before they are loaded. */
	unsigned int dirs; /* number of directories that were searched */
};

static void load_refuse(const char *path, const char *why)
{
	FI_WARN(&wf_core_prov, FI_LOG_CORE, "provider library %s is not loaded: %s\n",
		path, why);
}

/* Could a user other than root and the process's own user have written the file? NULL:
 * no; else the reason as text. */
static const char *load_distrust(const struct loader *loader, const struct stat *st)
{
	if (!loader->suspicious)
		return NULL;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it, or its directory, belongs to another user";
	if (st->st_mode & S_IWOTH)
		return "everybody may write to it or to its directory";
	return NULL;
}

static const char *load_distrust_path(const struct loader *loader, const char *path)
{
	struct stat st;

	return stat(path, &st) ? strerror(errno) : load_distrust(loader, &st);
}

/* load_distrust() of the directory that contains the file, with symbolic links
 * resolved. */
static const char *load_distrust_home(const struct loader *loader, const char *path)
{
	CLEANUP(wf_free) char *real = realpath(path, NULL);

	if (!real)
		return strerror(errno);
	*(strrchr(real, '/') + 1) = '\0';
	return load_distrust_path(loader, real);
}

static const char *load_distrust_fd(const struct loader *loader, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a file";
	return load_distrust(loader, &st);
}

/* Check the file before dlopen runs its code. O_NONBLOCK: it might be a FIFO. */
static const char *load_file_defect(const struct loader *loader, const char *path)
{
	CLEANUP(wf_close) int fd = wf_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why;

	if (fd < 0)
		return strerror(errno);
	why = load_distrust_fd(loader, fd);
	if (!why)
		why = load_distrust_home(loader, path);
	if (!why)
		why = wf_elf_defect(fd);
	return why;
}

/* Register the provider of an open library. Takes ownership of @dl. */
static void load_register_library(
	const struct loader *loader, void *dl, const char *path, bool preferred)
{
	struct wf_prov_source source = { dl, path, preferred };
	struct fi_provider *(*ini)(void);
	struct fi_provider *prov;

	if (wf_registry_has_dl(dl)) {
		(void)dlclose(dl);
		return;
	}
	*(void **)&ini = dlsym(dl, "fi_prov_ini");
	if (!ini) {
		load_refuse(path, "it has no fi_prov_ini");
		(void)dlclose(dl);
		return;
	}
	prov = ini();
	if (!prov) {
		load_refuse(path, "its fi_prov_ini returned nothing");
		(void)dlclose(dl);
		return;
	}
	(void)wf_registry_add(prov, &source, loader->first_wins);
}

static void load_file(const struct loader *loader, const char *path, bool preferred)
{
	const char *why = load_file_defect(loader, path);
	void *dl = why ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (dl) {
		load_register_library(loader, dl, path, preferred);
		return;
	}
	if (!why)
		why = dlerror();
	if (preferred)
		wf_log_notice(&wf_core_prov,
			"FI_PROVIDER_PATH: %.256s is not loaded: %s", path, why);
	else
		load_refuse(path, why);
}

static void load_preferred(const struct loader *loader, const char *path)
{
	if (*path == '/')
		load_file(loader, path, true);
	else
		wf_log_notice(&wf_core_prov,
			"FI_PROVIDER_PATH: %.256s is not loaded: the path of a "
			"preferred "
			"provider must begin with /",
			path);
}

static int load_is_library(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len >= strlen(SUFFIX) &&
	       !strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX);
}

/* @named: FI_PROVIDER_PATH names @dir. A default directory may be missing without a
 * warning. */
static void load_dir(const struct loader *loader, const char *dir, bool named)
{
	const char *why = load_distrust_path(loader, dir);
	struct dirent **entries;
	char path[PATH_MAX];
	int count = 0;

	if (!why) {
		count = scandir(dir, &entries, load_is_library, alphasort);
		if (count < 0)
			why = strerror(errno);
	}
	if (why && named)
		wf_log_notice(&wf_core_prov,
			"FI_PROVIDER_PATH: no providers are loaded from %.256s: %s",
			dir, why);
	else if (why)
		FI_INFO(&wf_core_prov, FI_LOG_CORE,
			"no providers are loaded from %s: %s\n", dir, why);
	if (why)
		return;
	for (int i = 0; i < count; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) <
			(int)sizeof(path))
			load_file(loader, path, false);
		else
			load_refuse(entries[i]->d_name, "its path is too long");
		free(entries[i]);
	}
	free(entries);
}

#if !WF_RESTRICTED_DL
/* Log a library of the loader path that did not open. That there is none is normal, and
 * dlopen's error then names @file; the error of a damaged library names its path. */
static void load_log_loader_path(const char *file, const char *error)
{
	size_t len = strlen(file);

	if (strncmp(error, file, len) || error[len] != ':')
		load_refuse(file, error);
}

static void load_from_loader_path(const struct loader *loader)
{
	for (const struct wf_known_prov *known = wf_known_provs; known->name; known++) {
		char file[NAME_SIZE];
		void *dl;

		if (strchr(known->name, ';'))
			continue;
		(void)snprintf(file, sizeof(file), "lib%s" SUFFIX,
			wf_prov_short_name(known->name));
		dl = dlopen(file, RTLD_NOW | RTLD_LOCAL);
		if (dl)
			load_register_library(loader, dl, file, false);
		else
			load_log_loader_path(file, dlerror());
	}
}
#endif

/* One pass over the path: the preferred files in it, or the directories. */
static void load_elements(struct loader *loader, char *path, bool preferred)
{
	char *element;

	while ((element = strsep(&path, ":"))) {
		if (!*element || (*element == '+') != preferred)
			continue;
		if (preferred) {
			load_preferred(loader, element + 1);
		} else {
			loader->dirs++;
			load_dir(loader, element, true);
		}
	}
}

static void load_path(struct loader *loader, const char *path)
{
	static const bool passes[] = { true, false };

	/* Preferred files first, or one would already be loaded, without preference,
	 * when its directory is named as well. */
	for (size_t i = 0; i < WF_ARRAY_SIZE(passes); i++) {
		char *copy = strdup(path);

		load_elements(loader, copy, passes[i]);
		free(copy);
	}
}

/* FI_PROVIDER_PATH, or NULL if it is unset or the process must ignore it. */
static const char *load_provider_path(void)
{
	char *path;

	if (fi_param_get_str(NULL, "provider_path", &path))
		return NULL;
	if (!getauxval(AT_SECURE))
		return path;
	wf_log_notice(&wf_core_prov, "FI_PROVIDER_PATH is ignored: this program has "
				     "rights that its user has "
				     "not");
	return NULL;
}

bool wf_load_providers(void)
{
	struct loader loader = { .suspicious = geteuid() == 0 || getauxval(AT_SECURE) };
	const char *path = load_provider_path();

	if (path) {
		loader.first_wins = *path == '@';
		load_path(&loader, path + loader.first_wins);
	} else {
#if !WF_RESTRICTED_DL
		load_from_loader_path(&loader);
#endif
	}
	if (!loader.dirs)
		load_dir(&loader, WF_PROVIDER_DIR, false);
	return loader.first_wins;
}
