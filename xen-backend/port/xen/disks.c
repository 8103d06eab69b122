// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements disks.h: finds the virtual disks that use an image. control/ calls it.
 *
 * The list of disks is read again only after a watch reported a change. What the devices are made
 * of (such as the flags of a loop device) is examined at each call, because no watch reports it.
 */
#include "port/xen/disks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/log.h"
#include "base/number.h"
#include "disk/backing.h"
#include "port/xen/store.h"

#define MAX_DISKS 65536U
#define MAX_DOMID 0x7fefU

/*
 * Directories below backend/, the program that serves each, and whether that program bypasses the
 * page cache of a file in every case.
 */
static const struct kind {
	const char *directory, *server;
	bool direct;
} kinds[] = {
	{"vbd", "blkback", false},
	{"qdisk", "qemu", false},
	{"vbd3", "tapdisk", true},
};
#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct vdisk {
	const struct kind *kind;
	uint32_t domid, id;
	char *path;     /* path of a file or device; NULL: none */
	bool on_device; /* device is set */
	dev_t device;
	bool writes;
	bool direct_io_safe;
};

struct xen_disks {
	struct xs_handle *xs;
	uint32_t domid; /* our own */
	sd_event_source *watch_io;
	void (*changed)(void *ctx);
	void *ctx;

	atomic_bool stale;    /* the disks below must be read again */
	pthread_mutex_t lock; /* protects the disks below and their reading from xenstore */
	struct vdisk *disks;
	size_t count;
};

/* ---- reading ------------------------------------------------------------------ */

/* Returns a value fit for paths and messages (free() it), or NULL. */
static char *value_of(struct xen_disks *d, const char *directory, const char *node)
{
	char *value;

	return store_read(d->xs, XBT_NULL, &value, "%s/%s", directory, node) == 0 ? value : NULL;
}

/* Parses a device such as "fe:0", both numbers hexadecimal, as hotplug scripts write it. */
static bool parse_physical_device(const char *text, dev_t *ret)
{
	unsigned hi, lo;
	char end;

	if (sscanf(text, "%x:%x%c", &hi, &lo, &end) != 2)
		return false;
	*ret = makedev(hi, lo);
	return true;
}

/*
 * Returns a copy of the path in "aio:/srv/dn1.img", "phy:/dev/vg/dn1" or a bare path; NULL: there
 * is no path.
 */
static char *path_in(const char *params)
{
	const char *path = params ? strchr(params, '/') : NULL;

	return path ? strdup(path) : NULL;
}

static bool is_set(const char *value)
{
	return value && strcmp(value, "0") != 0;
}

static void read_disk(struct xen_disks *d, const char *directory, struct vdisk *disk)
{
	char *params = value_of(d, directory, "params");
	char *device = value_of(d, directory, "physical-device");
	char *mode = value_of(d, directory, "mode");
	char *direct = value_of(d, directory, "direct-io-safe");

	disk->path = path_in(params);
	disk->on_device = device && parse_physical_device(device, &disk->device);
	disk->writes = mode && mode[0] == 'w';
	disk->direct_io_safe = is_set(direct);
	free(params);
	free(device);
	free(mode);
	free(direct);
}

static void add_disk(struct xen_disks *d, const struct kind *kind, uint32_t domid, const char *id)
{
	char directory[STORE_MAX_PATH];
	struct vdisk *grown, disk = {.kind = kind, .domid = domid};

	if (!parse_number(id, 0, UINT32_MAX, &disk.id) || d->count == MAX_DISKS)
		return;
	grown = reallocarray(d->disks, d->count + 1, sizeof(*grown));
	if (!grown)
		return;
	d->disks = grown;
	snprintf(directory, sizeof(directory), "/local/domain/%u/backend/%s/%u/%u", d->domid,
		 kind->directory, domid, disk.id);
	read_disk(d, directory, &disk);
	d->disks[d->count++] = disk;
}

static void add_kind(struct xen_disks *d, const struct kind *kind)
{
	unsigned num_domains, num_ids;
	uint32_t domid;
	char **domains = store_list(d->xs, &num_domains, "/local/domain/%u/backend/%s", d->domid,
				    kind->directory);

	for (unsigned i = 0; domains && i < num_domains; i++) {
		char **ids;

		if (!parse_number(domains[i], 0, MAX_DOMID, &domid))
			continue;
		ids = store_list(d->xs, &num_ids, "/local/domain/%u/backend/%s/%u", d->domid,
				 kind->directory, domid);
		for (unsigned j = 0; ids && j < num_ids; j++)
			add_disk(d, kind, domid, ids[j]);
		free(ids);
	}
	free(domains);
}

static void forget_all(struct xen_disks *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->disks[i].path);
	free(d->disks);
	d->disks = NULL;
	d->count = 0;
}

static void read_all(struct xen_disks *d)
{
	forget_all(d);
	for (unsigned i = 0; i < NUM_KINDS; i++)
		add_kind(d, &kinds[i]);
}

/* ---- whose an image is ----------------------------------------------------------- */

static bool backing_of_disk(const struct vdisk *disk, struct backing *ret)
{
	if (!disk->on_device)
		return disk->path && backing_of_path(disk->path, ret);
	backing_of_device(disk->device, ret);
	return true;
}

/*
 * True if the image must be read with O_DIRECT. On a block device O_DIRECT is right for every
 * writer: the kernel first writes back what is dirty in its page cache.
 */
static bool goes_past_cache(const struct vdisk *disk, const struct backing *b)
{
	return b->block_device || b->loop_direct || disk->kind->direct || disk->direct_io_safe;
}

