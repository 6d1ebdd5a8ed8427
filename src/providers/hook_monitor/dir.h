/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_DIR_H
#define WF_HOOK_MONITOR_DIR_H

/* The directory <basepath>/<user id>/<host name>, and the name of a file in it. */
struct mon_path {
	int dir; /* descriptor of the directory */
	char name[256];
};

/* Make the directories that are missing, and a new empty file for the provider
 * @prov_name. Returns its descriptor or a negative errno; @ret_what is a text
 * for what failed. mon_path_done frees @ret after a success. */
int mon_path_new(struct mon_path *ret, const char *prov_name, const char **ret_what);
void mon_path_done(struct mon_path *path);

/* Remove the file. The directory stays: other processes use it. */
void mon_path_remove(const struct mon_path *path);

#endif
