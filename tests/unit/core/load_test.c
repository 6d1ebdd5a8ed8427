/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/elf_check.h"
#include "core/load.h"
#include "sys/compiler.h"

/*
 * Which files are loaded, and what is said of the others. The dynamic loader, the user
 * and the rights of the process are those that the test plays (meson.build): a file that
 * is loaded has the handle and the provider of its name.
 */

const struct wf_known_prov wf_known_provs[] = { { "known" }, { "known;ofi_up" },
	{ NULL } };
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

static struct {
	uid_t user;
	bool secure;
	const char *error; /* of dlopen */
	char opened[1024]; /* the names that dlopen got */
	int closed;
	bool same; /* each library is the same one */
} played;

/* ---- the system ------------------------------------------------------------------ */

static int no_results(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	return -FI_ENODATA;
}

static struct fi_provider one = { .name = "one",
	.version = FI_VERSION(1, 0),
	.fi_version = FAKE_VERSION,
	.getinfo = no_results,
	.fabric = fake_fabric };
static struct fi_provider newer = { .name = "one",
	.version = FI_VERSION(1, 1),
	.fi_version = FAKE_VERSION,
	.getinfo = no_results,
	.fabric = fake_fabric };

static struct fi_provider *ini_one(void)
{
	return &one;
}

static struct fi_provider *ini_newer(void)
{
	return &newer;
}

static struct fi_provider *ini_none(void)
{
	return NULL;
}

#define PLAYED __attribute__((visibility("default")))
PLAYED void *__wrap_dlopen(const char *path, int flags);
PLAYED void *__wrap_dlsym(void *dl, const char *symbol);
void *__real_dlsym(void *dl, const char *symbol);
PLAYED int __wrap_dlclose(void *dl);
PLAYED char *__wrap_dlerror(void);
PLAYED uid_t __wrap_geteuid(void);
PLAYED unsigned long __wrap_getauxval(unsigned long type);

static char handles[2]; /* their addresses */

void *__wrap_dlopen(const char *path, int flags)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	assert_int_equal(flags, RTLD_NOW | RTLD_LOCAL);
	(void)strcat(strcat(played.opened, name), " ");
	if (played.error)
		return NULL;
	return played.same ? handles : strdup(name);
}

void *__wrap_dlsym(void *dl, const char *symbol)
{
	const char *name = dl;

	/* tests/unit/unlocking.c. */
	if (dl == RTLD_NEXT)
		return __real_dlsym(dl, symbol);
	assert_string_equal(symbol, "fi_prov_ini");
	if (!strncmp(name, "none", 4))
		return NULL;
	return !strncmp(name, "null", 4)    ? (void *)ini_none
	       : !strncmp(name, "newer", 5) ? (void *)ini_newer
					    : (void *)ini_one;
}

int __wrap_dlclose(void *dl)
{
	played.closed++;
	if (dl != handles)
		free(dl);
	return 0;
}

char *__wrap_dlerror(void)
{
	return (char *)(uintptr_t)played.error;
}

uid_t __wrap_geteuid(void)
{
	return played.user;
}

unsigned long __wrap_getauxval(unsigned long type)
{
	assert_int_equal(type, AT_SECURE);
	return played.secure;
}

/* ---- files ------------------------------------------------------------------------ */

static char dir[] = "/tmp/weft-load-XXXXXX";

static const char *path_of(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr part[2];
};

static struct image good_image(void)
{
	struct image image = {
		.head = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				ELFDATA2LSB },
			.e_type = ET_DYN,
#if defined(__x86_64__)
			.e_machine = EM_X86_64,
#else
			.e_machine = EM_AARCH64,
#endif
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
		},
		.part = { { .p_filesz = sizeof(struct image) },
			{ .p_offset = sizeof(struct image) } },
	};

	return image;
}

static void write_file(const char *name, const void *content, size_t len)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), len);
	(void)close(fd);
}

static void write_library(const char *name)
{
	struct image image = good_image();

	write_file(name, &image, sizeof(image));
}

