// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * appliance.c - boots the appliance: see appliance.h.  main.c, inspect.c, agree.c and search.c
 * call it.
 *
 * That /dev/kvm exists does not mean that a virtual machine boots.  In a nested or paravirtual
 * environment the machine may hang or abort, and libguestfs does not fall back to emulation by
 * itself.  In such an environment this file tells libguestfs to emulate, unless the user's
 * environment variables say otherwise.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "provision/appliance.h"
#include "provision/progress.h"

static bool cpu_is_virtual(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool found = false;
	char line[8192];

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
	if (f)
		fclose(f);
	return found;
}

static bool kvm_is_trusted(void)
{
	return access("/dev/kvm", R_OK | W_OK) == 0 && access("/proc/xen", F_OK) != 0 &&
	       !cpu_is_virtual();
}

static void on_event(guestfs_h *g, void *opaque, uint64_t event, int handle, int flags,
		     const char *buf, size_t length, const uint64_t *array, size_t array_length)
{
	(void)g, (void)opaque, (void)handle, (void)flags, (void)buf, (void)length;
	if (event == GUESTFS_EVENT_PROGRESS && array_length >= 4 && array[3] > 0)
		progress_tick((int)(array[2] * 100 / array[3]));
}

/* The name that libguestfs and QEMU use for the format. */
static const char *format_of(const struct image *image)
{
	return strcmp(image_format(image), "vhd") ? image_format(image) : "vpc";
}

const char *appliance_label(unsigned image, char buf[APPLIANCE_MAX_LABEL])
{
	/* libguestfs allows only letters in a label. */
	snprintf(buf, APPLIANCE_MAX_LABEL, "image%c%c", 'a' + image / 26 % 26, 'a' + image % 26);
	return buf;
}

static int add_images(guestfs_h *g, struct image *const *images, unsigned num_images)
{
	char label[APPLIANCE_MAX_LABEL];

	for (unsigned i = 0; i < num_images; i++)
		if (guestfs_add_drive_opts(g, image_path(images[i]), GUESTFS_ADD_DRIVE_OPTS_LABEL,
					   appliance_label(i, label),
					   GUESTFS_ADD_DRIVE_OPTS_READONLY, 1,
					   GUESTFS_ADD_DRIVE_OPTS_FORMAT, format_of(images[i]),
					   -1) < 0)
			return -1;
	return 0;
}

static int configure(guestfs_h *g, struct image *const *images, unsigned num_images)
{
	bool emulate = !kvm_is_trusted();

	guestfs_set_error_handler(g, NULL, NULL);
	if (!getenv("LIBGUESTFS_BACKEND") && guestfs_set_backend(g, "direct") < 0)
		return -1;
	if (!getenv("LIBGUESTFS_BACKEND_SETTINGS") && emulate &&
	    guestfs_set_backend_setting(g, "force_tcg", "1") < 0)
		return -1;
	if (guestfs_set_event_callback(g, on_event, GUESTFS_EVENT_PROGRESS, 0, NULL) < 0)
		return -1;
	progress_step("starting libguestfs's appliance%s",
		      emulate ? " (emulated: half a minute, minutes inside a virtual machine)"
			      : "");
	return add_images(g, images, num_images);
}

guestfs_h *appliance_start(struct image *const *images, unsigned num_images, char **ret_error)
{
	guestfs_h *g = guestfs_create();

	if (!g) {
		error_text(ret_error, -ENOMEM, "libguestfs cannot be started: %s", strerror(errno));
		return NULL;
	}
	if (configure(g, images, num_images) < 0 || guestfs_launch(g) < 0) {
		const char *said = guestfs_last_error(g);

		error_text(ret_error, -EIO,
			   "libguestfs's appliance did not start: %s. libguestfs-test-tool shows "
			   "why; LIBGUESTFS_BACKEND_SETTINGS=force_tcg starts it without KVM",
			   said ? said : "no reason given");
		guestfs_close(g);
		return NULL;
	}
	return g;
}

void appliance_free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}
