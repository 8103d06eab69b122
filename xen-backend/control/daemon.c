/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.c - see daemon.h.
 *
 * One control thread on sd-event runs everything made here; the only other
 * threads are the sessions' workers and the store's, which looks into images
 * again.  Parts start from the inside out (blocks,
 * sessions, control socket, ports) and stop in the opposite order: once a
 * frontend can connect, everything behind it is there.
 */
#include "control/daemon.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "block/store.h"
#include "control/control.h"
#include "control/datanodes.h"
#include "policy/policy.h"
#include "port/local/local.h"
#include "port/xen/disks.h"
#include "port/xen/xen.h"
#include "ring/session.h"

struct daemon {
	const struct config *config;
	const char *config_path;
	time_t started;
	sd_event *event;
	struct xen_disks *disks;
	struct datanodes datanodes;
	struct session_server *sessions;
	struct control *control;
	struct policy *local_policy;
	struct local_port *local;
	struct xen_port *xen;
};

/* ---- status document --------------------------------------------------------- */

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static json_t *ports_status(const struct daemon *d)
{
	json_t *ports = json_object();
	const char *no_xen = d->config->xen.enabled == CONFIG_NO ? "off" : "unavailable";

	json_object_set_new(ports, "local",
			    d->local ? local_port_status(d->local)
				     : json_pack("{s:s}", "state", "off"));
	json_object_set_new(ports, "xen",
			    d->xen ? xen_port_status(d->xen) : json_pack("{s:s}", "state", no_xen));
	return ports;
}

static json_t *devices_status(const struct daemon *d)
{
	json_t *devices = json_array(), *device, *counters;
	json_t *local = d->local ? local_port_devices(d->local) : NULL;
	json_t *xen = d->xen ? xen_port_devices(d->xen) : NULL;
	size_t i;

	json_array_extend(devices, xen);
	json_array_extend(devices, local);
	json_decref(xen);
	json_decref(local);
	json_array_foreach(devices, i, device)
	{
		const char *name = json_string_value(json_object_get(device, "name"));

		counters = session_server_device(d->sessions, name);
		if (counters)
			json_object_set_new(device, "counters", counters);
	}
	return devices;
}

static json_t *status(void *ctx)
{
	const struct daemon *d = ctx;

	return json_pack("{s:s, s:i, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "version", VREAD_VERSION,
			 "pid", (int)getpid(), "uptime_seconds", (json_int_t)(now() - d->started),
			 "config", d->config_path, "datanodes", datanodes_status(&d->datanodes),
			 "ports", ports_status(d), "devices", devices_status(d), "totals",
			 session_server_totals(d->sessions), "reading",
			 block_store_reading_status(d->datanodes.store));
}

/* ---- parts ------------------------------------------------------------------------ */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	(void)userdata;
	if (si->ssi_signo == SIGHUP) {
		log_warn("SIGHUP ignored: restart vreadd to read its configuration anew");
		return 0;
	}
	log_info("stopping: %s", strsignal((int)si->ssi_signo));
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int catch_signals(sd_event *event)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	sigset_t set;
	int r = 0;

	sigemptyset(&set);
	for (unsigned i = 0; i < 3; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL); /* before any thread is made */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* how children ended is asked */
	for (unsigned i = 0; r >= 0 && i < 3; i++)
		r = sd_event_add_signal(event, NULL, signals[i], on_signal, NULL);
	return r < 0 ? r : 0;
}