static const char *defect_of(const struct image *image, size_t len)
{
	const char *defect;
	int fd;

	write_file("image", image, len);
	fd = open(path_of("image"), O_RDONLY);
	defect = wf_elf_defect(fd);
	(void)close(fd);
	(void)unlink(path_of("image"));
	return defect;
}

/* ---- tests ------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct fi_provider *const none[] = { NULL };

	memset(&played, 0, sizeof(played));
	played.user = 1000;
	wf_registry_done();
	fake_start(NULL, none);
	return setenv("FI_PROVIDER_PATH", dir, 1);
}

static int teardown(void **state)
{
	char command[64];

	wf_registry_done();
	(void)snprintf(command, sizeof(command), "rm -rf %s/*", dir);
	return system(command);
}

static struct fi_provider *found(const char *name)
{
	struct wf_prov_entry *entry =
		wf_registry_find(&(struct wf_layer){ name, strlen(name) });

	return entry ? entry->prov : NULL;
}

static void defects_of_images(void **state)
{
	struct image image = good_image();

	assert_null(defect_of(&image, sizeof(image)));
	assert_string_equal(wf_elf_defect(-1), "cannot be examined");
	assert_string_equal(defect_of(&image, 0), "not a shared library");
	assert_string_equal(
		defect_of(&image, sizeof(image.head) - 1), "not a shared library");
	image.head.e_ident[EI_MAG3] = 'f';
	assert_string_equal(defect_of(&image, sizeof(image)), "not a shared library");
	image = good_image();
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_string_equal(
		defect_of(&image, sizeof(image)), "made for another machine");
	image = good_image();
	image.head.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_string_equal(
		defect_of(&image, sizeof(image)), "made for another machine");
	image = good_image();
	image.head.e_machine = EM_386;
	assert_string_equal(
		defect_of(&image, sizeof(image)), "made for another machine");
	image = good_image();
	image.head.e_type = ET_EXEC;
	assert_string_equal(defect_of(&image, sizeof(image)), "not a shared library");
	image = good_image();
	image.head.e_phentsize++;
	assert_string_equal(defect_of(&image, sizeof(image)), "not a shared library");
	image = good_image();
	assert_string_equal(defect_of(&image, sizeof(image) - 1), "cut short");
	image.head.e_phoff = UINT64_MAX;
	assert_string_equal(defect_of(&image, sizeof(image)), "cut short");
	image = good_image();
	image.part[1].p_filesz = 1;
	assert_string_equal(defect_of(&image, sizeof(image)), "cut short");
	image = good_image();
	image.part[0].p_filesz++;
	assert_string_equal(defect_of(&image, sizeof(image)), "cut short");
	image.head.e_phnum = 0;
	assert_null(defect_of(&image, sizeof(image)));
}

#define assert_refused(name, why)                                                      \
	do {                                                                           \
		char text_[PATH_MAX + 128];                                            \
		(void)snprintf(text_, sizeof(text_),                                   \
			"warning core: provider library %s is not loaded: %s\n", name, \
			why);                                                          \
		assert_logged(text_);                                                  \
	} while (0)

/* PRV-019: of several the newest, or the first where the path begins with @. */
static void libraries_of_a_directory(void **state)
{
	char path[64];

	write_library("newer-fi.so");
	write_library("one-fi.so");
	write_library("one-fi.so.1");
	write_library("other.so");
	assert_false(wf_load_providers());
	assert_string_equal(played.opened, "newer-fi.so one-fi.so ");
	assert_ptr_equal(found("one"), &newer);
	assert_null(strstr(fake_logged, "is not loaded"));
	/* Nor was the default directory looked at. */
	assert_null(strstr(fake_logged, "no providers are loaded"));
	assert_int_equal(played.closed, 1);
	wf_registry_done();
	assert_int_equal(played.closed, 2);
	played.opened[0] = '\0';
	(void)snprintf(path, sizeof(path), "@:%s:", dir);
	(void)setenv("FI_PROVIDER_PATH", path, 1);
	write_library("a-fi.so");
	assert_true(wf_load_providers());
	assert_string_equal(played.opened, "a-fi.so newer-fi.so one-fi.so ");
	assert_ptr_equal(found("one"), &one);
}

