// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon.c - starts the parts of vreadd, runs the event loop and stops the parts.
 *
 * Called by vreadd.c.
 *
 * One control thread runs an sd-event loop for all parts.  The parts have threads of their own: the
 * sessions have workers, the store has a thread that looks into images again, and peers have the
 * threads of their links and of their server.
 *
 * Readiness is told before anything that a guest wrote is looked at.
 *
 * Parts start from the inside out (blocks, peers, sessions, control socket, ports) and stop in the
 * opposite order, the control socket first.  So when a frontend can connect, all parts behind it
 * are running.
 *
 * A new configuration is read completely before anything is changed.  Settings that can change
 * while guests read are changed at once.  For all other settings the answer says that they need a
 * restart.
 */
#include "control/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/background.h"
#include "base/clock.h"
#include "base/daemon_process.h"
#include "base/error.h"
#include "base/hypervisor.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/program.h"
#include "base/timer.h"
#include "base/version.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "control/control.h"
#include "control/datanodes.h"
#include "control/helper.h"
#include "control/port_settings.h"
#include "control/privileges.h"
#include "control/reload.h"
#include "control/restart.h"
#include "control/stop_limit.h"
#include "peer/peer.h"
#include "policy/audit.h"
#include "policy/key_agent.h"
#include "policy/policy.h"
#include "port/ivshmem/ivshmem.h"
#include "port/local/local.h"
#include "port/xen/disks.h"
#include "port/xen/provisioned.h"
#include "port/xen/xen.h"
#include "ring/session.h"

#define FIT_CACHE_MS 1000U
#define LOOK_FOR_XEN_MS 10000U

struct daemon {
	const struct config *config; /* from the start */
	struct config *reloaded;     /* from the last successful reload; NULL: none */
	const char *config_path;
	int log_level;       /* -1: as configured */
	json_t *last_reload; /* the answer to the last reload, for the status; NULL: none */
	time_t reload_time;
	time_t started;
	sd_event *event;
	struct privileges privileges;
	struct helper key_agent;
	sd_event_source *answers; /* of the datanodes, for a status */
	struct timer *fit_cache;
	struct timer *look_for_xen; /* running: there is no xenstore yet */
	struct xen_disks *disks;
	struct xen_provisioned *provisioned;
	struct datanodes datanodes;
	struct peers *peers; /* NULL: no peers are configured */
	struct session_server *sessions;
	struct control *control;
	struct policy *local_policy;
	struct local_port *local;
	struct xen_port *xen;
	struct ivshmem_port *ivshmem;
};

/* ---- status document --------------------------------------------------------- */

static time_t now(void)
{
	return (time_t)(clock_ms() / 1000);
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
	json_object_set_new(ports, "kvm", ivshmem_port_status(d->ivshmem));
	return ports;
}

