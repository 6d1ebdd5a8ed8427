/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory where something is forbidden or short: no cross-memory attach, other
 * namespaces, a small or full /dev/shm, other users.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "confine.h"
#include "converse.h"

/* Use it wherever it works, so that there is something to refuse; as FI_SHM_COPY says,
 * if that is set. */
static void prefer_cma(void)
{
	if (getenv("FI_SHM_COPY"))
		return;
	CHECK(!setenv("FI_SHM_CMA_SIZE", "4097", 1));
}

/* ---- cross-memory attach ---- */

static void all_is_permitted(void)
{
	prefer_cma();
	converse_in_two(NULL);
}

static void refuse_0(unsigned int me)
{
	if (me == 0)
		refuse_cma();
}

static void refuse_1(unsigned int me)
{
	if (me == 1)
		refuse_cma();
}

static void refuse_both(unsigned int me)
{
	(void)me;
	refuse_cma();
}

static void cma_refused_by_a_filter(void)
{
	prefer_cma();
	converse_in_two(refuse_0);
	converse_in_two(refuse_1);
	converse_in_two(refuse_both);
}

/* From the middle of a conversation on. */
struct late {
	uint16_t numbers[2];
	unsigned int me;
};

static void refused_later(void *arg)
{
	const struct late *late = arg;
	struct partner p;

	partner_open(&p, late->me, late->numbers);
	converse(&p);
	if (late->me)
		refuse_cma();
	converse(&p);
	converse(&p);
	partner_close(&p);
}

static void cma_refused_later(void)
{
	struct late late = { .me = 0 };
	pid_t pids[2];

	prefer_cma();
	different_ports(late.numbers, 2);
	for (; late.me < 2; late.me++)
		pids[late.me] = child(refused_later, &late, 60);
	for (int i = 0; i < 2; i++)
		join(pids[i]);
}

/* No process without privileges may read its memory, as with Yama and set-user-id
 * programs. */
static void undumpable(unsigned int me)
{
	(void)me;
	if (geteuid() == 0)
		become_nobody();
	CHECK(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static void undumpable_0(unsigned int me)
{
	if (geteuid() == 0)
		become_nobody();
	CHECK(!prctl(PR_SET_DUMPABLE, me, 0, 0, 0));
}

static void processes_not_to_be_attached_to(void)
{
	if (geteuid() == 0)
		need_permitted(become_nobody);
	prefer_cma();
	converse_in_two(undumpable);
	converse_in_two(undumpable_0);
}

static void user_namespace_of_0(unsigned int me)
{
	if (me == 0)
		own_user_namespace();
}

static void other_user_namespace(void)
{
	need_permitted(own_user_namespace);
	prefer_cma();
	converse_in_two(user_namespace_of_0);
}

/* ---- process namespaces ---- */

struct island {
	struct signal_pipe ready;
	struct partner p;
	unsigned int me;
	uint16_t numbers[2];
};

static void inhabitant(void *arg)
{
	struct island *island = arg;

	partner_open(&island->p, island->me, island->numbers);
	converse(&island->p);
	partner_close(&island->p);
}

static void islander(void *arg)
{
	in_pid_namespace(inhabitant, arg);
}

static void join_or_skip(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("no process namespaces");
	CHECK(status == 0);
}

static void two_process_namespaces(unsigned int count)
{
	static struct island island;
	pid_t pids[2];

	prefer_cma();
	different_ports(island.numbers, 2);
	for (island.me = 0; island.me < 2; island.me++)
		pids[island.me] =
			child(island.me < count ? islander : inhabitant, &island, 60);
	for (int i = 0; i < 2; i++)
		join_or_skip(pids[i]);
}

static void another_process_namespace(void)
{
	two_process_namespaces(1);
}

static void sibling_process_namespaces(void)
{
	two_process_namespaces(2);
}

/* Both are process 1, and both let the provider make up a name. */
struct made_up {
	struct signal_pipe opened, go;
};

static void name_made_up(void *arg)
{
	struct made_up *m = arg;
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;

	CHECK(hints);
	hints->fabric_attr->prov_name = strdup("shm");
	hints->ep_attr->type = FI_EP_RDM;
	CHECK_OK(fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info));
	CHECK_OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	CHECK_OK(fi_domain(fabric, info, &domain, NULL));
	CHECK_OK(fi_av_open(domain, &av_attr, &av, NULL));
	CHECK_OK(fi_cq_open(domain, &cq_attr, &cq, NULL));
	CHECK_OK(fi_endpoint(domain, info, &ep, NULL));
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_enable(ep));
	pipe_tell(&m->opened);
	pipe_wait(&m->go);
	CHECK_OK(fi_close(&ep->fid));
	CHECK_OK(fi_close(&cq->fid));
	CHECK_OK(fi_close(&av->fid));
	CHECK_OK(fi_close(&domain->fid));
	CHECK_OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void island_with_made_up_name(void *arg)
{
	in_pid_namespace(name_made_up, arg);
}

static void names_made_up_by_like_processes(void)
{
	struct made_up m;
	pid_t pids[2];

	pipe_open(&m.opened);
	pipe_open(&m.go);
	for (int i = 0; i < 2; i++)
		pids[i] = child(island_with_made_up_name, &m, 60);
	for (int i = 0; i < 2; i++)
		while (!pipe_told(&m.opened)) {
			int status;

			if (waitpid(pids[i], &status, WNOHANG) == 0)
				continue;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
				skip("no process namespaces");
			CHECK(!"ended early");
		}
	for (int i = 0; i < 2; i++)
		pipe_wait(&m.opened);
	for (int i = 0; i < 2; i++)
		pipe_tell(&m.go);
	for (int i = 0; i < 2; i++)
		join(pids[i]);
}

/* ---- /dev/shm ---- */

static bool may_be_short(int err)
{
	return err == -FI_ENOSPC || err == -FI_ENOMEM || err == -FI_ENODATA;
}

enum { REFUSED = 3 };

/* May two be open at once? */
static void visit(void *arg)
{
	const uint16_t *numbers = arg;
	struct node nodes[2];

	for (int i = 0; i < 2; i++) {
		int ret = node_try(&nodes[i], numbers[i], CONVERSE_CAPS);

		if (!ret)
			continue;
		if (!may_be_short(ret))
			fprintf(stderr, "%s\n", fi_strerror(-ret));
		CHECK(may_be_short(ret));
		exit(REFUSED);
	}
	for (int i = 0; i < 2; i++)
		node_close(&nodes[i]);
}

/* An honest error at once, or it works. */
static void try_there(void)
{
	uint16_t numbers[2];
	int status;
	pid_t pid;

	different_ports(numbers, 2);
	pid = child(visit, numbers, 30);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == REFUSED);
	if (WEXITSTATUS(status) == 0)
		converse_in_two(NULL);
	printf("# %s\n", status ? "refused" : "works");
}