static void empty_directory(void **state)
{
	assert_false(wf_load_providers());
	assert_string_equal(played.opened, "");
	assert_null(strstr(fake_logged, "no providers are loaded"));
}

static void libraries_that_are_none(void **state)
{
	write_file("text-fi.so", "text", 4);
	write_library("none-fi.so");
	write_library("null-fi.so");
	(void)mkdir(path_of("dir-fi.so"), 0700);
	assert_int_equal(symlink("/nonexistent", path_of("gone-fi.so")), 0);
	assert_false(wf_load_providers());
	assert_string_equal(played.opened, "none-fi.so null-fi.so ");
	assert_int_equal(played.closed, 2);
	assert_refused(path_of("text-fi.so"), "not a shared library");
	assert_refused(path_of("none-fi.so"), "it has no fi_prov_ini");
	assert_refused(path_of("null-fi.so"), "its fi_prov_ini returned nothing");
	assert_refused(path_of("dir-fi.so"), "not a file");
	assert_refused(path_of("gone-fi.so"), "No such file or directory");
	assert_null(found("one"));
}

static void the_loader_refuses(void **state)
{
	write_library("one-fi.so");
	played.error = "its libfoo.so.1 is missing";
	assert_false(wf_load_providers());
	assert_refused(path_of("one-fi.so"), played.error);
	assert_int_equal(played.closed, 0);
}

/* A library that is reached by two paths is one. */
static void the_same_library_twice(void **state)
{
	write_library("one-fi.so");
	write_library("two-fi.so");
	played.same = true;
	assert_false(wf_load_providers());
	assert_int_equal(played.closed, 1);
	assert_ptr_equal(found("one"), &one);
	wf_registry_done();
	assert_int_equal(played.closed, 2);
}

/* Root loads what no other user could have written. */
static void files_of_others(void **state)
{
	struct stat st;

	write_library("one-fi.so");
	write_library("open-fi.so");
	assert_int_equal(chmod(path_of("open-fi.so"), 0602), 0);
	assert_int_equal(stat(dir, &st), 0);
	played.user = 0;
	if (st.st_uid == 0) {
		assert_int_equal(chown(path_of("one-fi.so"), 1001, 0), 0);
		assert_false(wf_load_providers());
		assert_refused(path_of("one-fi.so"),
			"it, or its directory, belongs to another user");
		assert_refused(path_of("open-fi.so"),
			"everybody may write to it or to its directory");
		assert_string_equal(played.opened, "");
		assert_int_equal(chown(path_of("one-fi.so"), 0, 0), 0);
	} else {
		/* Its own files are those of another user for root. */
		assert_false(wf_load_providers());
		assert_string_equal(played.opened, "");
		played.secure = true;
		played.user = st.st_uid;
	}
	/* Any other user may do what he wants. */
	played.secure = false;
	played.user = 1000;
	assert_false(wf_load_providers());
	assert_string_equal(played.opened, "one-fi.so open-fi.so ");
}

