// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements disks.h: reads the backend directories of a domain's disks.
 *
 * libxl writes these nodes (xl-disk-configuration(5)): `dev` is the disk's name, `mode` is r or w,
 * `device-type` is disk or cdrom.  The name of the directory says who serves the disk:
 *
 *   vbd     blkback.  `params` is the path of a block device, or of a file for which a hotplug
 *           script makes a loop device.  With another script, `params` is a name for that script,
 *           and `physical-device-path` is the device that the script found.  The format is raw.
 *   qdisk   qemu.  `params` is FORMAT:PATH; FORMAT is aio for raw.
 *   vbd3    tapdisk.  `tapdisk-params`, or else `params`, is FORMAT:PATH.
 */
#include "keys/disks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "disk/image.h"

#define MAX_PATH 160

static const char *const kinds[] = {"vbd", "qdisk", "vbd3"};
#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Where the nodes are read. */
struct place {
	struct xs_handle *xs;
	xs_transaction_t transaction;
	char directory[MAX_PATH]; /* of a disk */
};

/* The value of a node; free() it.  NULL: the node does not exist or is no text. */
static char *value_of(const struct place *at, const char *node)
{
	char path[MAX_PATH + 32], *value;
	unsigned length;

	snprintf(path, sizeof(path), "%s/%s", at->directory, node);
	value = xs_read(at->xs, at->transaction, path, &length);
	if (value && strlen(value) == length)
		return value;
	free(value);
	return NULL;
}

/* ---- the image --------------------------------------------------------------------- */

/* False if vread.conf(5) would cut the text, or read it as two lines. */
static bool fits_value(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == ';')
			return false;
	return true;
}

static void refuse(struct disk *d, const char *what, const char *why)
{
	if (asprintf(&d->problem, "'%s': %s", what, why) < 0)
		d->problem = NULL;
}

/* params: only for messages. */
static void set_image(struct disk *d, const char *params, const char *format, const char *path)
{
	const char *known;
	char *image;

	if (asprintf(&image, "%s:%s", format, path) < 0)
		return;
	if (!image_spec_split(image, &known))
		refuse(d, params, "vreadd does not read disks of this format");
	else if (path[0] != '/')
		refuse(d, params, "expected a file or a block device of this host, by its path");
	else if (!fits_value(path))
		refuse(d, params,
		       "blanks, ';' and control characters are not allowed in vreadd's "
		       "configuration: rename it, or make a link to it");
	else
		d->image = image;
	if (!d->image)
		free(image);
}

static void of_blkback(const struct place *at, struct disk *d)
{
	char *params = value_of(at, "params");
	bool is_path = params && params[0] == '/';
	char *device = is_path ? NULL : value_of(at, "physical-device-path");

	set_image(d, params ?: "", "raw", device ?: params ?: "");
	free(params);
	free(device);
}

static void of_formats(const struct place *at, struct disk *d)
{
	char *params = value_of(at, "tapdisk-params") ?: value_of(at, "params");
	size_t length = params ? strcspn(params, ":/") : 0;
	char *format = strndup(params ?: "", length);

	if (!params || params[length] != ':')
		refuse(d, params ?: "", "expected FORMAT:PATH");
	else if (format)
		set_image(d, params, strcmp(format, "aio") ? format : "raw", params + length + 1);
	free(format);
	free(params);
}

/* ---- all of them ------------------------------------------------------------------------ */

static bool is(const char *value, const char *expected)
{
	return value && strcmp(value, expected) == 0;
}

static void free_disk(struct disk *d)
{
	free(d->name);
	free(d->image);
	free(d->problem);
}

static int add(const struct place *at, const char *kind, struct disks *ret)
{
	struct disk d = {.name = value_of(at, "dev")}, *grown;
	char *mode = value_of(at, "mode");
	char *type = value_of(at, "device-type");

	d.writable = is(mode, "w") && !is(type, "cdrom");
	free(mode);
	free(type);
	if (!d.name) /* being made or being removed */
		return 0;
	if (strcmp(kind, "vbd") == 0)
		of_blkback(at, &d);
	else
		of_formats(at, &d);
	grown = reallocarray(ret->disk, ret->count + 1, sizeof(*grown));
	if (grown)
		ret->disk = grown;
	if (!grown || (!d.image && !d.problem)) {
		free_disk(&d);
		return -ENOMEM;
	}
	grown[ret->count++] = d;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	uint32_t m = 0, n = 0;

	parse_number(*x, 0, UINT32_MAX, &m);
	parse_number(*y, 0, UINT32_MAX, &n);
	return m < n ? -1 : m > n;
}

/* directory: of the disks of one kind. */
static int add_kind(struct xs_handle *xs, xs_transaction_t t, const char *kind,
		    const char *directory, struct disks *ret)
{
	struct place at = {.xs = xs, .transaction = t};
	unsigned count;
	char **ids = xs_directory(xs, t, directory, &count);
	int r = 0;

	if (!ids)
		return errno == ENOENT ? 0 : -errno;
	qsort(ids, count, sizeof(*ids), by_number);
	for (unsigned i = 0; i < count && !r; i++)
		if (snprintf(at.directory, MAX_PATH, "%s/%s", directory, ids[i]) < MAX_PATH)
			r = add(&at, kind, ret);
	free(ids);
	return r;
}

int disks_read(struct xs_handle *xs, xs_transaction_t t, unsigned own, unsigned domid,
	       struct disks *ret)
{
	char directory[96];
	int r = 0;

	*ret = (struct disks){0};
	for (unsigned i = 0; i < NUM_KINDS && !r; i++) {
		snprintf(directory, sizeof(directory), "/local/domain/%u/backend/%s/%u", own,
			 kinds[i], domid);
		r = add_kind(xs, t, kinds[i], directory, ret);
	}
	if (r)
		disks_free(ret);
	return r;
}

void disks_free(struct disks *d)
{
	for (unsigned i = 0; i < d->count; i++)
		free_disk(&d->disk[i]);
	free(d->disk);
	*d = (struct disks){0};
}

const struct disk *disks_find(const struct disks *d, const char *name)
{
	for (unsigned i = 0; i < d->count; i++)
		if (strcmp(d->disk[i].name, name) == 0)
			return &d->disk[i];
	return NULL;
}
