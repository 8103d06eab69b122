// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest.c - checks of `vread doctor`: the module, the device, its nodes, and what dom0 allows.
 * Called by doctor.c.
 *
 * If the endpoint is a UNIX socket (a local port), only the node is checked: module and device are
 * not needed then.
 */
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xen/io/xenbus.h>

#include "../denied.h"
#include "cli/cli.h"
#include "checks.h"
#include "vread-nodes.h"

#define FRONTEND "device/" VREAD_DEVICE_TYPE "/0" /* below the guest's own directory */
#define CHANGE_DEVICE                                                                   \
	"in dom0: xl-vread detach DOMAIN; xl-vread attach DOMAIN with the datanode in " \
	"datanodes=, and in vread = [ ... ] of its configuration"

const char *endpoint_path(const struct doctor *d, char buf[PATH_MAX])
{
	return d->facts->endpoint ?: doctor_path(d, "/dev/vread", buf);
}

bool endpoint_is_socket(const struct doctor *d)
{
	char buf[PATH_MAX];
	struct stat st;

	if (stat(endpoint_path(d, buf), &st) == 0)
		return S_ISSOCK(st.st_mode);
	return d->facts->endpoint && strncmp(d->facts->endpoint, "/dev/", 5) != 0;
}

void check_guest(struct doctor *d)
{
	char type[DOCTOR_LINE];

	d->facts->no_xen = true;
	if (endpoint_is_socket(d)) {
		doctor_skip(d, "/sys/hypervisor/type", "the endpoint is a socket");
	} else if (doctor_read_line(d, "/sys/hypervisor/type", type) && !strcmp(type, "xen")) {
		doctor_ok(d, "/sys/hypervisor/type", "a guest of Xen");
		d->facts->no_xen = false;
	} else if (pci_find(d)) {
		doctor_ok(d, d->facts->pci, "an ivshmem-doorbell, as guests of KVM have");
	} else {
		doctor_fail(d, "/sys/hypervisor/type",
			    "for a guest of KVM: add an ivshmem-doorbell, see vread-ivshmem(8); on "
			    "a host use `xl-vread doctor`",
			    "this is not a guest of Xen, and has no PCI device ivshmem-doorbell");
	}
	d->xs = d->facts->no_xen ? NULL : xs_open(0);
	d->facts->xs_error = errno;
}

/* Neither Xen nor KVM, or the endpoint is a socket. */
static bool has_no_device(const struct doctor *d)
{
	return d->facts->no_xen && !d->facts->pci[0];
}

/* ---- the module ------------------------------------------------------------------------ */

/* nftw() has no argument for its callback */
static const char *module_wanted;
static char module_found[PATH_MAX];

static int look_for_module(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;
	size_t length = strlen(module_wanted);

	(void)st;
	if (type != FTW_F || strncmp(name, module_wanted, length) ||
	    strncmp(name + length, ".ko", 3))
		return 0;
	snprintf(module_found, sizeof(module_found), "%s", path);
	return 1;
}

void check_module(struct doctor *d)
{
	bool kvm = d->facts->pci[0];
	const char *name = kvm ? "vread-ivshmem" : "xen-vreadfront";
	char release[DOCTOR_LINE], folder[PATH_MAX], path[PATH_MAX], remedy[512];

	if (has_no_device(d)) {
		doctor_skip(d, name, "there is no device, or none is needed");
		return;
	}
	if (doctor_exists(d, kvm ? "/sys/module/vread_ivshmem" : "/sys/module/xen_vreadfront")) {
		doctor_ok(d, name, "loaded");
		return;
	}
	d->facts->no_module = true;
	if (!doctor_read_line(d, "/proc/sys/kernel/osrelease", release))
		release[0] = '\0';
	snprintf(folder, sizeof(folder), "/lib/modules/%s", release);
	module_found[0] = '\0';
	module_wanted = name;
	if (nftw(doctor_path(d, folder, path), look_for_module, 16, FTW_PHYS) == 1) {
		snprintf(remedy, sizeof(remedy), "modprobe %s; if that fails, see dmesg", name);
		doctor_fail(d, name, remedy, "not loaded; its file is there: %.400s", module_found);
		return;
	}
	snprintf(remedy, sizeof(remedy),
		 "apt install vread-frontend-dkms linux-headers-%.200s, then modprobe "
		 "%s; `dkms status` shows whether it was built",
		 release, name);
	doctor_fail(d, name, remedy, "not loaded, and there is no module for this kernel, %.200s",
		    release);
}

