// SPDX-License-Identifier: GPL-2.0-or-later
/* devices.c - checks of `xl-vread doctor`: guests' devices in xenstore, with their nodes, their
 * states and their allowed datanodes.  Called by doctor.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/xenbus.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "../xs_tree.h"
#include "checks.h"
#include "vread-nodes.h"

static void tell_problems(struct doctor *d, const json_t *problems)
{
	const json_t *p;
	size_t i;

	json_array_foreach(problems, i, p)
	{
		doctor_fail(d, text_member(p, "path"), text_member(p, "remedy"),
			    "%.300s, expected %.160s", text_member(p, "found"),
			    text_member(p, "expected"));
	}
}

static bool has_problem(const json_t *problems, const char *name)
{
	const json_t *p;
	size_t i;

	json_array_foreach(problems, i, p)
	{
		if (!strcmp(text_member(p, "device"), name))
			return true;
	}
	return false;
}

/* ---- states --------------------------------------------------------------------------- */

/* Why vreadd last closed or refused the device. */
static const char *last_error(const struct doctor *d, const char *name)
{
	json_t *device;
	size_t i;

	json_array_foreach(json_object_get(d->facts->status, "devices"), i, device)
	{
		const char *error = json_string_value(json_object_get(device, "last_error"));

		if (!strcmp(text_member(device, "name"), name))
			return error ?: "no reason was given";
	}
	return "vreadd does not know the device";
}

static void check_state(struct doctor *d, const char *backend_dir, const char *name)
{
	char *text = doctor_node(d, backend_dir, VREAD_NODE_STATE);
	unsigned long long state = 0;

	if (text)
		cli_number(text, 1, 8, &state);
	free(text);
	switch (state) {
	case XenbusStateConnected:
		doctor_ok(d, name, "connected");
		break;
	case XenbusStateInitialising:
		doctor_fail(d, name, "systemctl restart vreadd; it picks devices up by itself",
			    "stuck in Initialising: vreadd has not seen it");
		break;
	case XenbusStateInitWait:
	case XenbusStateInitialised:
		doctor_warn(d, name, "in the guest: modprobe xen-vreadfront, then `vread doctor`",
			    "waits for the guest: its module is not loaded, or not done");
		break;
	case XenbusStateClosing:
	case XenbusStateClosed:
		doctor_fail(d, name,
			    "in the guest: modprobe -r xen-vreadfront, then modprobe it again; or "
			    "detach and attach the device",
			    "closed: %.400s", last_error(d, name));
		break;
	default:
		doctor_fail(d, name, "xl-vread detach --force, then attach it again",
			    "has an invalid state");
	}
}

/* ---- what it may read --------------------------------------------------------------------- */

/* True if list has the name.  An entry of list is a name, or a pattern that ends in '*'. */
static bool list_has(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (n == length && !strncmp(list, name, n))
			return true;
		if (n && list[n - 1] == '*' && !strncmp(list, name, n - 1))
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

/* True if a storage is on that datanode.  storages: DATANODE/STORAGE, separated by spaces. */
static bool storages_name(const char *storages, const char *name)
{
	size_t length = strlen(name);

	while (storages && *storages) {
		size_t n = strcspn(storages, " ");

		if (n > length && storages[length] == '/' && !strncmp(storages, name, length))
			return true;
		storages += n + strspn(storages + n, " ");
	}
	return false;
}

/* Keys that are refused have a finding of their own. */
static bool is_by_keys(const struct keys_list *keys, const char *datanode)
{
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i].value[KEYS_NAME] &&
		    !strcmp(keys->keys[i].value[KEYS_NAME], datanode))
			return true;
	return false;
}

static bool is_known(const struct config *c, const char *datanode)
{
	for (size_t i = 0; i < c->num_datanodes; i++)
		if (!strcmp(c->datanodes[i].name, datanode))
			return true;
	for (size_t i = 0; i < c->peers.num_peers; i++)
		if (list_has(c->peers.peers[i].datanodes, datanode) ||
		    storages_name(c->peers.peers[i].storages, datanode))
			return true;
	return false;
}

void check_names(struct doctor *d, const char *device, char *list, const char *remedy)
{
	char *rest = list;

	for (char *datanode; (datanode = strsep(&rest, " "));)
		if (*datanode && !is_known(d->facts->config, datanode) &&
		    !is_by_keys(&d->facts->keys, datanode))
			doctor_fail(d, device, remedy,
				    "allows datanode %.64s, which vread.conf does not name",
				    datanode);
}

static void check_policy(struct doctor *d, const char *backend_dir, const char *name)
{
	char *list = doctor_node(d, backend_dir, VREAD_NODE_ALLOW_DATANODES);
	char remedy[DOCTOR_LINE];
	unsigned domid = 0;

	sscanf(name, "xen:%u/", &domid);
	snprintf(remedy, sizeof(remedy),
		 "xl-vread detach %u; xl-vread attach %u 'datanodes=NAME ...'", domid, domid);
	if (!list || !*list)
		doctor_fail(d, name, remedy, "no datanode is allowed: it can read nothing");
	else if (strcmp(list, "*") && d->facts->config)
		check_names(d, name, list,
			    "correct allow-datanodes (detach, attach), or add [datanode NAME] or "
			    "datanodes of a [peer] to vread.conf");
	free(list);
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Writes the device's name as vreadd has it: "xen:7/0" for .../vread/7/0. */
static void device_name(const char *backend_dir, char name[64])
{
	const char *p = strstr(backend_dir, "/backend/" VREAD_DEVICE_TYPE "/");

	snprintf(name, 64, "xen:%.32s",
		 p ? p + strlen("/backend/" VREAD_DEVICE_TYPE "/") : backend_dir);
}

struct looking {
	struct doctor *d;
	const json_t *problems; /* of all devices' nodes */
};

static void look_at(void *ctx, const char *backend_dir)
{
	const struct looking *l = ctx;
	char name[64];

	device_name(backend_dir, name);
	if (!has_problem(l->problems, name))
		doctor_ok(l->d, name, "its nodes are valid");
	check_state(l->d, backend_dir, name);
	check_policy(l->d, backend_dir, name);
}

void check_devices(struct doctor *d)
{
	struct looking l = {.d = d};
	json_t *problems;
	unsigned devices;

	if (!d->xs) {
		doctor_skip(d, "devices of Xen", "no xenstore");
		return;
	}
	l.problems = problems = xs_check(d->xs, XS_ANY_DOMID, &devices);
	tell_problems(d, problems);
	if (!xs_each_device(d->xs, look_at, &l))
		doctor_warn(d, "devices", "xl-vread attach DOMAIN 'datanodes=NAME ...'",
			    "no guest has a vread device");
	json_decref(problems);
}
