// SPDX-License-Identifier: GPL-2.0-or-later
/* daemon.c - checks of `xl-vread doctor`: vreadd's configuration, whether vreadd runs, and the
 * state of its ports.  Called by doctor.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../vreadd/control_client.h"
#include "cli/text.h"
#include "base/version.h"
#include "checks.h"

/* What to do about a file that config_load() refused with that error. */
static const char *config_remedy(int error)
{
	switch (error) {
	case -ENOENT:
		return "write it, see vread.conf(5), or get the package's: apt install --reinstall "
		       "-o Dpkg::Options::=--force-confmiss vread-backend; then systemctl restart "
		       "vreadd";
	case -EACCES:
		return "run this as root";
	default:
		return "correct it (see vread.conf(5)), then run xl-vread reload; a vreadd that "
		       "runs goes on with what it read before";
	}
}

/* Adds a finding for each line of errors. */
static void tell_mistakes(struct doctor *d, int error, char *errors)
{
	char *rest = errors;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			doctor_fail(d, "configuration", config_remedy(error), "%s", line);
}

void check_config(struct doctor *d)
{
	char path[PATH_MAX], *errors = NULL, none[] = "out of memory";
	json_t *problems = NULL;
	const char *used = d->facts->config_path ?: doctor_path(d, CONFIG_DEFAULT_PATH, path);
	int r = config_load(used, &d->facts->config, &problems);

	if (r == 0) {
		doctor_ok(d, used, "valid, %zu datanodes, %zu peers",
			  d->facts->config->num_datanodes, d->facts->config->peers.num_peers);
	} else {
		errors = config_problems_text(problems);
		json_decref(problems);
		tell_mistakes(d, r, errors ?: none);
	}
	free(errors);
}

/* The control socket: of --socket, else as configured, else the default. */
static const char *socket_path(const struct doctor *d, char buf[PATH_MAX])
{
	if (d->facts->socket)
		return d->facts->socket;
	if (d->facts->config && d->facts->config->control_socket[0])
		return doctor_path(d, d->facts->config->control_socket, buf);
	return doctor_path(d, CONTROL_DEFAULT_SOCKET, buf);
}

/* Does nothing if vreadd does not say who it is. */
static void check_user(struct doctor *d)
{
	const char *user = json_string_value(json_object_get(d->facts->status, "user"));

	if (!user)
		return;
	if (json_is_true(json_object_get(d->facts->status, "opener")))
		doctor_ok(d, "user",
			  "vreadd is %.32s without capabilities; vread-opener opens images", user);
	else if (!strcmp(user, "root"))
		doctor_warn(d, "user", "start it by vreadd.service, or set user in [vreadd]",
			    "vreadd runs as root");
	else
		doctor_ok(d, "user", "vreadd is %.32s, and opens what this user may read", user);
}

void check_daemon(struct doctor *d)
{
	char path[PATH_MAX], *error = NULL;
	const char *socket = socket_path(d, path), *version;

	if (!d->facts->socket && d->facts->config && !d->facts->config->control_socket[0]) {
		doctor_skip(d, "vreadd",
			    "control-socket is empty in vread.conf: vreadd cannot be asked");
		return;
	}
	if (control_try(socket, json_pack("{s:s}", "command", "status"), &d->facts->status,
			&error)) {
		doctor_fail(d, "vreadd",
			    "systemctl start vreadd; if it ends at once: journalctl -u vreadd",
			    "%s", error ?: "out of memory");
		free(error);
		return;
	}
	version = text_member(d->facts->status, "version");
	if (strcmp(version, VREAD_VERSION))
		doctor_fail(d, "vreadd",
			    "install both of one release, then systemctl restart vreadd",
			    "runs version %.32s, but this is xl-vread " VREAD_VERSION, version);
	else
		doctor_ok(d, "vreadd", "runs, version %s, pid %" PRId64, version,
			  text_number(d->facts->status, "pid"));
	check_user(d);
}

/* The port is off although vread.conf has guests for it. */
static bool is_not_reloaded(const struct doctor *d)
{
	const struct config *c = d->facts->config;

	return c && c->num_ivshmem && c->ivshmem_socket[0];
}

static void check_port(struct doctor *d, const char *name, const json_t *port)
{
	const char *state = text_member(port, "state");
	const char *error = json_string_value(json_object_get(port, "last_error"));
	const bool of_kvm = !strcmp(name, "kvm");
	char object[64];

	snprintf(object, sizeof(object), "port %.32s", name);
	if (!strcmp(state, "off") && of_kvm && is_not_reloaded(d))
		doctor_fail(d, object, "xl-vread reload",
			    "is off: vreadd has not read the sections [ivshmem NAME] yet");
	else if (!strcmp(state, "off"))
		doctor_skip(d, object, "is off");
	else if (!strcmp(state, "on"))
		doctor_ok(d, object, "is on");
	else if (d->facts->no_xen && !of_kvm)
		doctor_skip(d, object, "%.64s: no Xen here", state);
	else
		doctor_fail(d, object,
			    of_kvm ? "systemctl enable --now vread-ivshmem; vreadd then finds it "
				     "by itself"
				   : "is xenstored running, and /dev/xen/* there? then systemctl "
				     "restart vreadd",
			    "%.64s%s%.512s", state, error ? ": " : "", error ?: "");
}

void check_ports(struct doctor *d)
{
	const char *name;
	json_t *port;

	if (!d->facts->status) {
		doctor_skip(d, "ports", "vreadd does not answer");
		return;
	}
	json_object_foreach(json_object_get(d->facts->status, "ports"), name, port)
	{
		check_port(d, name, port);
	}
}