/* ---- the device ------------------------------------------------------------------------- */

static void wrong_state(struct doctor *d, unsigned long long state)
{
	if (state == XenbusStateInitialising)
		doctor_fail(
			d, FRONTEND, "in dom0: systemctl start vreadd, then `xl-vread doctor`",
			"its backend has not started (Initialising): vreadd does not run there");
	else if (state == XenbusStateClosing || state == XenbusStateClosed)
		doctor_fail(d, FRONTEND,
			    "modprobe -r xen-vreadfront and modprobe it again; `xl-vread doctor` "
			    "in dom0 tells why it was closed",
			    "its backend has closed it");
	else
		doctor_fail(d, FRONTEND, "modprobe xen-vreadfront; if that fails, see dmesg",
			    "its backend waits for this guest (state %llu)", state);
}

/* The backend's directory; free() it.  NULL: xenstore has none. */
static char *backend_dir(const struct doctor *d)
{
	return doctor_node(d, FRONTEND, VREAD_NODE_BACKEND);
}

void check_device(struct doctor *d)
{
	char *backend, *text;
	unsigned long long state = 0;

	if (d->facts->pci[0]) {
		pci_check(d);
		return;
	}
	if (d->facts->no_xen) {
		doctor_skip(d, FRONTEND, "no Xen here, or none is needed");
		return;
	}
	if (!d->xs) {
		doctor_skip(d, FRONTEND, "cannot read xenstore (%s); run this as root",
			    strerror(d->facts->xs_error));
		return;
	}
	backend = backend_dir(d);
	if (!backend) {
		doctor_fail(d, FRONTEND, "in dom0: xl-vread attach DOMAIN 'datanodes=NAME ...'",
			    "this guest has no vread device");
		return;
	}
	d->facts->has_device = true;
	text = doctor_node(d, backend, VREAD_NODE_STATE);
	if (!text || !cli_number(text, 1, 8, &state))
		doctor_fail(d, FRONTEND, "in dom0: xl-vread detach --force, and attach it again",
			    "its backend has no state");
	else if (state != XenbusStateConnected)
		wrong_state(d, state);
	else
		doctor_ok(d, FRONTEND, "connected");
	free(text);
	free(backend);
}

/* ---- the node ------------------------------------------------------------------------------ */

struct person {
	const char *name;
	uid_t uid;
	gid_t groups[256];
	int count;
};

static bool find_person(const char *name, struct person *ret)
{
	const struct passwd *p = name ? getpwnam(name) : getpwuid(getuid());

	*ret = (struct person){.name = p ? p->pw_name : name ?: "this user", .uid = getuid()};
	if (!p)
		return !name;
	ret->uid = p->pw_uid;
	ret->count = 256;
	return getgrouplist(p->pw_name, p->pw_gid, ret->groups, &ret->count) >= 0;
}

/* True if the user may read and write, by owner, group and mode, as the kernel checks them. */
static bool may_use(const struct person *who, const struct stat *st)
{
	if (!who->uid)
		return true;
	if (who->uid == st->st_uid)
		return (st->st_mode & 0600) == 0600;
	for (int i = 0; i < who->count; i++)
		if (who->groups[i] == st->st_gid)
			return (st->st_mode & 0060) == 0060;
	return (st->st_mode & 0006) == 0006;
}

static void tell_forbidden(struct doctor *d, const char *node, const struct person *who,
			   const struct stat *st)
{
	char user[64], found[DENIED_TEXT], remedy[DENIED_TEXT];

	snprintf(user, sizeof(user), "%s", who->name);
	denied_text(node, st, user, found, remedy);
	doctor_fail(d, node, remedy, "%s", found);
}