static void in_shm_of(const char *options)
{
	pid_t pid;
	int status;

	printf("# %s\n", options);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		(void)alarm(limit_s(60));
		own_shm(options);
		try_there();
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("no mounts");
	CHECK(status == 0);
}

static void a_tiny_dev_shm(void)
{
	static const char *const options[] = { "size=4k", "size=64k", "size=1m",
		"nr_inodes=1", "nr_inodes=2", "nr_inodes=3", "nr_inodes=4" };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		in_shm_of(options[i]);
}

/* No block is left, in the whole and but for a few. */
static void a_full_dev_shm(void)
{
	static char block[4096];
	int fd;

	own_shm("size=1m");
	fd = open("/dev/shm/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	for (off_t keep = 1 << 20; keep >= 0; keep -= 1 << 17) {
		(void)ftruncate(fd, keep);
		try_there();
	}
	close(fd);
}

static void fill_up(void)
{
	static char block[1 << 16];
	int fd = open("/dev/shm/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	close(fd);
}

struct filler {
	uint16_t numbers[2];
	unsigned int me;
	struct signal_pipe opened, full;
};

static void talk_when_full(void *arg)
{
	struct filler *f = arg;
	struct partner p;

	partner_open(&p, f->me, f->numbers);
	pipe_tell(&f->opened);
	pipe_wait(&f->full);
	converse(&p);
	partner_close(&p);
}

/* Endpoints that were opened in time; what their first connection needs is not there.
 */
static void dev_shm_fills_up(void)
{
	struct filler f = { .me = 0 };
	pid_t pids[2];

	own_shm("size=1m");
	pipe_open(&f.opened);
	pipe_open(&f.full);
	different_ports(f.numbers, 2);
	for (; f.me < 2; f.me++)
		pids[f.me] = child(talk_when_full, &f, 60);
	for (int i = 0; i < 2; i++)
		pipe_wait(&f.opened);
	fill_up();
	for (int i = 0; i < 2; i++)
		pipe_tell(&f.full);
	for (int i = 0; i < 2; i++)
		join(pids[i]);
}

/* Nothing can be written there, or there is nothing there. */
static void no_dev_shm(void)
{
	own_shm("ro");
	try_there();
}

/* ---- other users ---- */

struct owner {
	uint16_t number;
	struct signal_pipe done;
};

/* Everything that a path leads to: may we open or connect to it? */
static bool reaches(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (lstat(path, &st))
		return false;
	if (S_ISDIR(st.st_mode)) {
		DIR *dir = opendir(path);
		struct dirent *entry;
		bool any = false;

		while (dir && (entry = readdir(dir))) {
			char below[512];

			snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
			if (strcmp(entry->d_name, ".") != 0 &&
				strcmp(entry->d_name, "..") != 0)
				any = reaches(below) || any;
		}
		if (dir)
			closedir(dir);
		return any;
	}
	if (S_ISSOCK(st.st_mode)) {
		snprintf(addr.sun_path, sizeof(addr.sun_path), "%.100s", path);
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
			close(fd);
			fd = -1;
		}
	} else {
		fd = open(path, O_RDWR | O_NONBLOCK);
		if (fd < 0)
			fd = open(path, O_RDONLY | O_NONBLOCK);
	}
	if (fd < 0)
		return false;
	close(fd);
	fprintf(stderr, "reached: %s\n", path);
	return true;
}

