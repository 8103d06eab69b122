// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements provisioned.h.
 *
 * An event says only that something may have changed: all keys are read anew, once for all events
 * that have come. A guest cannot cause such an event often: what changes when a guest connects, or
 * when a disk is used, is left out by its name.
 */
#include "port/xen/provisioned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "port/xen/disk_list.h"
#include "port/xen/store.h"
#include "vread-nodes.h"

#define TOKEN_KEYS "keys"
#define TOKEN_DOMAINS "domains"
#define DEPTH_OF_DEVICES 7U /* of the names in /local/domain/B/backend/KIND/DOMID/ID */

struct xen_provisioned {
	struct xs_handle *xs;
	uint32_t domid; /* our own */
	sd_event_source *watch_io;
	void (*changed)(void *ctx);
	void *ctx;
	struct keys_list keys;
};

/* ---- the keys ------------------------------------------------------------------------ */

/* If the keys cannot be read, they stay what they were. */
static void read_keys(struct xen_provisioned *p)
{
	struct keys_list found;
	int r = keys_read(p->xs, p->domid, &found);

	if (r) {
		log_error("xenstore: cannot read the keys of datanodes: %s", strerror(-r));
		return;
	}
	keys_free(&p->keys);
	p->keys = found;
}

const struct keys_list *xen_provisioned_keys(const struct xen_provisioned *p)
{
	return &p->keys;
}

struct status {
	const struct keys *keys;
	const char *text;
};

/* Does not write if the keys were removed meanwhile: writing would create their directory again. */
static int write_status(struct xs_handle *xs, xs_transaction_t t, const void *ctx)
{
	const struct status *s = ctx;
	char *value;
	int r = store_read(xs, t, &value, "%s", s->keys->path);

	if (r)
		return r;
	free(value);
	return store_write(xs, t, s->keys->path, VREAD_NODE_STATUS, s->text);
}

void xen_provisioned_tell(struct xen_provisioned *p, size_t i, const char *status)
{
	struct keys *k = &p->keys.keys[i];
	const struct status s = {k, status};
	int r;

	if (k->value[KEYS_STATUS] && strcmp(k->value[KEYS_STATUS], status) == 0)
		return;
	r = store_change(p->xs, write_status, &s);
	if (r && r != -ENOENT)
		log_error("%s/" VREAD_NODE_STATUS ": cannot write: %s", k->path, strerror(-r));
	free(k->value[KEYS_STATUS]);
	k->value[KEYS_STATUS] = r ? NULL : strdup(status);
}

/* ---- watching -------------------------------------------------------------------------- */

/* The part of a path that is below the directory of a device; NULL: the path is not that deep. */
static const char *below_device(const char *path)
{
	for (unsigned depth = 0; path && depth <= DEPTH_OF_DEVICES; depth++) {
		path = strchr(path, '/');
		path = path ? path + 1 : NULL;
	}
	return path;
}

/*
 * True if a change of this node may change what the keys say. Our own status does not, nor do the
 * states and statistics of devices.
 */
static bool matters(const char *path)
{
	static const char *const of_disks[] = {"params", "tapdisk-params", "physical-device-path",
					       "dev"};
	const char *node = below_device(path);

	if (!node || strcmp(node, "datanode") == 0)
		return true; /* a directory was created or removed */
	if (strncmp(node, "datanode/", strlen("datanode/")) == 0)
		return strcmp(node, "datanode/" VREAD_NODE_STATUS) != 0;
	for (unsigned i = 0; i < sizeof(of_disks) / sizeof(of_disks[0]); i++)
		if (strcmp(node, of_disks[i]) == 0)
			return true;
	return false;
}

static int on_watch_fd(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct xen_provisioned *p = userdata;
	bool any = false;
	char **event;

	(void)fd, (void)events;
	while ((event = xs_check_watch(p->xs)) != NULL) {
		any |= matters(event[XS_WATCH_PATH]);
		free(event);
	}
	if (errno != EAGAIN)
		sd_event_source_set_enabled(source, SD_EVENT_OFF); /* the Xen port logs the error */
	else if (any) {
		read_keys(p);
		p->changed(p->ctx);
	}
	return 0;
}

static bool watch_below(struct xen_provisioned *p, const char *kind)
{
	char path[STORE_MAX_PATH];

	snprintf(path, sizeof(path), "/local/domain/%u/backend/%s", p->domid, kind);
	return xs_watch(p->xs, path, TOKEN_KEYS);
}

static int watch(struct xen_provisioned *p, sd_event *event)
{
	int r = sd_event_add_io(event, &p->watch_io, xs_fileno(p->xs), EPOLLIN, on_watch_fd, p);
	bool ok;

	if (r < 0)
		return r;
	ok = watch_below(p, VREAD_DEVICE_TYPE) && xs_watch(p->xs, "@releaseDomain", TOKEN_DOMAINS);
	for (unsigned i = 0; ok && i < DISK_KINDS; i++)
		ok = watch_below(p, disk_kinds[i].directory);
	return ok ? 0 : -errno;
}

int xen_provisioned_start(struct xen_provisioned **ret, sd_event *event, void (*changed)(void *ctx),
			  void *ctx)
{
	struct xs_handle *xs = xs_open(XS_UNWATCH_FILTER);
	struct xen_provisioned *p;
	int r;

	if (!xs)
		return -ENODEV;
	p = calloc(1, sizeof(*p));
	if (!p) {
		xs_close(xs);
		return -ENOMEM;
	}
	*p = (struct xen_provisioned){.xs = xs, .changed = changed, .ctx = ctx};
	if (store_read_number(xs, DISK_LIST_MAX_DOMID, &p->domid, "domid") < 0)
		p->domid = 0;
	r = watch(p, event);
	if (r) {
		log_error("cannot watch the keys of datanodes: %s", strerror(-r));
		xen_provisioned_stop(p);
		return r;
	}
	read_keys(p);
	*ret = p;
	return 0;
}

void xen_provisioned_stop(struct xen_provisioned *p)
{
	if (!p)
		return;
	sd_event_source_disable_unref(p->watch_io);
	xs_close(p->xs);
	keys_free(&p->keys);
	free(p);
}
