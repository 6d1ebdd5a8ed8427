/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GI-037, GI-001: a process sees addresses that come and go while it runs, in a network
 * of its own.
 *
 * usage: moves PROVIDER...
 * Exit status 77: namespaces are not permitted here, or no provider is here.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/fabric.h>

#define ADDRESS "10.74.0.1"
/* The second address of the loopback device. */
#define LABEL "lo:1"

static int failed;

static void set_flags(int fd, const char *name, short flags)
{
	struct ifreq req = { .ifr_flags = flags };

	strcpy(req.ifr_name, name);
	if (ioctl(fd, SIOCSIFFLAGS, &req)) {
		perror(name);
		exit(77);
	}
}

static void add_address(int fd)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct ifreq req = { .ifr_name = LABEL };

	(void)inet_pton(AF_INET, ADDRESS, &sa.sin_addr);
	memcpy(&req.ifr_addr, &sa, sizeof(sa));
	if (ioctl(fd, SIOCSIFADDR, &req)) {
		perror("SIOCSIFADDR");
		exit(77);
	}
}

static struct fi_info *ask(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;

	hints->mode = ~0ULL;
	hints->domain_attr->mr_mode = ~3;
	hints->fabric_attr->prov_name = strdup(provider);
	(void)fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &list);
	fi_freeinfo(hints);
	return list;
}

static bool is_listed(const char *provider)
{
	struct fi_info *list = ask(provider);
	char text[INET_ADDRSTRLEN];
	bool found = false;

	for (const struct fi_info *it = list; it; it = it->next) {
		const struct sockaddr_in *sa = it->src_addr;

		if (it->addr_format == FI_SOCKADDR_IN && sa &&
			inet_ntop(AF_INET, &sa->sin_addr, text, sizeof(text)))
			found |= !strcmp(text, ADDRESS);
	}
	fi_freeinfo(list);
	return found;
}

static void is(const char *provider, const char *when, bool want)
{
	if (is_listed(provider) == want) {
		printf("ok - %s: %s\n", provider, when);
		return;
	}
	printf("not ok - %s: %s\n", provider, when);
	failed = 1;
}

static bool is_here(const char *provider)
{
	struct fi_info *list = ask(provider);

	fi_freeinfo(list);
	return list;
}

int main(int argc, char **argv)
{
	int fd, here = 0;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		perror("unshare");
		return 77;
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	set_flags(fd, "lo", IFF_UP);
	for (int i = 1; i < argc; i++) {
		if (!is_here(argv[i]))
			continue;
		here++;
		is(argv[i], "an address that is not there yet", false);
		add_address(fd);
		is(argv[i], "an address that came", true);
		set_flags(fd, LABEL, 0);
		is(argv[i], "an address that went", false);
	}
	(void)close(fd);
	return here ? failed : 77;
}
