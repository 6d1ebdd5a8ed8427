/* SPDX-License-Identifier: BSD-2-Clause */
/* File descriptors that carry data without being visible: sockets, and connections that
 * are made and closed with addresses. */
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <rdma/fi_profile.h>

#include "suites.h"

static void the_socket_of_a_connection(void)
{
	char peer[256], theirs[256];
	socklen_t socklen = sizeof(peer);
	size_t len = sizeof(theirs);
	struct cf_env env;
	int fd = -1, ret;

	cf_open_pair(&env, NULL);
	CHECK_EQ(fi_control(&env.side[0].ep->fid, FI_GET_FD, NULL) >= 0, 0);
	ret = fi_control(&env.side[0].ep->fid, FI_GET_FD, &fd);
	if (cf_target.type != FI_EP_MSG) {
		CHECK_EQ(ret, -FI_ENOSYS);
		CHECK_EQ(fd, -1);
		cf_close(&env);
		return;
	}
	if (ret == -FI_ENOSYS)
		SKIP("connections are not sockets");
	CHECK_OK(ret);
	CHECK_OK(getpeername(fd, (struct sockaddr *)(void *)peer, &socklen));
	CHECK_OK(fi_getpeer(env.side[0].ep, theirs, &len));
	CHECK_EQ(socklen, len);
	CHECK(!memcmp(peer, theirs, len));
	cf_exchange(&env, 8);
	cf_close(&env);
}

static void no_socket_before_there_is_a_connection(void)
{
	struct cf_env env;
	struct fid_ep *ep;
	int fd = -1, ret;

	if (cf_target.type != FI_EP_MSG)
		SKIP("not a connected endpoint");
	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	ret = fi_control(&ep->fid, FI_GET_FD, &fd);
	if (ret == -FI_ENOSYS)
		SKIP("connections are not sockets");
	CHECK_EQ(ret, -FI_EOPBADSTATE);
	CHECK_EQ(fd, -1);
	CF_CLOSE(ep);
	cf_close(&env);
}

static int count_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat st;
	int count = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		count += !fstatat(dirfd(dir), entry->d_name, &st, 0) &&
			 S_ISSOCK(st.st_mode);
	closedir(dir);
	return count;
}

/* Sockets of the exchanges that identify peers are temporary. */
static int count_settled_sockets(void)
{
	enum { LOOKS = 100, SAME = 20 };
	int count = count_sockets();

	for (int i = 0, same = 0; i < LOOKS && same < SAME; i++) {
		int last = count;

		for (int j = 0; j < LOOKS; j++)
			cf_progress();
		count = count_sockets();
		same = count == last ? same + 1 : 0;
	}
	return count;
}

/* Both sides remove the other one and let progress do the rest. */
static int sockets_after_removal(struct cf_env *env)
{
	uint64_t deadline = cf_now_ms() + 200;
	struct fi_cq_data_entry entry;
	int before = count_settled_sockets();

	for (int i = 0; i < 2; i++)
		CHECK_OK(fi_av_remove(env->side[i].av, &env->side[i].peer, 1, 0));
	do {
		for (int i = 0; i < 2; i++)
			CHECK_EQ(fi_cq_read(env->side[i].rx_cq, &entry, 1), -FI_EAGAIN);
		cf_progress();
	} while (count_sockets() == before && cf_now_ms() < deadline);
	return count_sockets();
}

static void meet_again(struct cf_env *env)
{
	char name[256];

	for (int i = 0; i < 2; i++) {
		size_t len = sizeof(name);

		CHECK_OK(fi_getname(&env->side[!i].ep->fid, name, &len));
		CHECK_EQ(fi_av_insert(
				 env->side[i].av, name, 1, &env->side[i].peer, 0, NULL),
			1);
	}
}

static void cleanup(bool wanted)
{
	int before, after;
	struct cf_env env;

	cf_need_connectionless();
	CHECK_OK(setenv("FI_AV_REMOVE_CLEANUP", wanted ? "1" : "0", 1));
	cf_open_pair(&env, NULL);
	before = count_sockets();
	cf_exchange(&env, 8);
	if (count_sockets() == before) {
		cf_close(&env);
		SKIP("no connections that could be hidden");
	}
	before = count_settled_sockets();
	after = sockets_after_removal(&env);
	if (wanted)
		CHECK(after < before);
	else
		CHECK_EQ(after, before);
	meet_again(&env);
	cf_exchange(&env, 8);
	cf_close(&env);
}

static void a_connection_goes_with_its_address_when_asked_for(void)
{
	cleanup(true);
}

static void a_connection_outlives_its_address(void)
{
	cleanup(false);
}

/* Profiling is not supported, and the call says so. */
static void profiling_is_absent(void)
{
	struct fid_profile *profile = NULL;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	CHECK_EQ(fi_profile_open(&env.side[0].ep->fid, 0, &profile, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_profile_open(&env.domain->fid, 0, &profile, NULL), -FI_ENOSYS);
	CHECK(!profile);
	cf_close(&env);
}

CF_SUITE(hidden, CF_CASE(the_socket_of_a_connection, "OPT-020", FI_MSG),
	CF_CASE(no_socket_before_there_is_a_connection, "OPT-020", 0),
	CF_CASE(a_connection_goes_with_its_address_when_asked_for, "AV-033", 0),
	CF_CASE(a_connection_outlives_its_address, "AV-033", 0),
	CF_CASE(profiling_is_absent, "PXU-001", FI_MSG));
