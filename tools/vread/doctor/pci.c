// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pci.c - finds the PCI device of a guest of KVM, and checks that the module drives it. Called by
 * guest.c. The device is QEMU's ivshmem-doorbell, whose identity QEMU's docs/specs/ivshmem-spec.rst
 * gives.
 */
#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"

#define DEVICES "/sys/bus/pci/devices"
#define VENDOR "0x1af4"
#define DEVICE "0x1110"

static bool has_value(const struct doctor *d, const char *name, const char *file,
		      const char *wanted)
{
	char path[PATH_MAX], value[DOCTOR_LINE];

	snprintf(path, sizeof(path), DEVICES "/%.64s/%s", name, file);
	return doctor_read_line(d, path, value) && !strcmp(value, wanted);
}

bool pci_find(struct doctor *d)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *dir = opendir(doctor_path(d, DEVICES, path));

	while (dir && !d->facts->pci[0] && (entry = readdir(dir)))
		if (has_value(d, entry->d_name, "vendor", VENDOR) &&
		    has_value(d, entry->d_name, "device", DEVICE))
			snprintf(d->facts->pci, sizeof(d->facts->pci), "%.63s", entry->d_name);
	if (dir)
		closedir(dir);
	return d->facts->pci[0];
}

void pci_check(struct doctor *d)
{
	char name[PATH_MAX], path[PATH_MAX], target[PATH_MAX];
	const char *pci = d->facts->pci;
	ssize_t length;

	snprintf(name, sizeof(name), DEVICES "/%s/driver", pci);
	length = readlink(doctor_path(d, name, path), target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	if (!strcmp(basename(target), "vread-ivshmem"))
		doctor_ok(d, pci, "the module drives it");
	else if (length > 0)
		doctor_fail(d, pci,
			    "unbind the device from that driver, then bind it to "
			    "vread-ivshmem",
			    "driver %.64s has the device", basename(target));
	else if (d->facts->no_module)
		doctor_skip(d, pci, "the module is not loaded");
	else
		doctor_fail(
			d, pci,
			"see dmesg; the socket of its chardev must be one of vread-ivshmem, and "
			"vectors= at least 2",
			"the module did not take the device");
}
