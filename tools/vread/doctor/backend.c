// SPDX-License-Identifier: GPL-2.0-or-later
/* backend.c - checks of `vread doctor`: whether the backend answers, and whether module and library
 * speak the same version.  Called by doctor.c. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "checks.h"
#include "vread.h"
#include "vread_ioctl.h"

#define POOL_BYTES ((size_t)64 << 10) /* nothing is read */

static void tell_info(struct doctor *d, const char *node, const struct vread_ioc_info *info)
{
	if (info->abi != VREAD_IOC_ABI)
		doctor_fail(d, node,
			    "install module (vread-frontend-dkms) and library (libvread1) of one "
			    "release, then load the module again",
			    "the module speaks version %u, libvread version %u", info->abi,
			    VREAD_IOC_ABI);
	else if (!info->connected)
		doctor_fail(d, node,
			    "does vreadd run on the host? `xl-vread doctor` there tells more",
			    "the module has no connection to its backend");
	else
		doctor_ok(d, node, "version %u, connected, %" PRIu64 " of %" PRIu64 " KiB free",
			  info->abi, (uint64_t)info->pool_free_bytes >> 10,
			  (uint64_t)info->pool_bytes >> 10);
	d->facts->is_datanode = !strncmp(info->role, "datanode", sizeof(info->role));
}

void check_protocol(struct doctor *d)
{
	struct vread_ioc_info info = {0};
	char path[PATH_MAX];
	const char *node = endpoint_path(d, path);
	struct stat st;
	int fd;

	if (stat(node, &st) < 0 || !S_ISCHR(st.st_mode)) {
		doctor_skip(d, node, "is not a device");
		return;
	}
	fd = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		doctor_skip(d, node, "this user cannot open it: %s", strerror(errno));
	else if (ioctl(fd, VREAD_IOC_INFO, &info) < 0)
		doctor_fail(
			d, node,
			"is another driver's device in its place? is the module of this release?",
			"does not answer like vRead's device: %s", strerror(errno));
	else
		tell_info(d, node, &info);
	if (fd >= 0)
		close(fd);
}

static void tell_no_answer(struct doctor *d, const char *node, int error)
{
	if (error == -ENOTCONN || error == -ETIME)
		doctor_fail(d, node,
			    "does vreadd run on the host? `xl-vread doctor` there tells more",
			    "the backend does not answer: %s", vread_strerror(error));
	else if (error == -EACCES)
		doctor_skip(d, node, "this user cannot open it");
	else if (error == -ENOSPC)
		doctor_warn(d, node, "increase pool_mib of the module, or pool-size of the device",
			    "other processes hold all of its pool");
	else
		doctor_fail(d, node, "install vreadd, module and library of one release",
			    "no connection: %s", vread_strerror(error));
}

void check_answer(struct doctor *d)
{
	char path[PATH_MAX];
	const char *node = endpoint_path(d, path);
	const struct vread_options options = {.endpoint = node, .pool_bytes = POOL_BYTES};
	struct vread *v;
	int r;

	if (!d->facts->node_usable) {
		doctor_skip(d, node, "cannot be used");
		return;
	}
	r = vread_connect(&v, &options);
	if (!r) {
		r = vread_ping(v);
		vread_disconnect(v);
	}
	if (r)
		tell_no_answer(d, node, r);
	else
		doctor_ok(d, node, "the backend answers");
}
