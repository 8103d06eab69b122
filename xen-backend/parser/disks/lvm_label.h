/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm_label.h - the label and the metadata areas of an LVM2 physical volume: its UUID, and where
 * copies of its group's metadata are. lvm_group.c calls it.
 *
 * The owner may be writing a new copy at this moment. A copy has a checksum, and so has the
 * sector that points to the copy. So a torn copy is recognised.
 */
#ifndef VREAD_LAYOUT_LVM_LABEL_H
#define VREAD_LAYOUT_LVM_LABEL_H

#include "disk/volume.h"

#define LVM_UUID_LENGTH 32U /* without dashes */
#define LVM_MAX_METADATA_AREAS 4U

struct lvm_area {
	uint64_t offset, size; /* bytes, in the physical volume */
};

struct lvm_label {
	char uuid[LVM_UUID_LENGTH + 1];
	struct lvm_area metadata[LVM_MAX_METADATA_AREAS];
	unsigned num_metadata;
};

/* Reads the label. Returns 0, -EINVAL if there is no valid label, or an error of volume_read().
 * On any error `*ret_reason` is a static text. */
int lvm_label_read(struct volume *pv, struct lvm_label *ret, const char **ret_reason);

#define LVM_HEADER_BYTES 512U

/* Reads the newest committed metadata as text (free() it), and the header of its area, which
 * points to the text. Errors: -ENODATA if the physical volume is in no group, -ESTALE if this
 * area is not kept up to date, -EINVAL if the metadata is torn or damaged, with `*ret_reason`
 * (static), -ENOMEM. */
int lvm_metadata_read(struct volume *pv, const struct lvm_area *area,
		      uint8_t ret_header[LVM_HEADER_BYTES], char **ret_text, size_t *ret_length,
		      const char **ret_reason);

#endif