void check_node(struct doctor *d)
{
	char path[PATH_MAX];
	const char *node = endpoint_path(d, path);
	struct person who;
	struct stat st;

	if (stat(node, &st) < 0 && !endpoint_is_socket(d) &&
	    (has_no_device(d) || d->facts->no_module)) {
		doctor_skip(d, node, "the module that makes it is not loaded");
		return;
	}
	if (stat(node, &st) < 0) {
		doctor_fail(d, node,
			    d->facts->endpoint
				    ? "correct --endpoint, VREAD_ENDPOINT or io.vread.endpoint"
				    : "the module makes it once the guest has a device",
			    "%s", strerror(errno));
		return;
	}
	if (!find_person(d->facts->user, &who)) {
		doctor_fail(d, node, "name a user of this system with --user",
			    "there is no user %.64s", d->facts->user);
		return;
	}
	if (!may_use(&who, &st)) {
		tell_forbidden(d, node, &who, &st);
		return;
	}
	d->facts->node_usable = true;
	doctor_ok(d, node, "user %.64s may read and write it%s", who.name,
		  who.uid || d->facts->user ? "" : "; name another with --user");
}

/* ---- what dom0 allows ----------------------------------------------------------------------- */

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == length && !strncmp(list, word, n))
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

void check_allowed(struct doctor *d)
{
	char *backend = d->facts->has_device ? backend_dir(d) : NULL;
	char *list = backend ? doctor_node(d, backend, VREAD_NODE_ALLOW_DATANODES) : NULL;
	char *role = backend ? doctor_node(d, backend, VREAD_NODE_ROLE) : NULL;

	if (role && !strcmp(role, "datanode"))
		d->facts->is_datanode = true;
	if (!backend)
		doctor_skip(d, FRONTEND, "only the host knows what this guest may read");
	else if (!list || !*list)
		doctor_fail(d, FRONTEND, CHANGE_DEVICE,
			    "no datanode is allowed: every open gets EACCES");
	else if (d->facts->datanode && strcmp(list, "*") && !has_word(list, d->facts->datanode))
		doctor_fail(d, FRONTEND, CHANGE_DEVICE,
			    "datanode %.64s is not allowed; allowed are: %.400s",
			    d->facts->datanode, list);
	else
		doctor_ok(d, FRONTEND, "allowed datanodes: %.400s", list);
	free(role);
	free(list);
	free(backend);
}

/* ---- publishing ----------------------------------------------------------------------------- */

/* Readers on the same guest need no such right, so it is no failure that a user has not got it. */
static void tell_no_publisher(struct doctor *d, const char *node, const struct person *who)
{
	char remedy[512];

	snprintf(remedy, sizeof(remedy),
		 "if %.64s runs the DataNode: usermod -aG vread-publish %.64s, then restart it",
		 who->name, who->name);
	doctor_warn(d, node, remedy, "user %.64s may not publish", who->name);
}

static void check_publish_node(struct doctor *d, const char *node, const char *datanodes)
{
	struct person who;
	struct stat st;

	if (stat(node, &st) < 0)
		doctor_fail(d, node, "the module makes it when the device connects: see dmesg",
			    "%s", strerror(errno));
	else if (!find_person(d->facts->user, &who))
		doctor_skip(d, node, "there is no user %.64s", d->facts->user);
	else if (!may_use(&who, &st))
		tell_no_publisher(d, node, &who);
	else
		doctor_ok(d, node, "user %.64s may publish for: %.400s", who.name, datanodes);
}

void check_publisher(struct doctor *d)
{
	char path[PATH_MAX], node[PATH_MAX + sizeof("-publish")];
	char *backend = d->facts->has_device ? backend_dir(d) : NULL;
	char *list = backend ? doctor_node(d, backend, VREAD_NODE_PUBLISH_DATANODES) : NULL;

	snprintf(node, sizeof(node), "%s-publish", endpoint_path(d, path));
	if (!d->facts->is_datanode)
		doctor_skip(d, node, "the device's role is not datanode");
	else if (backend && (!list || !*list))
		doctor_fail(d, FRONTEND,
			    "in dom0: xl-vread detach DOMAIN; xl-vread attach DOMAIN with "
			    "publish-datanodes=",
			    "no datanode to publish for: every event gets EACCES");
	else if (backend || d->facts->pci[0])
		check_publish_node(d, node, backend ? list : "what the host allows");
	else
		doctor_skip(d, node, "xenstore has no device");
	free(list);
	free(backend);
}