static json_t *devices_status(const struct daemon *d)
{
	json_t *devices = json_array(), *device, *counters;
	json_t *local = d->local ? local_port_devices(d->local) : NULL;
	json_t *xen = d->xen ? xen_port_devices(d->xen) : NULL;
	json_t *ivshmem = ivshmem_port_devices(d->ivshmem);
	size_t i;

	json_array_extend(devices, xen);
	json_array_extend(devices, ivshmem);
	json_array_extend(devices, local);
	json_decref(xen);
	json_decref(ivshmem);
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

/* The member "reload" of the status; a new reference. */
static json_t *reload_status(const struct daemon *d)
{
	json_t *o = d->last_reload ? json_copy(d->last_reload) : json_null();

	if (json_is_object(o))
		json_object_set_new(o, "seconds_ago",
				    json_integer((json_int_t)(now() - d->reload_time)));
	return o;
}

static uint64_t ask(void *ctx)
{
	struct daemon *d = ctx;

	return registry_ask_states(block_store_registry(d->datanodes.store));
}

static bool is_known(void *ctx, uint64_t question)
{
	struct daemon *d = ctx;

	return registry_states_known(block_store_registry(d->datanodes.store), question);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	eventfd_t count;

	(void)source, (void)events;
	eventfd_read(fd, &count);
	if (d->control)
		control_heard(d->control);
	return 0;
}

static json_t *status(void *ctx, uint64_t question)
{
	const struct daemon *d = ctx;

	return json_pack("{s:s, s:i, s:s, s:i, s:b, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:{s:I, s:I}}",
			 "version", VREAD_VERSION, "pid", (int)getpid(), "user", d->privileges.user,
			 "group", (int)getegid(), "opener", d->privileges.opener.pid > 0,
			 "uptime_seconds", (json_int_t)(now() - d->started), "config",
			 d->config_path, "reload", reload_status(d), "datanodes",
			 datanodes_status(&d->datanodes, question), "keys",
			 datanodes_keys_status(&d->datanodes), "storage_record",
			 datanodes_record_status(&d->datanodes), "clones",
			 datanodes_clones_status(&d->datanodes), "ports", ports_status(d),
			 "devices", devices_status(d), "totals", session_server_totals(d->sessions),
			 "reading", block_store_reading_status(d->datanodes.store), "peers",
			 d->peers ? peers_status(d->peers) : json_null(), "log", "left_out",
			 (json_int_t)log_limit_left_out(), "lost", (json_int_t)log_lost());
}

static int move(void *ctx, const char *storage, const char *host, char **ret_error)
{
	struct daemon *d = ctx;
	int r = d->peers ? peers_move(d->peers, storage, host) : -ENOENT;

	if (r == -ENOENT)
		return error_text(ret_error, r, "%s: no such peer: expected a [peer NAME] of %s",
				  host ? host : "null", d->config_path);
	if (r == -EINVAL)
		return error_text(ret_error, r,
				  "%s: the datanode of this storage is not known: expected "
				  "DATANODE/STORAGE-ID",
				  storage);
	if (r == -EPERM)
		return error_text(ret_error, r,
				  "%s: the configuration says whose this storage is: correct "
				  "storages in %s",
				  storage, d->config_path);
	return r ? error_text(ret_error, r, "%s: %s", storage, strerror(-r)) : 0;
}

static int give(void *ctx, const char *storage, const char *datanode, char **ret_error)
{
	struct daemon *d = ctx;
	int r = datanodes_give(&d->datanodes, storage, datanode);

	if (r == -ENOENT)
		return error_text(ret_error, r,
				  "%s: no such datanode: expected a [datanode NAME] of %s",
				  datanode, d->config_path);
	if (r == -EPERM)
		return error_text(ret_error, r,
				  "%s: the configuration says whose this storage is: correct "
				  "storages in %s",
				  storage, d->config_path);
	if (r == -EINVAL)
		return error_text(ret_error, r, "%s: expected a storage's id (DS-...)", storage);
	if (r == 0)
		log_datanode(LOG_LEVEL_INFO, datanode, "storage %s is its own from now on",
			     storage);
	if (r == 0 && d->peers)
		peers_forget_move(d->peers, storage);
	return r ? error_text(ret_error, r, "%s: %s", storage, strerror(-r)) : 0;
}

static void leave(void *ctx, const char *datanode)
{
	struct daemon *d = ctx;

	registry_leave(block_store_registry(d->datanodes.store), datanode);
	log_datanode(LOG_LEVEL_INFO, datanode, "its domain has left this host");
}

/* ---- reloading ------------------------------------------------------------------------ */

static void tell_systemd(const struct daemon *d)
{
	sd_notifyf(0, "READY=1\nSTATUS=%zu datanodes are configured", d->datanodes.sections->count);
}

/* Applies c, and takes it over.  New reference: the answer to "reload". */
static json_t *apply(struct daemon *d, struct config *c)
{
	const struct reload_parts parts = {
		.datanodes = &d->datanodes,
		.local = d->local,
		.local_policy = d->local_policy,
		.xen = d->xen,
		.ivshmem = d->ivshmem,
		.peers = d->peers,
		.keep_log_level = d->log_level >= 0,
	};
	json_t *answer = reload_apply(&parts, d->reloaded ? d->reloaded : d->config, c);
	json_t *needed = restart_needed(d->config, c), *what;
	size_t i;

	json_array_foreach(needed, i, what)
		log_warn("reload: needs a restart: %s", json_string_value(what));
	log_info("reload: %s is applied", d->config_path);
	json_object_set_new(answer, "restart", needed);
	config_free(d->reloaded);
	d->reloaded = c;
	return answer;
}

/* Loads and applies the configuration file.  New reference: the answer, which the status shows,
 * too. */
static json_t *reload(void *ctx)
{
	struct daemon *d = ctx;
	struct config *c;
	json_t *problems = NULL;

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_measure_ns() / 1000);
	json_decref(d->last_reload);
	d->reload_time = now();
	d->last_reload =
		config_load(d->config_path, &c, &problems) ? reload_refused(problems) : apply(d, c);
	tell_systemd(d);
	return json_incref(d->last_reload);
}

static const struct control_commands commands = {
	.ask = ask,
	.is_known = is_known,
	.status = status,
	.move = move,
	.give = give,
	.leave = leave,
	.reload = reload,
};

/* ---- parts ------------------------------------------------------------------------ */

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	(void)source, (void)si;
	json_decref(reload(userdata));
	return 0;
}

static int drop_privileges(struct daemon *d)
{
	int r = privileges_drop(&d->privileges, d->config, d->config_path);

	if (r || d->privileges.opener.pid <= 0)
		return r;
	return helper_watch(&d->privileges.opener, d->event,
			    "vread-opener has ended, and without it no image can be opened");
}