static void directory_of_others(void **state)
{
	char text[PATH_MAX];
	struct stat st;

	write_library("one-fi.so");
	(void)mkdir(path_of("sub"), 0700);
	assert_int_equal(symlink(path_of("one-fi.so"), path_of("sub/one-fi.so")), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(chmod(dir, 0707), 0);
	(void)setenv("FI_PROVIDER_PATH", path_of("sub"), 1);
	played.user = st.st_uid;
	played.secure = true;
	/* A process with more rights does not believe the variable: the directory is
	 * the default one. */
	assert_false(wf_load_providers());
	assert_string_equal(played.opened + strlen(played.opened), "");
	assert_null(strstr(played.opened, "one-fi.so"));
	assert_logged("FI_PROVIDER_PATH is ignored: this program has rights that its "
		      "user has not");
	if (st.st_uid == 0) {
		played.secure = false;
		/* The directory in the path is safe, that of the file is not. */
		assert_false(wf_load_providers());
		assert_refused(path_of("sub/one-fi.so"),
			"everybody may write to it or to its directory");
		(void)setenv("FI_PROVIDER_PATH", dir, 1);
		assert_false(wf_load_providers());
		(void)snprintf(text, sizeof(text),
			"FI_PROVIDER_PATH: no providers are loaded from %s: everybody "
			"may write to it or to its directory",
			dir);
		assert_logged(text);
	}
	assert_int_equal(chmod(dir, 0700), 0);
}

static void preferred_files(void **state)
{
	char path[2 * PATH_MAX], text[PATH_MAX];

	write_library("one-fi.so");
	write_library("newer-fi.so");
	(void)snprintf(path, sizeof(path), "%s:+%s:+relative.so:+%s", dir,
		path_of("one-fi.so"), path_of("gone"));
	(void)setenv("FI_PROVIDER_PATH", path, 1);
	assert_false(wf_load_providers());
	assert_string_equal(played.opened, "one-fi.so newer-fi.so one-fi.so ");
	assert_ptr_equal(found("one"), &one);
	assert_logged("FI_PROVIDER_PATH: relative.so is not loaded: the path of a "
		      "preferred provider must begin with /");
	(void)snprintf(text, sizeof(text),
		"FI_PROVIDER_PATH: %s is not loaded: No such file or directory",
		path_of("gone"));
	assert_logged(text);
}

static void paths_that_cannot_be_read(void **state)
{
	char deep[PATH_MAX + 64], long_dir[PATH_MAX];
	size_t len;

	/* The directory is there, and the path of what is in it is too long. */
	(void)snprintf(long_dir, sizeof(long_dir), "%s/", dir);
	len = strlen(long_dir);
	memset(long_dir + len, '/', PATH_MAX - 8 - len);
	long_dir[PATH_MAX - 8] = '\0';
	write_library("one-fi.so");
	(void)setenv("FI_PROVIDER_PATH", long_dir, 1);
	assert_false(wf_load_providers());
	assert_refused("one-fi.so", "its path is too long");
	assert_string_equal(played.opened, "");
	(void)snprintf(deep, sizeof(deep), "%s/nothing", dir);
	(void)setenv("FI_PROVIDER_PATH", deep, 1);
	assert_false(wf_load_providers());
	assert_logged("FI_PROVIDER_PATH: no providers are loaded from ");
	assert_logged("/nothing: No such file or directory");
	/* What is no directory cannot be listed. */
	(void)snprintf(deep, sizeof(deep), "%s/one-fi.so", dir);
	(void)setenv("FI_PROVIDER_PATH", deep, 1);
	assert_false(wf_load_providers());
	assert_logged("/one-fi.so: Not a directory");
}

/* Without the variable, each name that is known is asked from the loader. */
static void loader_path(void **state)
{
	(void)unsetenv("FI_PROVIDER_PATH");
	played.error = "libknown-fi.so: cannot open shared object file";
	assert_false(wf_load_providers());
	assert_int_equal(strncmp(played.opened, "libknown-fi.so ", 15), 0);
	assert_null(strstr(fake_logged, "libknown-fi.so is not loaded"));
	played.error = "/usr/lib/libknown-fi.so: file too short";
	assert_false(wf_load_providers());
	assert_refused("libknown-fi.so", played.error);
	played.error = "libowner-fi.so: missing";
	assert_false(wf_load_providers());
	assert_refused("libknown-fi.so", played.error);
	played.error = "libknown-fi.so.2: missing";
	assert_false(wf_load_providers());
	assert_refused("libknown-fi.so", played.error);
	played.error = NULL;
	played.same = true;
	assert_false(wf_load_providers());
	assert_ptr_equal(found("one"), &one);
	assert_false(wf_registry_find(&(struct wf_layer){ "one", 3 })->preferred);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(defects_of_images),
		TEST(libraries_of_a_directory),
		TEST(empty_directory),
		TEST(libraries_that_are_none),
		TEST(the_loader_refuses),
		TEST(the_same_library_twice),
		TEST(files_of_others),
		TEST(directory_of_others),
		TEST(preferred_files),
		TEST(paths_that_cannot_be_read),
		TEST(loader_path),
	};
	int ret;

	if (!mkdtemp(dir))
		return 1;
	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(dir);
	return ret;
}
