/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory where something is forbidden or short: no cross-memory attach, other
 * namespaces, a small or full /dev/shm.
 */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "confine.h"
#include "converse.h"

/* Use it wherever it works, so that there is something to refuse. */
static void prefer_cma(void)
{
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

/* Endpoints that were opened in time; what their first connection needs is not
 * there. */
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

/* ---- what a connection needs is refused ---- */

struct listener {
	uint16_t number;
	bool few_descriptors;
	struct signal_pipe ready;
};

/* One more descriptor can be opened. */
static void leave_one_descriptor(void)
{
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit limit = { (rlim_t)lowest + 1, (rlim_t)lowest + 1 };

	CHECK(lowest >= 0 && !close(lowest));
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void listen_for_ever(void *arg)
{
	struct listener *l = arg;
	struct node node;

	node_open(&node, l->number);
	if (l->few_descriptors)
		leave_one_descriptor();
	pipe_tell(&l->ready);
	for (;;)
		(void)fi_cq_read(node.cq, NULL, 0);
}

/* A message to the listener from an endpoint that is open when @confine is called ends
 * in @wanted. */
static void refused_with(struct listener *l, void (*confine)(void), int wanted)
{
	static struct fi_context2 tx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	uint64_t word = 7;
	struct node node;
	pid_t pid;

	l->number = free_port();
	pipe_open(&l->ready);
	pid = child(listen_for_ever, l, 60);
	pipe_wait(&l->ready);
	node_open(&node, 0);
	if (confine)
		confine();
	CHECK(node_send(&node, node_peer(&node, l->number), &word, sizeof(word), 5, &tx,
		LIMIT_MS));
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == -1);
	CHECK(err.op_context == &tx);
	CHECK(err.err == wanted);
	node_close(&node);
	kill_and_reap(pid);
}

/* A limit of file sizes (ulimit -f) would end the process by SIGXFSZ. */
static void allow_short_files(void)
{
	struct rlimit limit = { 1 << 16, 1 << 16 };

	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

static void files_must_be_short(void)
{
	struct listener l = { .few_descriptors = false };

	refused_with(&l, allow_short_files, FI_ENOSPC);
}

/* Where no memory can be shared, shm is not offered; and where that is found out later,
 * operations end at once. */
static void no_files_in_memory(void)
{
	struct listener l = { .few_descriptors = false };
	struct node node;

	refused_with(&l, refuse_memory_files, EPERM);
	CHECK(node_try(&node, free_port(), 0) == -FI_ENODATA);
}

/* The peer has a descriptor for the socket, and none for the memory. */
static void no_descriptor_for_the_memory(void)
{
	struct listener l = { .few_descriptors = true };

	CHECK(!setenv("FI_SHM_CONNECT_TIMEOUT", "300", 1));
	refused_with(&l, NULL, FI_EMFILE);
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
		{ "files_must_be_short", files_must_be_short, 60 },
		{ "no_files_in_memory", no_files_in_memory, 60 },
		{ "no_descriptor_for_the_memory", no_descriptor_for_the_memory, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
