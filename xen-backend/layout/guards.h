/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guards.h - the bytes that say where a volume lies: sectors of partition tables, headers of LVM's
 * metadata.
 *
 * Their owner writes them before it uses the volume at another place.  So they are kept with what
 * was concluded from them, having been read before that was; while they still stand there,
 * what was read of the volume was its own (volume_check()).
 */
#ifndef VREAD_LAYOUT_GUARDS_H
#define VREAD_LAYOUT_GUARDS_H

#include "disk/volume.h"

/* As in volume.h, with an image's number in its place. */
struct layout_guard {
	unsigned image;
	uint64_t offset;
	uint8_t bytes[VOLUME_GUARD_BYTES];
};

struct layout_guards {
	struct layout_guard *list;
	unsigned count;
};

/* Each place once: 0, -ENOMEM, or -E2BIG: more than VOLUME_MAX_GUARDS. */
int layout_guards_add(struct layout_guards *to, const struct layout_guard *guard);
int layout_guards_add_all(struct layout_guards *to, const struct layout_guards *from);
bool layout_guards_equal(const struct layout_guards *a, const struct layout_guards *b);
void layout_guards_clear(struct layout_guards *g);

#endif
