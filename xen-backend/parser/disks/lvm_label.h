/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm_label.h - what a physical volume of LVM2 says of itself: who it is, and
 * where copies of its group's metadata are.
 *
 * Its owner may be writing a new copy just now.  A copy has a checksum, and
 * the sector that points to it, too: what is torn is told from what is whole.
 */
#ifndef VREAD_LAYOUT_LVM_LABEL_H
#define VREAD_LAYOUT_LVM_LABEL_H

#include "disk/volume.h"

#define LVM_UUID_LENGTH 32U /* without its dashes */
#define LVM_MAX_METADATA_AREAS 4U

struct lvm_area {
	uint64_t offset, size; /* bytes, in the physical volume */
};

struct lvm_label {
	char uuid[LVM_UUID_LENGTH + 1];
	struct lvm_area metadata[LVM_MAX_METADATA_AREAS];
	unsigned num_metadata;
};

/* Errors besides the volume's: -EINVAL, with *ret_reason (static). */
int lvm_label_read(struct volume *pv, struct lvm_label *ret, const char **ret_reason);

#define LVM_HEADER_BYTES 512U

/* The metadata committed last, as text (free() it), and the header of its area that says so.
 * -ENODATA: it is in no group; -ESTALE: this area is not kept up to date; -EINVAL: torn or damaged,
 * with *ret_reason (static). */
int lvm_metadata_read(struct volume *pv, const struct lvm_area *area,
		      uint8_t ret_header[LVM_HEADER_BYTES], char **ret_text, size_t *ret_length,
		      const char **ret_reason);

#endif