/* The process has no environment but a test's clock. */
static int start_key_agent(struct daemon *d)
{
	char *const argv[] = {"vread-key-agent", NULL}, *const env[] = {(char *)clock_setting(),
									NULL};
	const struct program how = {.arguments = argv,
				    .environment = env,
				    .socket_type = SOCK_SEQPACKET,
				    .num_channels = 1,
				    .first_fd = KEY_AGENT_FD};
	int channel;
	int r = helper_start(&d->key_agent, &how, &channel);

	if (r < 0)
		return r;
	r = key_agent_use(channel);
	if (r < 0)
		log_error("vread-key-agent does not get ready: %s", strerror(-r));
	if (r < 0)
		return r;
	return helper_watch(&d->key_agent, d->event,
			    "vread-key-agent has ended, and with it the keys of block tokens");
}

/* The agent has no right that vreadd has given up. */
static int start_helpers(struct daemon *d)
{
	int r = drop_privileges(d);

	return r ? r : start_key_agent(d);
}

static int start_local(struct daemon *d, const struct port_events *events)
{
	struct local_settings settings = port_local_settings(d->config);

	if (!d->config->local.socket[0])
		return 0;
	d->local_policy = port_local_policy(d->config);
	if (!d->local_policy)
		return -EINVAL;
	settings.policy = d->local_policy;
	return local_port_start(&d->local, d->event, &settings, events);
}

/*
 * Xen's port is set up when vreadd starts. Where xenstored comes later, vreadd ends, and its
 * service manager starts it again. Nobody else would.
 */
static void look_for_xen(void *ctx)
{
	struct daemon *d = ctx;

	if (!xen_store_answers()) {
		timer_start(&d->look_for_xen, d->event, LOOK_FOR_XEN_MS, look_for_xen, d);
	} else if (getenv("NOTIFY_SOCKET")) {
		log_warn("there is a xenstore now: vreadd ends, so that its service starts it "
			 "again, with Xen");
		sd_event_exit(d->event, -EAGAIN);
	} else {
		log_error("there is a xenstore now, and vreadd does not serve guests of Xen: "
			  "restart vreadd");
	}
}

static int start_xen(struct daemon *d, const struct port_events *events)
{
	const struct config *c = d->config;
	struct xen_settings settings = port_xen_settings(c);
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
	return timer_start(&d->look_for_xen, d->event, LOOK_FOR_XEN_MS, look_for_xen, d);
}

static int start_ivshmem(struct daemon *d, const struct port_events *events)
{
	struct ivshmem_settings settings;
	struct ivshmem_rights *rights;
	int r;

	if (!port_ivshmem_settings(d->config, &settings, &rights))
		return -ENOMEM;
	r = ivshmem_port_start(&d->ivshmem, d->event, &settings, events);
	free(rights);
	return r;
}

static void disks_changed(void *ctx)
{
	struct daemon *d = ctx;

	registry_usage_changed(block_store_registry(d->datanodes.store));
}

static void keys_changed(void *ctx)
{
	struct daemon *d = ctx;

	datanodes_follow_keys(&d->datanodes);
	tell_systemd(d);
}

/* Again and again: fits the cache of verified bytes to the memory of the host. */
static void fit_cache(void *ctx)
{
	struct daemon *d = ctx;
	int r;

	block_store_fit_cache(d->datanodes.store);
	r = timer_start(&d->fit_cache, d->event, FIT_CACHE_MS, fit_cache, d);
	if (r)
		log_error("cannot start a timer, so the cache keeps its size: %s", strerror(-r));
}

static int start_datanodes(struct daemon *d)
{
	int r = 0;

	if (d->config->xen.enabled != CONFIG_NO)
		r = xen_disks_start(&d->disks, d->event, disks_changed, d);
	if (!r && d->config->xen.datanode_keys)
		r = xen_provisioned_start(&d->provisioned, d->event, keys_changed, d);
	if (r && r != -ENODEV)
		return r;
	r = datanodes_open(&d->datanodes, d->config, d->disks, d->provisioned);
	if (r)
		return r;
	fit_cache(d);
	r = sd_event_add_io(d->event, &d->answers,
			    registry_states_fd(block_store_registry(d->datanodes.store)), EPOLLIN,
			    on_answer, d);
	return r < 0 ? r : 0;
}

/* Takes over error. */
static int peers_failed(const struct daemon *d, int r, char *error)
{
	if (r)
		log_error("%s: %s", d->config_path, error ? error : strerror(-r));
	free(error);
	return r;
}

