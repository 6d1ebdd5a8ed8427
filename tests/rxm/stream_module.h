/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_STREAM_MODULE_H
#define RXM_STREAM_MODULE_H

/* What stream_module.c counts, and what it refuses; found by dlsym(3) as
 * "testmsg_posts". */
enum post_kind { POST_SEND, POST_INJECT, POST_RECV, POST_READ, POST_WRITE, POST_KINDS };

struct posts {
	/* Posts since the test set them to 0, and those of each kind. */
	unsigned int count, of_kind[POST_KINDS];
	/* Posts from number @from on, @length of them, are refused with @err, a
	 * negative fi_errno. The first one has the number 1. */
	unsigned int from, length;
	int err;
};

#endif
