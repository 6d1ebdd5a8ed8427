/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory and other users of the machine: they reach nothing of this one, and
 * what they put in its place is not used.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "confine.h"
#include "converse.h"

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
		{ "another_user_reaches_nothing", another_user_reaches_nothing, 60 },
		{ "the_directory_is_taken_by_another_user",
			the_directory_is_taken_by_another_user, 60 },
		{ "the_directory_of_another_user_goes",
			the_directory_of_another_user_goes, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