/* What only root could prepare: the same names under which root's files are. */
static char paths[64][512];
static int path_count;

static void note_paths(const char *top)
{
	DIR *dir = opendir(top);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[512];
		struct stat st;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", top, entry->d_name);
		CHECK(path_count < 64 && !lstat(path, &st));
		snprintf(paths[path_count++], sizeof(paths[0]), "%s", path);
		if (S_ISDIR(st.st_mode))
			note_paths(path);
	}
	if (dir)
		closedir(dir);
}

static void intruder(void *arg)
{
	struct owner *owner = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx;
	struct node node;
	uint32_t word = 666;
	char fds[64];
	fi_addr_t to;

	become_nobody();
	for (int i = 0; i < path_count; i++)
		CHECK(!reaches(paths[i]));
	snprintf(fds, sizeof(fds), "/proc/%d/fd", (int)getppid());
	CHECK(!reaches(fds));
	snprintf(fds, sizeof(fds), "/proc/%d/map_files", (int)getppid());
	CHECK(!reaches(fds));
	/* Through the provider: for this user no endpoint has that name. */
	node_open(&node, 0);
	to = node_peer(&node, owner->number);
	if (node_send(&node, to, &word, sizeof(word), 7, &tx, 5000)) {
		CHECK(node_wait(&node, &entry, &err, 10000) == -1);
		CHECK(err.op_context == &tx && err.err > 0);
	}
	node_close(&node);
	/* The same name does not disturb the endpoint that has it. */
	node_open(&node, owner->number);
	node_close(&node);
	pipe_tell(&owner->done);
}

static void owner_and_peer(struct node nodes[2], fi_addr_t *to)
{
	node_open(&nodes[0], 0);
	node_open(&nodes[1], 0);
	*to = node_peer(&nodes[1], node_port(&nodes[0]));
}

static void say_hello(struct node nodes[2], fi_addr_t to, uint32_t value, uint32_t *in)
{
	uint64_t deadline = now_ms() + 10000;
	static struct fi_context2 tx;
	struct fi_cq_tagged_entry entry;
	bool sent = false, received = false;

	CHECK(node_send(&nodes[1], to, &value, sizeof(value), 7, &tx, 5000));
	while (!sent || !received) {
		CHECK(now_ms() < deadline);
		sent = sent || fi_cq_read(nodes[1].cq, &entry, 1) == 1;
		received = received || fi_cq_read(nodes[0].cq, &entry, 1) == 1;
	}
	CHECK(*in == value);
}

static void another_user_reaches_nothing(void)
{
	struct owner owner;
	struct node nodes[2];
	static struct fi_context2 rx;
	uint32_t in = 0;
	fi_addr_t to;
	pid_t pid;

	if (geteuid() != 0)
		skip("needs root to become another user");
	own_shm(NULL);
	CHECK(!setenv("FI_SHM_CONNECT_TIMEOUT", "500", 1));
	owner_and_peer(nodes, &to);
	owner.number = node_port(&nodes[0]);
	pipe_open(&owner.done);
	/* A connection is open, and a message is what the intruder would send. */
	node_receive_exact(&nodes[0], &in, sizeof(in), 7, &rx);
	say_hello(nodes, to, 1, &in);
	node_receive_exact(&nodes[0], &in, sizeof(in), 7, &rx);
	note_paths("/dev/shm");
	note_paths("/tmp");
	CHECK(path_count > 0);
	pid = child(intruder, &owner, 60);
	node_drive_until(&nodes[0], &owner.done);
	join(pid);
	CHECK(in == 1);
	say_hello(nodes, to, 2, &in);
	node_close(&nodes[0]);
	node_close(&nodes[1]);
}

