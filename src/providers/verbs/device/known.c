/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/device/known.h"

#include <stdlib.h>
#include <string.h>

static struct verbs_device *known;

/* Would endpoints over both ports have the same templates? Names follow from the other
 * fields. */
static bool known_is_same(const struct verbs_device *a, const struct verbs_device *b)
{
	return !strcmp(a->name, b->name) && a->port == b->port &&
	       a->iwarp == b->iwarp && a->odp == b->odp &&
	       a->inline_size == b->inline_size &&
	       a->ud_inline_size == b->ud_inline_size &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid)) &&
	       !memcmp(&a->attr, &b->attr, sizeof(a->attr)) &&
	       !memcmp(&a->port_attr, &b->port_attr, sizeof(a->port_attr));
}

static struct verbs_device *known_add(const struct verbs_device *found)
{
	struct verbs_device *device = malloc(sizeof(*device));

	if (!device)
		return NULL;
	*device = *found;
	device->addrs = NULL;
	device->next = known;
	known = device;
	return device;
}

struct verbs_device *verbs_known_device(struct verbs_device *found)
{
	struct verbs_device *device = known;

	while (device && !known_is_same(device, found))
		device = device->next;
	if (!device) {
		device = known_add(found);
		if (device)
			return device;
	}
	verbs_device_done(found);
	return device;
}

static bool known_is_at(const struct verbs_addr *addr, const union wf_sockaddr *sa)
{
	if (!sa || addr->dgram)
		return !sa && addr->dgram;
	return wf_sockaddr_len(&addr->sa) == wf_sockaddr_len(sa) &&
	       !memcmp(&addr->sa, sa, wf_sockaddr_len(sa));
}

static void known_fill(struct verbs_addr *addr, const struct verbs_device *device,
	const union wf_sockaddr *sa)
{
	addr->dgram = !sa;
	if (sa) {
		addr->sa = *sa;
		verbs_template_msg(device,
			sa->sa.sa_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6,
			&addr->template);
	} else {
		verbs_template_dgram(device, &addr->template);
	}
}

const struct verbs_addr *verbs_known_addr(
	struct verbs_device *device, const union wf_sockaddr *sa)
{
	struct verbs_addr *addr = device->addrs;

	while (addr && !known_is_at(addr, sa))
		addr = addr->next;
	if (addr)
		return addr;
	addr = calloc(1, sizeof(*addr));
	if (!addr)
		return NULL;
	known_fill(addr, device, sa);
	addr->next = device->addrs;
	device->addrs = addr;
	return addr;
}

void verbs_known_done(void)
{
	while (known) {
		struct verbs_device *device = known;

		known = device->next;
		while (device->addrs) {
			struct verbs_addr *addr = device->addrs;

			device->addrs = addr->next;
			free(addr);
		}
		verbs_device_done(device);
		free(device);
	}
}
