/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <rdma/fabric.h>

/* list [MAJOR.MINOR [fabric]]: what fi_getinfo returns, one "provider domain version"
 * a line; with "fabric" each is opened and closed as well. */

static int open_and_close(struct fi_info *info)
{
	struct fid_fabric *fabric;
	int err = fi_fabric(info->fabric_attr, &fabric, NULL);

	if (err)
		return err;
	if (fabric->api_version != info->fabric_attr->api_version)
		return -FI_EOTHER;
	return fi_close(&fabric->fid);
}

int main(int argc, char **argv)
{
	struct fi_info *list, *it;
	unsigned int major = 2, minor = 6;
	int err;

	if (argc > 1 && sscanf(argv[1], "%u.%u", &major, &minor) != 2)
		return 2;
	if (getauxval(AT_SECURE))
		puts("secure");
	err = fi_getinfo(FI_VERSION(major, minor), NULL, NULL, 0, NULL, &list);
	if (err)
		printf("error %d\n", err);
	for (it = list; it; it = it->next) {
		printf("%s %s %u.%u\n", it->fabric_attr->prov_name,
			it->domain_attr->name, FI_MAJOR(it->fabric_attr->prov_version),
			FI_MINOR(it->fabric_attr->prov_version));
		if (argc > 2 && !strcmp(argv[2], "fabric"))
			printf("opened %d\n", open_and_close(it));
	}
	fi_freeinfo(list);
	return 0;
}
