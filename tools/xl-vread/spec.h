/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec.h - what an entry of `vread = [ ... ]` in a domain's configuration says of a device:
 *
 *     "datanodes=dn1 dn2"
 *     "role=datanode, datanodes=dn1, pools=BP-1-192.0.2.1-1, id=1"
 *     "datanodes=dn1, queues=2, pool-size=4M"
 *     "role=datanode, datanodes=dn1, data-dirs=/dfs/data, disks=xvdb xvdc"
 *
 * Keys and values as `vread attach` has them as options; those of a datanode's disks are in
 * datanode_file.h.
 */
#ifndef XL_VREAD_SPEC_H
#define XL_VREAD_SPEC_H

#include "toolstack/device.h"

#define SPECS_MAX 16U
#define SPEC_DATA_DIRS_AUTO "auto"
#define SPEC_MAX_DATA_DIRS 180 /* characters; a line of vread.conf(5) holds them */
#define SPEC_MAX_DISKS 512

struct spec {
	unsigned id;
	struct xs_device_policy policy; /* its strings are text's */
	char *data_dirs; /* paths, separated by blanks, or "auto"; NULL: vread.conf has them */
	char *disks;     /* names, separated by blanks; NULL: all the guest may write to */
	char *text;
};

struct specs {
	struct spec spec[SPECS_MAX];
	unsigned count;
};

/* Adds one; without an id it gets the lowest that is free.  0, -ENOMEM, or -EINVAL with *ret_error
 * (free() it). */
int specs_add(struct specs *s, const char *text, char **ret_error);
/* Whether there was one of that id. */
bool specs_remove(struct specs *s, unsigned id);
void specs_free(struct specs *s);
/* What was left open is settled.  0 or -ENOMEM. */
int spec_settle(struct spec *s, const char *data_dirs, const char *disks);
/* Whether a path may stand in data_dirs. */
bool spec_data_dir_valid(const char *path);
/* As specs_add() takes it, with every key but those that are not set; NULL: out of memory. */
char *spec_text(const struct spec *s);

#endif
