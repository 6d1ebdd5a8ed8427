/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objects/local/proof.h"
#include "sys/calls.h"
#include "sys/machine.h"
#include "sys/sealed.h"

#define NAME "weft-tcp"
/* The directory of named shared memory. */
#define DIRECTORY "/dev/shm"

/* Changed with every change of a card, of a page, or of their use. */
#define LAYOUT UINT32_C(0x77540003)

/* Both ends have the same byte order, otherwise the feature is not agreed on. */
struct card {
	uint32_t layout;     /* LAYOUT; 0: there is no page */
	uint32_t uid;        /* effective user */
	uint8_t boot_id[16]; /* identity of the boot of the kernel */
	uint64_t pid_ns;     /* namespace in which @pid is valid */
	uint32_t pid;        /* process of the sender */
	int32_t fd;          /* descriptor of the page, in the process @pid */
};

static_assert(sizeof(struct card) == WF_PROOF_CARD, "wire layout");

static int proof_fill_directory(struct wf_page_head *head)
{
	struct stat st;

	if (stat(DIRECTORY, &st))
		return -errno;
	head->dir_device = (uint64_t)st.st_dev;
	head->dir_inode = (uint64_t)st.st_ino;
	return 0;
}

static int proof_fill_number(struct wf_proof *proof)
{
	do {
		if (wf_sys_getrandom(&proof->number, sizeof(proof->number), 0) !=
			sizeof(proof->number))
			return -EIO;
	} while (proof->number <= WF_PAGE_REFUSED);
	return 0;
}

/* Fill the fields that must be equal at both ends. 0 or a negative errno. */
static int proof_fill_common(struct card *card)
{
	int ret = wf_machine_boot_id(card->boot_id);

	card->layout = LAYOUT;
	card->uid = (uint32_t)geteuid();
	return ret ? ret : wf_machine_pid_ns(&card->pid_ns);
}

static int proof_make(
	struct wf_proof *proof, uint64_t instance, const char *name, struct card *card)
{
	struct wf_page_head *head;
	void *mem;
	int ret = proof_fill_common(card);

	if (!ret)
		ret = proof_fill_number(proof);
	if (!ret)
		ret = wf_sealed_new(NAME, sizeof(struct wf_page), &proof->fd, &mem);
	if (ret)
		return ret;
	proof->own = mem;
	head = &proof->own->head;
	head->number = proof->number;
	head->instance = instance;
	if (name && strlen(name) < sizeof(head->name))
		memcpy(head->name, name, strlen(name) + 1);
	card->pid = (uint32_t)getpid();
	card->fd = proof->fd;
	return proof_fill_directory(head);
}

int wf_proof_make(struct wf_proof *ret, uint64_t instance, const char *name,
	uint8_t ret_card[WF_PROOF_CARD])
{
	struct card card = { 0 };
	int err;

	*ret = (struct wf_proof){ .fd = -1 };
	err = proof_make(ret, instance, name, &card);
	if (err) {
		wf_proof_done(ret);
		card = (struct card){ 0 };
	}
	memcpy(ret_card, &card, sizeof(card));
	return err;
}

/* Can this process make the memory of a page? 0 or a negative errno. */
static int proof_try_memory(void)
{
	void *mem;
	int fd, ret = wf_sealed_new(NAME, sizeof(struct wf_page), &fd, &mem);

	if (ret)
		return ret;
	(void)munmap(mem, sizeof(struct wf_page));
	(void)wf_sys_close(fd);
	return 0;
}

int wf_proof_possible(const char **ret_want)
{
	struct wf_page_head head;
	uint8_t boot_id[16];
	uint64_t pid_ns;
	int ret;

	*ret_want = "the identity of the running kernel";
	ret = wf_machine_boot_id(boot_id);
	if (ret)
		return ret;
	*ret_want = "the process namespace";
	ret = wf_machine_pid_ns(&pid_ns);
	if (ret)
		return ret;
	*ret_want = DIRECTORY;
	ret = proof_fill_directory(&head);
	if (ret)
		return ret;
	*ret_want = "a memory file";
	return proof_try_memory();
}

/* The card contains a process id and a descriptor, so the fields that differ on another
 * machine are compared first. */
static enum wf_unreached proof_compare(const struct card *card)
{
	struct card own = { 0 };

