/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/device/device.h"
#include "providers/verbs/device/template.h"
#include "providers/verbs/param.h"
#include "providers/verbs/ud/ud.h"
#include "sys/netif.h"

/*
 * The list of devices. It is made at the first question; FI_RESCAN makes another one.
 * As open objects and callers may refer to older lists, all are kept until the library
 * is unloaded.
 */

/* An entry of the list: an Internet address of a device for connections, or the address
 * of datagram endpoints, of which the device chooses the most. */
struct at {
	union {
		union wf_sockaddr addr;
		struct verbs_ud_name name;
	};
	struct verbs_template template;
};

struct scan {
	struct wf_devices devices;
	struct verbs_device *found;
	size_t found_count;
	struct at **addrs; /* as many as devices.list */
	struct scan *older;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct scan *latest; /* guarded by lock */
static const struct wf_devices none;

static const struct verbs_device *find_port(
	const struct scan *scan, const char *name, uint8_t port)
{
	for (size_t i = 0; i < scan->found_count; i++)
		if (!strcmp(scan->found[i].name, name) && scan->found[i].port == port)
			return &scan->found[i];
	return NULL;
}

static int grow(struct scan *scan)
{
	size_t count = scan->devices.count + 1;
	struct wf_device *list =
		realloc((void *)(uintptr_t)scan->devices.list, count * sizeof(*list));
	struct at **addrs;

	if (!list)
		return -FI_ENOMEM;
	scan->devices.list = list;
	addrs = realloc(scan->addrs, count * sizeof(struct at *));
	if (!addrs)
		return -FI_ENOMEM;
	scan->addrs = addrs;
	return 0;
}

/* Append @at, for which there is room. */
static void enlist(struct scan *scan, const struct verbs_device *device, struct at *at,
	const char *domain, size_t addr_len)
{
	struct wf_device *list = (struct wf_device *)(uintptr_t)scan->devices.list;

	scan->addrs[scan->devices.count] = at;
	list[scan->devices.count++] = (struct wf_device){
		.fabric = device->fabric,
		.domain = domain,
		.templates = at->template.list,
		.nic = device->nic,
		.addr = &at->addr,
		.addr_len = addr_len,
	};
}

static int add_addr(struct scan *scan, const struct verbs_device *device,
	const union wf_sockaddr *addr)
{
	struct at *at = malloc(sizeof(*at));
	int err = at ? grow(scan) : -FI_ENOMEM;

	if (err) {
		free(at);
		return err;
	}
	at->addr = *addr;
	verbs_template_msg(device,
		addr->sa.sa_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6,
		&at->template);
	enlist(scan, device, at, device->msg_domain, wf_sockaddr_len(addr));
	return 0;
}

static int add_dgrams(struct scan *scan)
{
	for (size_t i = 0; i < scan->found_count; i++) {
		const struct verbs_device *device = &scan->found[i];
		struct at *at;
		int err;

		if (device->iwarp)
			continue;
		at = calloc(1, sizeof(*at));
		err = at ? grow(scan) : -FI_ENOMEM;
		if (err) {
			free(at);
			return err;
		}
		verbs_template_dgram(device, &at->template);
		enlist(scan, device, at, device->dgram_domain, sizeof(at->name));
	}
	return 0;
}

/* Add the Internet addresses of this host that belong to the devices. */
static int add_addrs(struct scan *scan, bool rescan)
{
	struct wf_netifs *ifs;
	int err = wf_netifs_get(rescan, &ifs);

	if (err)
		return err;
	for (size_t i = 0; i < ifs->addr_count && !err; i++) {
		const struct wf_netaddr *addr = &ifs->addrs[i];
		const struct wf_netif *link = wf_netaddr_link(ifs, addr);
		const struct verbs_device *device = NULL;
		struct verbs_bound bound;

		if (link->kind == WF_NETIF_LOOPBACK ||
			!verbs_listed(verbs_params.ifaces, link->name))
			continue;
		if (verbs_addr_device(&addr->addr, &bound))
			device = find_port(scan, bound.name, bound.port);
		if (device)
			err = add_addr(scan, device, &addr->addr);
	}
	(void)wf_netifs_put(ifs);
	return err;
}

static struct scan *free_scan(struct scan *scan)
{
	struct scan *older = scan->older;

	for (size_t i = 0; i < scan->devices.count; i++)
		free(scan->addrs[i]);
	for (size_t i = 0; i < scan->found_count; i++)
		verbs_device_free(&scan->found[i]);
	free(scan->addrs);
	free((void *)(uintptr_t)scan->devices.list);
	free(scan->found);
	free(scan);
	return older;
}

static struct scan *scan_all(bool rescan)
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
	err = verbs_probe(&scan->found, &scan->found_count);
	if (!err && verbs_lib.has_rdma && scan->found_count)
		err = add_addrs(scan, rescan);
	if (!err)
		err = add_dgrams(scan);
	if (!err)
		return scan;
	verbs_log(FI_LOG_WARN, FI_LOG_CORE, "the devices cannot be listed: %s\n",
		fi_strerror(-err));
	(void)free_scan(scan);
	return NULL;
}

const struct wf_devices *verbs_devices(bool rescan)
{
	const struct wf_devices *devices;
	struct scan *scan;

	(void)pthread_mutex_lock(&lock);
	if (!latest || rescan) {
		scan = scan_all(rescan);
		if (scan) {
			scan->older = latest;
			latest = scan;
		}
	}
	devices = latest ? &latest->devices : &none;
	(void)pthread_mutex_unlock(&lock);
	return devices;
}

void verbs_devices_done(void)
{
	while (latest)
		latest = free_scan(latest);
	wf_netifs_done();
}

static bool is_named(const struct verbs_device *device, const char *domain)
{
	return !strcmp(device->msg_domain, domain) ||
	       !strcmp(device->dgram_domain, domain);
}

const struct verbs_device *verbs_device_find(const char *domain)
{
	const struct verbs_device *ret = NULL;

	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; latest && i < latest->found_count && !ret; i++)
		if (is_named(&latest->found[i], domain))
			ret = &latest->found[i];
	(void)pthread_mutex_unlock(&lock);
	return ret;
}

const struct verbs_device *verbs_device_at(const char *name, uint8_t port)
{
	const struct verbs_device *ret = NULL;

	(void)pthread_mutex_lock(&lock);
	if (latest)
		ret = find_port(latest, name, port);
	(void)pthread_mutex_unlock(&lock);
	return ret;
}
