/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inspect.h - what an image holds: its volumes (partitions, or the whole disk),
 * their file systems and data directories.
 */
#ifndef VREAD_PROVISION_INSPECT_H
#define VREAD_PROVISION_INSPECT_H

#include <stdbool.h>
#include <guestfs.h>

#include "layout/layout.h"
#include "disk/image.h"

struct inspected {
	struct layout_filesystem fs;       /* type is "" where nothing known lies */
	char name[LAYOUT_MAX_VOLUME_NAME]; /* as in the layout: "gpt:2" */
	const char *obstacle;              /* why vRead cannot read it; NULL if it can */
	bool encrypted;
};

struct inspection {
	uint64_t image_size;
	enum layout_table table;
	struct inspected *volumes;
	unsigned num_volumes;
};

/* 0, or negative errno with *ret_error (free() it). */
int inspect_image(guestfs_h *g, struct image *image, const char *const *hints, unsigned num_hints,
		  struct inspection *ret, char **ret_error);
void inspection_clear(struct inspection *i);

unsigned inspection_data_dirs(const struct inspection *i);

/* The volumes with data directories as a layout that shares i's memory; free() its
 * filesystems only.  false: out of memory. */
bool inspection_layout(struct inspection *i, struct image_layout *ret);

#endif