	if (card->layout != LAYOUT || proof_fill_common(&own))
		return WF_UNREACHED_VERSION;
	if (memcmp(card->boot_id, own.boot_id, sizeof(own.boot_id)) != 0)
		return WF_UNREACHED_MACHINE;
	if (card->pid_ns != own.pid_ns)
		return WF_UNREACHED_NAMESPACE;
	return card->uid == own.uid ? WF_UNREACHED_NOT : WF_UNREACHED_USER;
}

static enum wf_unreached proof_judge(const struct wf_page_head *head, uint64_t instance)
{
	struct wf_page_head own = { 0 };

	if (head->number <= WF_PAGE_REFUSED || head->instance != instance)
		return WF_UNREACHED_STRANGER;
	if (proof_fill_directory(&own) || head->dir_device != own.dir_device ||
		head->dir_inode != own.dir_inode)
		return WF_UNREACHED_DIRECTORY;
	return memchr(head->name, 0, sizeof(head->name)) ? WF_UNREACHED_NOT
							 : WF_UNREACHED_NAME;
}

/* Map the page to which @card leads, and copy its head, because the other process may
 * write while it is examined. */
static enum wf_unreached proof_map_page(
	struct wf_proof *proof, const struct card *card, struct wf_page_head *ret_head)
{
	enum wf_unreached unreached = proof_compare(card);
	const void *mem;

	if (unreached)
		return unreached;
	if (wf_sealed_map(NAME, card->pid, card->fd, sizeof(struct wf_page), &mem))
		return WF_UNREACHED_UNREADABLE;
	proof->peer = mem;
	memcpy(ret_head, &proof->peer->head, sizeof(*ret_head));
	return WF_UNREACHED_NOT;
}

static void proof_forget_peer(struct wf_proof *proof)
{
	if (proof->peer)
		wf_sealed_unmap(proof->peer, sizeof(struct wf_page));
	proof->peer = NULL;
}

enum wf_unreached wf_proof_read(struct wf_proof *proof,
	const uint8_t bytes[WF_PROOF_CARD], uint64_t instance,
	char ret_name[WF_PROOF_NAME])
{
	enum wf_unreached unreached;
	struct card card;
	struct wf_page_head head;

	memcpy(&card, bytes, sizeof(card));
	unreached = proof_map_page(proof, &card, &head);
	if (!unreached)
		unreached = proof_judge(&head, instance);
	wf_page_prove(proof->own, unreached ? WF_PAGE_REFUSED : head.number);
	if (unreached)
		proof_forget_peer(proof);
	else
		memcpy(ret_name, head.name, sizeof(head.name));
	return unreached;
}

enum wf_verdict wf_proof_verdict(const struct wf_proof *proof)
{
	uint64_t number = wf_page_proof(proof->peer);

	if (!number)
		return WF_VERDICT_NONE;
	if (number == WF_PAGE_REFUSED)
		return WF_VERDICT_REFUSAL;
	return number == proof->number ? WF_VERDICT_PROOF : WF_VERDICT_WRONG;
}

void wf_proof_hide(struct wf_proof *proof)
{
	if (proof->fd >= 0)
		(void)wf_sys_close(proof->fd);
	proof->fd = -1;
}

void wf_proof_done(struct wf_proof *proof)
{
	wf_proof_hide(proof);
	proof_forget_peer(proof);
	if (proof->own)
		wf_sealed_unmap(proof->own, sizeof(struct wf_page));
	proof->own = NULL;
}

const char *wf_unreached_text(enum wf_unreached unreached)
{
	static const char *const text[WF_UNREACHED_COUNT] = {
		[WF_UNREACHED_NOT] = "shared memory is reached",
		[WF_UNREACHED_VERSION] = "another version, or no proof can be made",
		[WF_UNREACHED_MACHINE] = "another machine",
		[WF_UNREACHED_NAMESPACE] = "another process namespace",
		[WF_UNREACHED_USER] = "another user",
		[WF_UNREACHED_UNREADABLE] = "its memory cannot be read",
		[WF_UNREACHED_STRANGER] = "that memory is not its own",
		[WF_UNREACHED_DIRECTORY] = "another directory of shared memory",
		[WF_UNREACHED_NAME] = "its name there is invalid",
		[WF_UNREACHED_FAILED] = "shared memory is not usable for it",
		[WF_UNREACHED_REFUSED] = "the peer cannot reach this process",
	};

	return text[unreached];
}