static int make_peers(struct daemon *d)
{
	char *error = NULL;
	int r;

	if (!d->config->peers.line)
		return 0;
	r = peers_new(&d->config->peers, d->datanodes.store, &d->peers, &error);
	return peers_failed(d, r, error);
}

static int start_peers(struct daemon *d)
{
	char *error = NULL;
	int r = d->peers ? peers_start(d->peers, d->event, &error) : 0;

	return peers_failed(d, r, error);
}

static int check_served(const struct daemon *d)
{
	const struct config *c = d->config;

	if (d->local || d->xen || c->peers.listen[0] || c->num_ivshmem)
		return 0;
	log_error("nothing to serve: no Xen here, no [ivshmem NAME], and neither a socket in "
		  "[local] nor listen in [peers] is set in %s",
		  d->config_path);
	/* Where Xen runs, xenstored may come later than this program. */
	return hypervisor_is_xen() ? -ENODEV : DAEMON_IDLE;
}

static int start(struct daemon *d)
{
	struct port_events events;
	int r = 0;

	/* First, as a second vreadd must end here, before it touches what the first one keeps.
	 * Questions wait in the socket's queue until the event loop runs. */
	if (d->config->control_socket[0])
		r = control_start(&d->control, d->event, d->config->control_socket, &commands, d);
	if (!r)
		r = start_datanodes(d);
	if (r)
		return r;
	/* The lookers judge storages, and need to know the peers. */
	r = make_peers(d);
	if (r)
		return r;
	r = registry_start(block_store_registry(d->datanodes.store));
	if (r) {
		log_error("cannot start a thread: %s", strerror(-r));
		return r;
	}
	r = start_peers(d);
	if (r)
		return r;
	d->sessions = session_server_new(d->datanodes.store, d->peers, d->event);
	if (!d->sessions)
		return -ENOMEM;
	events = session_server_events(d->sessions);
	r = start_ivshmem(d, &events);
	if (!r)
		r = start_local(d, &events);
	if (!r)
		r = start_xen(d, &events);
	return r ? r : check_served(d);
}

/* Ends the sessions of all devices. */
static void close_devices(struct daemon *d)
{
	xen_port_close(d->xen);
	ivshmem_port_close(d->ivshmem);
	local_port_close(d->local);
	if (d->sessions)
		session_server_wait(d->sessions);
	xen_port_free(d->xen);
	ivshmem_port_free(d->ivshmem);
	local_port_free(d->local);
	session_server_free(d->sessions);
}

static void stop(struct daemon *d)
{
	struct stop_limit limit;

	stop_limit_begin(&limit);
	control_stop(d->control);
	d->control = NULL;
	close_devices(d);
	peers_free(d->peers);
	sd_event_source_disable_unref(d->answers);
	d->fit_cache = timer_free(d->fit_cache);
	d->look_for_xen = timer_free(d->look_for_xen);
	datanodes_close(&d->datanodes);
	key_agent_end();
	helper_end(&d->key_agent);
	privileges_end(&d->privileges);
	xen_provisioned_stop(d->provisioned);
	xen_disks_stop(d->disks);
	policy_free(d->local_policy);
	json_decref(d->last_reload);
	config_free(d->reloaded);
	background_wait();
	stop_limit_end(&limit);
}

/* If systemd asks for a watchdog, the event loop tells systemd regularly that it runs. */
static int keep_watchdog(sd_event *event)
{
	int r = sd_event_set_watchdog(event, true);

	if (r < 0)
		log_error("cannot keep systemd's watchdog: %s", strerror(-r));
	return r < 0 ? r : 0;
}

int daemon_run(const struct config *config, const char *config_path, int log_level)
{
	struct daemon d = {.config = config,
			   .config_path = config_path,
			   .log_level = log_level,
			   .started = now()};
	int r = sd_event_new(&d.event);

	if (r < 0) {
		log_error("cannot make an event loop: %s", strerror(-r));
		return r;
	}
	audit_set(config->audit);
	daemon_raise_file_limit();
	signal(SIGCHLD, SIG_DFL); /* children are waited for; SIG_IGN would lose their status */
	r = daemon_catch_signals(d.event, on_hangup, &d);
	if (!r)
		r = start_helpers(&d);
	if (!r)
		r = start(&d);
	if (!r)
		r = keep_watchdog(d.event);
	if (!r) {
		tell_systemd(&d);
		log_event(LOG_EVENT_READY, LOG_LEVEL_INFO, NULL, "vreadd " VREAD_VERSION ": ready");
		r = sd_event_loop(d.event);
	} else if (r < 0) {
		log_error("cannot start: %s", strerror(-r));
	}
	sd_notify(0, "STOPPING=1\nSTATUS=Closing devices");
	stop(&d);
	sd_event_unref(d.event);
	return r;
}
