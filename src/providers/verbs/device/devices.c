/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/device/known.h"
#include "providers/verbs/param.h"
#include "sys/netif.h"

/*
 * The list of devices. The first call makes it; FI_RESCAN, and a change of this host's
 * Internet addresses, have the devices asked again. Callers may hold pointers to older
 * lists, so all lists that differ are kept until the library is unloaded; they share
 * unchanged entries (known.h).
 */

struct scan {
	struct wf_devices devices;   /* the list, as fi_getinfo gets it */
	struct verbs_device **found; /* the devices and ports behind it */
	size_t found_count;
	struct scan *older; /* the list before this one; NULL: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The latest list and, linked, the earlier ones; guarded by lock. */
static struct scan *latest;
/* The interfaces whose addresses are in the latest list; NULL: none. Guarded by
 * lock. */
static struct wf_netifs *interfaces;
static const struct wf_devices none;

static struct verbs_device *devices_find_port(
	const struct scan *scan, const char *name, uint8_t port)
{
	for (size_t i = 0; i < scan->found_count; i++)
		if (!strcmp(scan->found[i]->name, name) && scan->found[i]->port == port)
			return scan->found[i];
	return NULL;
}

/* Append the address @sa of the device to the list; NULL: the address of its datagram
 * endpoints. */
static int devices_add_addr(
	struct scan *scan, struct verbs_device *device, const union wf_sockaddr *sa)
{
	const struct verbs_addr *addr = verbs_known_addr(device, sa);
	size_t count = scan->devices.count;
	struct wf_device *list;

	if (!addr)
		return -FI_ENOMEM;
	list = realloc(
		(void *)(uintptr_t)scan->devices.list, (count + 1) * sizeof(*list));
	if (!list)
		return -FI_ENOMEM;
	list[count] = (struct wf_device){
		.fabric = device->fabric,
		.domain = sa ? device->msg_domain : device->dgram_domain,
		.templates = addr->template.list,
		.nic = device->nic,
		.addr = &addr->sa,
		.addr_len = sa ? wf_sockaddr_len(sa) : sizeof(addr->name),
	};
	scan->devices.list = list;
	scan->devices.count = count + 1;
	return 0;
}

static int devices_add_dgrams(struct scan *scan)
{
	int err = 0;

	for (size_t i = 0; i < scan->found_count && !err; i++)
		if (!scan->found[i]->iwarp)
			err = devices_add_addr(scan, scan->found[i], NULL);
	return err;
}

/* Add the Internet addresses of this host that belong to the devices. */
static int devices_add_addrs(struct scan *scan)
{
	int err;

	interfaces = wf_netifs_free(interfaces);
	err = wf_netifs_list(&interfaces);
	for (size_t i = 0; !err && i < interfaces->addr_count; i++) {
		const struct wf_netaddr *addr = &interfaces->addrs[i];
		const struct wf_netif *link = wf_netaddr_link(interfaces, addr);
		struct verbs_device *device = NULL;
		struct verbs_bound bound;

		if (link->kind == WF_NETIF_LOOPBACK ||
			!verbs_listed(verbs_params.ifaces, link->name))
			continue;
		if (verbs_addr_device(&addr->addr, &bound))
			device = devices_find_port(scan, bound.name, bound.port);
		if (device)
			err = devices_add_addr(scan, device, &addr->addr);
	}
	return err;
}

/* Does the host have other addresses than when the latest list was made? */
static bool devices_has_moved(void)
{
	struct wf_netifs *now;
	bool moved;

	if (!interfaces || wf_netifs_list(&now))
		return false;
	moved = !wf_netifs_same_addrs(interfaces, now);
	(void)wf_netifs_free(now);
	return moved;
}

static struct scan *devices_free_scan(struct scan *scan)
{
	struct scan *older = scan->older;

	free((void *)(uintptr_t)scan->devices.list);
	free(scan->found);
	free(scan);
	return older;
}

static int devices_find(struct scan *scan)
{
	struct verbs_device *found = NULL;
	size_t count = 0;
	int err = verbs_probe(&found, &count);

	if (count)
		scan->found = calloc(count, sizeof(struct verbs_device *));
	if (count && !scan->found)
		err = -FI_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct verbs_device *device = NULL;

		if (err)
			verbs_device_done(&found[i]);
		else
			device = verbs_known_device(&found[i]);
		if (device)
			scan->found[scan->found_count++] = device;
		else if (!err)
			err = -FI_ENOMEM;
	}
	free(found);
	return err;
}

static struct scan *devices_scan_all(void)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	int err;

	if (!scan)
		return NULL;
	scan->devices.resolve = verbs_resolve;
	scan->devices.addr_ok = verbs_addr_ok;
	scan->devices.addr_fits = verbs_addr_fits;
	if (!verbs_lib_any_device() || verbs_lib_load())
		return scan;
	err = devices_find(scan);
	if (!err && verbs_lib.has_rdma && scan->found_count)
		err = devices_add_addrs(scan);
	if (!err)
		err = devices_add_dgrams(scan);
	if (!err)
		return scan;
	verbs_log(FI_LOG_WARN, FI_LOG_CORE, "the devices cannot be listed: %s\n",
		fi_strerror(-err));
	(void)devices_free_scan(scan);
	return NULL;
}

/* Known addresses belong to a single port, so equal addresses mean equal devices. */
static bool devices_is_same(const struct scan *a, const struct scan *b)
{
	if (a->devices.count != b->devices.count || a->found_count != b->found_count)
		return false;
	for (size_t i = 0; i < a->devices.count; i++)
		if (a->devices.list[i].addr != b->devices.list[i].addr)
			return false;
	return !a->found_count ||
	       !memcmp(a->found, b->found,
		       a->found_count * sizeof(struct verbs_device *));
}

/* Make @scan the latest list, unless an earlier one is equal. */
static void devices_set_latest(struct scan *scan)
{
	struct scan **at = &latest, *before;

	while (*at && !devices_is_same(*at, scan))
		at = &(*at)->older;
	before = *at;
	if (before) {
		*at = before->older;
		(void)devices_free_scan(scan);
		scan = before;
	}
	scan->older = latest;
	latest = scan;
}

const struct wf_devices *verbs_devices(bool rescan)
{
	const struct wf_devices *devices;
	struct scan *scan;

	(void)pthread_mutex_lock(&lock);
	if (!latest || rescan || devices_has_moved()) {
		scan = devices_scan_all();
		if (scan)
			devices_set_latest(scan);
	}
	devices = latest ? &latest->devices : &none;
	(void)pthread_mutex_unlock(&lock);
	return devices;
}

void verbs_devices_done(void)
{
	while (latest)
		latest = devices_free_scan(latest);
	verbs_known_done();
	interfaces = wf_netifs_free(interfaces);
}

static bool devices_is_named(const struct verbs_device *device, const char *domain)
{
	return !strcmp(device->msg_domain, domain) ||
	       !strcmp(device->dgram_domain, domain);
}

const struct verbs_device *verbs_device_find(const char *domain)
{
	const struct verbs_device *ret = NULL;

	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; latest && i < latest->found_count && !ret; i++)
		if (devices_is_named(latest->found[i], domain))
			ret = latest->found[i];
	(void)pthread_mutex_unlock(&lock);
	return ret;
}

const struct verbs_device *verbs_device_at(const char *name, uint8_t port)
{
	const struct verbs_device *ret = NULL;

	(void)pthread_mutex_lock(&lock);
	if (latest)
		ret = devices_find_port(latest, name, port);
	(void)pthread_mutex_unlock(&lock);
	return ret;
}
