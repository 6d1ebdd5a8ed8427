/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_REFUSED_POSTS_H
#define TESTS_REFUSED_POSTS_H

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* What a loadable provider of the tests counts, and what it refuses: the variable that
 * it exports. */
enum post_kind { POST_SEND, POST_INJECT, POST_RECV, POST_READ, POST_WRITE, POST_KINDS };

struct posts {
	/* Posts since the test set them to 0, and those of each kind: also of the
	 * library's thread. */
	atomic_uint count, of_kind[POST_KINDS];
	/* Posts from number @from on, @length of them, are refused with @err, a
	 * negative fi_errno. The first one has the number 1. */
	unsigned int from, length;
	int err;
	/* Messages for which the peer had no receive, where that is counted. */
	unsigned int overruns;
};

/* Regions that were registered, and those that are still open; exported as
 * "<name>_regions" by a provider that counts them. */
struct region_counts {
	unsigned int made, open;
};

/* Counts a post. 0, or the error that it is refused with. */
static inline int posts_refused(struct posts *posts, enum post_kind kind)
{
	unsigned int number = ++posts->count;

	posts->of_kind[kind]++;
	return number - posts->from < posts->length ? posts->err : 0;
}

/* The variable "<name>_<what>" of the provider @name in the directory @dir, where
 * fi_getinfo finds the provider from now on. NULL: there is none. */
static inline void *exported(const char *dir, const char *name, const char *what)
{
	char path[PATH_MAX], symbol[64];
	void *module;

	setenv("FI_PROVIDER_PATH", dir, 1);
	(void)snprintf(path, sizeof(path), "%s/lib%s-fi.so", dir, name);
	(void)snprintf(symbol, sizeof(symbol), "%s_%s", name, what);
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return module ? dlsym(module, symbol) : NULL;
}

#endif
