/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guards.h - lists of guards: copies of the bytes that say where a volume lies, such as sectors of
 * partition tables and headers of LVM metadata areas.  parser/disks makes the lists, vreadd gets
 * them with a layout that its parser found, and layout/place.c gives them to volumes.
 *
 * The owner of a disk writes these bytes before it uses the volume at another place.  The guards
 * are read before the place of the volume is derived from them.  As long as the disk still holds
 * the same bytes, everything read from the volume was the volume's own (volume_check()).
 */
#ifndef VREAD_LAYOUT_GUARDS_H
#define VREAD_LAYOUT_GUARDS_H

#include "disk/volume.h"

/* Like struct volume_guard, with the number of an image instead of the image. */
struct layout_guard {
	unsigned image;
	uint64_t offset;
	uint8_t bytes[VOLUME_GUARD_BYTES];
};

struct layout_guards {
	struct layout_guard *list;
	unsigned count;
};

/* Adds a copy of guard, or of all guards of `from`.  A place that is already in the list is not
 * added again.  Returns 0, -ENOMEM, or -E2BIG: more than VOLUME_MAX_GUARDS. */
int layout_guards_add(struct layout_guards *to, const struct layout_guard *guard);
int layout_guards_add_all(struct layout_guards *to, const struct layout_guards *from);
bool layout_guards_equal(const struct layout_guards *a, const struct layout_guards *b);
void layout_guards_clear(struct layout_guards *g);

#endif