static const char *way_of(const struct vdisk *disk, const struct backing *b)
{
	if (b->block_device)
		return "";
	if (b->loop)
		return b->loop_direct ? " through a loop device with O_DIRECT"
				      : " through a loop device";
	return goes_past_cache(disk, b) ? " with O_DIRECT" : " through the page cache";
}

/* Adds one writer to the usage of an image: disk is the image, and its domain may write to it. */
static void add_writer(struct image_usage *u, const struct vdisk *disk, const struct backing *b)
{
	bool direct = goes_past_cache(disk, b);

	if (u->owner != IMAGE_NO_OWNER && u->owner != disk->domid && !u->warning[0])
		snprintf(u->warning, sizeof(u->warning),
			 "domains %u and %u can both write to it: detach it from one of them, or "
			 "its file system will be destroyed",
			 (unsigned)u->owner, disk->domid);
	if (u->mode != SOURCE_AUTO && !(direct && u->mode == SOURCE_BUFFERED))
		return;
	u->mode = direct ? SOURCE_DIRECT : SOURCE_BUFFERED;
	u->owner = disk->domid;
	snprintf(u->because, sizeof(u->because), "%s %u of domain %u, written by %s%s",
		 disk->kind->directory, disk->id, disk->domid, disk->kind->server, way_of(disk, b));
}

static void find_writers(const struct xen_disks *d, const struct backing *image,
			 struct image_usage *ret)
{
	struct backing b;

	for (size_t i = 0; i < d->count; i++)
		if (d->disks[i].writes && backing_of_disk(&d->disks[i], &b) &&
		    backing_same(&b, image))
			add_writer(ret, &d->disks[i], &b);
}

void xen_disks_usage(struct xen_disks *d, const char *path, struct image_usage *ret)
{
	struct backing image;
	char where[200];

	*ret = (struct image_usage){.mode = SOURCE_AUTO, .owner = IMAGE_NO_OWNER};
	if (!backing_of_path(path, &image))
		return;
	snprintf(ret->because, sizeof(ret->because), "no domain can write to it");
	pthread_mutex_lock(&d->lock);
	if (atomic_exchange(&d->stale, false))
		read_all(d);
	find_writers(d, &image, ret);
	pthread_mutex_unlock(&d->lock);
	if (!ret->warning[0] && backing_mounted(&image, where, sizeof(where)))
		snprintf(ret->warning, sizeof(ret->warning),
			 "mounted in this domain too, at %s: unmount it, or its file system "
			 "will be destroyed",
			 where);
}

/* ---- watching ----------------------------------------------------------------------- */

/*
 * True if a change of this node may change the list of disks. path is below
 * /local/domain/<n>/backend/<kind>/<domid>/<id>. States and statistics change all the time and tell
 * nothing about attached disks.
 */
static bool matters(const char *path)
{
	static const char *const nodes[] = {"params", "physical-device", "mode", "direct-io-safe"};
	const char *node = path;

	for (unsigned depth = 0; depth < 8; depth++) {
		node = strchr(node, '/');
		if (!node)
			return true; /* a directory was created or removed */
		node++;
	}
	for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (!strcmp(node, nodes[i]))
			return true;
	return false;
}

static int on_watch_fd(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct xen_disks *d = userdata;
	bool any = false;
	char **event;

	(void)fd, (void)events;
	while ((event = xs_check_watch(d->xs)) != NULL) {
		any |= matters(event[XS_WATCH_PATH]);
		free(event);
	}
	if (errno != EAGAIN)
		sd_event_source_set_enabled(source, SD_EVENT_OFF); /* the Xen port logs the error */
	if (!any)
		return 0;
	atomic_store(&d->stale, true);
	d->changed(d->ctx);
	return 0;
}

static int watch(struct xen_disks *d, sd_event *event)
{
	int r = sd_event_add_io(event, &d->watch_io, xs_fileno(d->xs), EPOLLIN, on_watch_fd, d);

	for (unsigned i = 0; r >= 0 && i < NUM_KINDS; i++) {
		char path[STORE_MAX_PATH];

		snprintf(path, sizeof(path), "/local/domain/%u/backend/%s", d->domid,
			 kinds[i].directory);
		if (!xs_watch(d->xs, path, kinds[i].directory))
			r = -errno;
	}
	if (r < 0)
		log_error("cannot watch the virtual disks of domain %u: %s", d->domid,
			  strerror(-r));
	return r < 0 ? r : 0;
}

int xen_disks_start(struct xen_disks **ret, sd_event *event, void (*changed)(void *ctx), void *ctx)
{
	struct xs_handle *xs = xs_open(XS_UNWATCH_FILTER);
	struct xen_disks *d;
	int r;

	if (!xs)
		return -ENODEV;
	d = calloc(1, sizeof(*d));
	if (!d) {
		xs_close(xs);
		return -ENOMEM;
	}
	pthread_mutex_init(&d->lock, NULL);
	d->xs = xs;
	atomic_init(&d->stale, true);
	d->changed = changed;
	d->ctx = ctx;
	if (store_read_number(xs, MAX_DOMID, &d->domid, "domid") < 0)
		d->domid = 0;
	r = watch(d, event);
	if (r < 0) {
		xen_disks_stop(d);
		return r;
	}
	*ret = d;
	return 0;
}

void xen_disks_stop(struct xen_disks *d)
{
	if (!d)
		return;
	sd_event_source_disable_unref(d->watch_io);
	xs_close(d->xs);
	forget_all(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