/* Another user made the directory that would be ours, and can write there. */
static void squat(void *arg)
{
	const char *path = arg;

	become_nobody();
	CHECK(!mkdir(path, 0777) && !chmod(path, 0777));
}

/* The path of the directory when none is taken. */
static void directory(char path[512])
{
	struct node node;

	path_count = 0;
	node_open(&node, 0);
	note_paths("/dev/shm");
	node_close(&node);
	/* The outermost came first. */
	CHECK(path_count > 0 && !anything_left());
	memcpy(path, paths[0], sizeof(paths[0]));
}

static void in_own_network(unsigned int me)
{
	if (me && unshare(CLONE_NEWNET))
		skip("no network namespaces");
}

/* Environments differ, too. */
static void in_another_environment(unsigned int me)
{
	CHECK(!setenv("XDG_RUNTIME_DIR", me ? "/tmp/a" : "/tmp/b", 1));
	CHECK(me || !unsetenv("XDG_RUNTIME_DIR"));
}

/* Processes find each other all the same, also those that start at the same time, and
 * in other namespaces; and they leave nothing. */
static void the_directory_is_taken_by_another_user(void)
{
	static char path[512];

	if (geteuid() != 0)
		skip("needs root to become another user");
	own_shm(NULL);
	directory(path);
	join(child(squat, path, 30));
	for (int i = 0; i < 5; i++)
		converse_in_two(NULL);
	converse_in_two(in_own_network);
	converse_in_two(in_another_environment);
	path_count = 0;
	note_paths("/dev/shm");
	CHECK(path_count == 1 && !strcmp(paths[0], path));
}

struct late_squat {
	struct signal_pipe taken;
	uint16_t numbers[2];
};

static void meets_later(void *arg)
{
	struct late_squat *late = arg;
	struct partner p;

	pipe_wait(&late->taken);
	partner_open(&p, 1, late->numbers);
	converse(&p);
	partner_close(&p);
}

/* The directory of another user is removed while this user's, with another name, is in
 * use: endpoints that are opened then find those that were opened before. */
static void the_directory_of_another_user_goes(void)
{
	static char path[512];
	struct late_squat late;
	struct partner p;
	pid_t pid;

	if (geteuid() != 0)
		skip("needs root to become another user");
	own_shm(NULL);
	directory(path);
	join(child(squat, path, 30));
	different_ports(late.numbers, 2);
	pipe_open(&late.taken);
	pid = child(meets_later, &late, 60);
	partner_open(&p, 0, late.numbers);
	CHECK(!rmdir(path) && !mkdir(path, 0700));
	pipe_tell(&late.taken);
	converse(&p);
	partner_close(&p);
	join(pid);
	CHECK(!anything_left());
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "all_is_permitted", all_is_permitted, 60 },
		{ "cma_refused_by_a_filter", cma_refused_by_a_filter, 120 },
		{ "cma_refused_later", cma_refused_later, 60 },
		{ "processes_not_to_be_attached_to", processes_not_to_be_attached_to,
			60 },
		{ "other_user_namespace", other_user_namespace, 60 },
		{ "another_process_namespace", another_process_namespace, 60 },
		{ "sibling_process_namespaces", sibling_process_namespaces, 60 },
		{ "names_made_up_by_like_processes", names_made_up_by_like_processes,
			60 },
		{ "a_tiny_dev_shm", a_tiny_dev_shm, 120 },
		{ "a_full_dev_shm", a_full_dev_shm, 120 },
		{ "dev_shm_fills_up", dev_shm_fills_up, 60 },
		{ "no_dev_shm", no_dev_shm, 60 },
		{ "another_user_reaches_nothing", another_user_reaches_nothing, 60 },
		{ "the_directory_is_taken_by_another_user",
			the_directory_is_taken_by_another_user, 60 },
		{ "the_directory_of_another_user_goes",
			the_directory_of_another_user_goes, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
