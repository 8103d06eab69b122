// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements disks.h: finds the virtual disks that use an image. control/ calls it.
 *
 * The list of disks is read again only after a watch reported a change. What the devices are made
 * of (such as the flags of a loop device) is examined at each call, because no watch reports it.
 *
 * The disks of all domains are examined for each image, and the storage below one of them may hang.
 * So no lock is held meanwhile, each disk is examined by one thread at a time, and a disk that
 * cannot be examined is taken for what it was.
 */
#include "port/xen/disks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "port/xen/disk_list.h"

#define FIRST_MS 2000U /* limit of the wait until a disk has been examined for the first time */

struct xen_disks {
	struct xs_handle *xs;
	uint32_t domid; /* our own */
	sd_event_source *watch_io;
	void (*changed)(void *ctx);
	void *ctx;

	atomic_bool stale;    /* the list must be read again */
	pthread_mutex_t lock; /* protects the list and its reading from xenstore */
	pthread_cond_t examined;
	struct disk_list *list; /* NULL: not read yet */
};

/* With the lock. */
static void replace_list(struct xen_disks *d)
{
	struct disk_list *list = disk_list_read(d->xs, d->domid, d->list);

	if (!list) {
		atomic_store(&d->stale, true);
		return;
	}
	disk_list_put(d->list);
	d->list = list;
}

/* With the lock. Returns a reference; NULL: there was never memory for a list. */
static struct disk_list *present_list(struct xen_disks *d)
{
	if (atomic_exchange(&d->stale, false))
		replace_list(d);
	if (d->list)
		d->list->references++;
	return d->list;
}

/* ---- whose an image is ----------------------------------------------------------- */

/* Without the lock. */
static int examine(const struct vdisk *disk, struct backing *ret)
{
	if (disk->on_device)
		return backing_of_device(disk->device, OPENER_OTHERS, ret);
	return disk->path ? backing_of_path(disk->path, OPENER_OTHERS, ret) : 0;
}

/* With the lock. */
static void note(struct vdisk *disk, int found, const struct backing *backing)
{
	if (found < 0 && !disk->unknown)
		log_warn("%s %u of domain %u: cannot tell what %s is: %s; check the storage below "
			 "it",
			 disk->kind->directory, disk->id, disk->domid,
			 disk->path ? disk->path : "it", strerror(-found));
	disk->unknown = found < 0;
	if (found < 0)
		return;
	disk->found = found;
	disk->backing = *backing;
}

/* With the lock, which is released while the disk is examined. */
static void examine_unlocked(struct xen_disks *d, struct vdisk *disk)
{
	struct backing b;
	int found;

	disk->examining = true;
	pthread_mutex_unlock(&d->lock);
	found = examine(disk, &b);
	pthread_mutex_lock(&d->lock);
	disk->examining = false;
	note(disk, found, &b);
	pthread_cond_broadcast(&d->examined);
}

/* Returns false if the disk has no storage, or if nobody has ever been able to tell. */
static bool backing_of_disk(struct xen_disks *d, struct vdisk *disk, struct backing *ret)
{
	uint64_t until = clock_ms() + FIRST_MS;
	bool found;

	pthread_mutex_lock(&d->lock);
	if (!disk->examining)
		examine_unlocked(d, disk);
	while (disk->examining && disk->found < 0 && clock_wait(&d->examined, &d->lock, until))
		;
	found = disk->found > 0;
	*ret = disk->backing;
	pthread_mutex_unlock(&d->lock);
	return found;
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

/* A disk with the name of the image is the image, and is not examined. */
static bool is_image(struct xen_disks *d, struct vdisk *disk, const char *path,
		     const struct backing *image, struct backing *ret)
{
	if (!disk->on_device && disk->path && !strcmp(disk->path, path)) {
		*ret = *image;
		return true;
	}
	return backing_of_disk(d, disk, ret) && backing_same(ret, image);
}

static void find_writers(struct xen_disks *d, struct disk_list *list, const char *path,
			 const struct backing *image, struct image_usage *ret)
{
	struct backing b;

	for (size_t i = 0; i < list->count; i++)
		if (list->disks[i]->writes && is_image(d, list->disks[i], path, image, &b))
			add_writer(ret, list->disks[i], &b);
}

static void find_usage(struct xen_disks *d, struct disk_list *list, const char *path,
		       struct image_usage *usage)
{
	struct backing image;
	char where[200];
	int r = backing_of_path(path, OPENER_OURS, &image);

	if (r < 0)
		return;
	*usage = (struct image_usage){.mode = SOURCE_AUTO, .owner = IMAGE_NO_OWNER};
	if (r == 0)
		return;
	snprintf(usage->because, sizeof(usage->because), "no domain can write to it");
	find_writers(d, list, path, &image, usage);
	if (!usage->warning[0] && backing_mounted(&image, where, sizeof(where)))
		snprintf(usage->warning, sizeof(usage->warning),
			 "mounted in this domain too, at %s: unmount it, or its file system "
			 "will be destroyed",
			 where);
}

void xen_disks_usage(struct xen_disks *d, const char *path, struct image_usage *usage)
{
	struct disk_list *list;

	pthread_mutex_lock(&d->lock);
	list = present_list(d);
	pthread_mutex_unlock(&d->lock);
	if (!list)
		return;
	find_usage(d, list, path, usage);
	pthread_mutex_lock(&d->lock);
	disk_list_put(list);
	pthread_mutex_unlock(&d->lock);
}

/* ---- watching ----------------------------------------------------------------------- */

/*
 * True if a change of this node may change the list of disks. path is below
 * /local/domain/<n>/backend/<kind>/<domid>/<id>. States and statistics change all the time and tell
 * nothing about attached disks.
 */
static bool matters(const char *path)
{
	static const char *const nodes[] = {"params", "physical-device", "physical-device-path",
					    "mode", "direct-io-safe"};
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

	for (unsigned i = 0; r >= 0 && i < DISK_KINDS; i++) {
		char path[STORE_MAX_PATH];

		snprintf(path, sizeof(path), "/local/domain/%u/backend/%s", d->domid,
			 disk_kinds[i].directory);
		if (!xs_watch(d->xs, path, disk_kinds[i].directory))
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
	pthread_cond_init(&d->examined, NULL);
	d->xs = xs;
	atomic_init(&d->stale, true);
	d->changed = changed;
	d->ctx = ctx;
	if (store_read_number(xs, DISK_LIST_MAX_DOMID, &d->domid, "domid") < 0)
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
	disk_list_put(d->list);
	pthread_cond_destroy(&d->examined);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