/* A frontend takes some descriptors per queue. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int start_local(struct daemon *d, const struct port_events *events)
{
	const struct config *c = d->config;
	const char *error;
	struct local_settings settings = {
		.socket = c->local.socket,
		.mode = c->local.mode,
		.max_connections = c->local.max_connections,
		.max_pool_pages = c->local.max_pool_pages,
		.max_total_pool_pages = c->local.max_total_pool_pages,
	};

	if (!c->local.socket[0])
		return 0;
	d->local_policy =
		policy_new(POLICY_CLIENT, c->local.allow_datanodes, c->local.allow_pools, &error);
	if (d->local_policy)
		error = policy_set_publish(d->local_policy, c->local.publish_datanodes);
	if (!d->local_policy || error) {
		log_error("[local]: expected %s", error);
		return -EINVAL;
	}
	settings.policy = d->local_policy;
	return local_port_start(&d->local, d->event, &settings, events);
}

static int start_xen(struct daemon *d, const struct port_events *events)
{
	const struct config *c = d->config;
	struct xen_settings settings = {
		.max_queues = c->xen.max_queues,
		.max_ring_page_order = c->xen.max_ring_page_order,
		.max_pool_pages = c->xen.max_pool_pages,
	};
	int r;

	if (c->xen.enabled == CONFIG_NO)
		return 0;
	r = xen_port_start(&d->xen, d->event, &settings, events);
	if (r != -ENODEV)
		return r;
	if (c->xen.enabled == CONFIG_YES) {
		log_error("no xenstore here, and [xen] enabled = yes: is this dom0, and is "
			  "xenstored running?");
		return r;
	}
	log_info("no xenstore here: serving local frontends only");
	return 0;
}

static void disks_changed(void *ctx)
{
	struct daemon *d = ctx;

	block_store_usage_changed(d->datanodes.store);
}

static int start_datanodes(struct daemon *d)
{
	int r = 0;

	if (d->config->xen.enabled != CONFIG_NO)
		r = xen_disks_start(&d->disks, d->event, disks_changed, d);
	if (r && r != -ENODEV)
		return r;
	return datanodes_open(&d->datanodes, d->config, d->disks);
}

static int start(struct daemon *d)
{
	struct port_events events;
	int r = start_datanodes(d);

	if (r)
		return r;
	r = block_store_start(d->datanodes.store);
	if (r) {
		log_error("cannot start a thread: %s", strerror(-r));
		return r;
	}
	d->sessions = session_server_new(d->datanodes.store);
	if (!d->sessions)
		return -ENOMEM;
	events = session_server_events(d->sessions);
	if (d->config->control_socket[0])
		r = control_start(&d->control, d->event, d->config->control_socket, status, d);
	if (!r)
		r = start_local(d, &events);
	if (!r)
		r = start_xen(d, &events);
	if (!r && !d->local && !d->xen) {
		log_error("nothing to serve: no Xen here and no socket set in [local] of %s",
			  d->config_path);
		r = -ENODEV;
	}
	return r;
}

static void stop(struct daemon *d)
{
	xen_port_stop(d->xen);
	local_port_stop(d->local);
	control_stop(d->control);
	session_server_free(d->sessions);
	datanodes_close(&d->datanodes);
	xen_disks_stop(d->disks);
	policy_free(d->local_policy);
}

int daemon_run(const struct config *config, const char *config_path)
{
	struct daemon d = {.config = config, .config_path = config_path, .started = now()};
	int r = sd_event_new(&d.event);

	if (r < 0) {
		log_error("cannot make an event loop: %s", strerror(-r));
		return r;
	}
	raise_file_limit();
	r = catch_signals(d.event);
	if (!r)
		r = start(&d);
	if (!r) {
		sd_notifyf(0, "READY=1\nSTATUS=Serving %zu of %zu datanodes",
			   config->num_datanodes - json_array_size(d.datanodes.refused),
			   config->num_datanodes);
		log_info("vreadd " VREAD_VERSION ": ready");
		r = sd_event_loop(d.event);
	}
	sd_notify(0, "STOPPING=1\nSTATUS=Closing devices");
	stop(&d);
	sd_event_unref(d.event);
	return r;
}

unsigned daemon_check_datanodes(const struct config *config)
{
	struct datanodes d;
	unsigned refused;

	if (datanodes_open(&d, config, NULL)) {
		log_error("out of memory");
		return 1;
	}
	refused = (unsigned)json_array_size(d.refused);
	datanodes_close(&d);
	return refused;
}
