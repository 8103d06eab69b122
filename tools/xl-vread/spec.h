/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec.h - reads and writes descriptions of devices: the entries of `vread = [ ... ]` in a domain's
 * configuration, the argument of `xl-vread attach`, and the lines of a record.  Called by the
 * commands of xl-vread(8) and by record.c.  For example:
 *
 *     "datanodes=dn1 dn2"
 *     "role=datanode, datanodes=dn1, pools=BP-1-192.0.2.1-1, id=1"
 *     "role=datanode, datanodes=dn1 dn2, publish-datanodes=dn1"
 *     "datanodes=dn1, queues=2, pool-size=4M"
 *     "role=datanode, datanodes=dn1, data-dirs=/dfs/data, disks=xvdb xvdc, tokens=required"
 *     "role=datanode, datanodes=dn1, data-dirs=/dfs/data, backing-folders=/srv/bases"
 *
 * data-dirs, disks, backing-folders and tokens become keys of a datanode (datanode.h).
 */
#ifndef XL_VREAD_SPEC_H
#define XL_VREAD_SPEC_H

#include "toolstack/device.h"

#define SPECS_MAX 16U
#define SPEC_DATA_DIRS_AUTO "auto"
#define SPEC_MAX_WORDS 512U /* characters of data-dirs, of disks, and of backing-folders */

struct spec {
	unsigned id;
	struct xs_device_policy policy; /* its strings point into text */
	char *data_dirs; /* paths, separated by a space, or "auto"; NULL: not given */
	char *disks;     /* names, separated by a space; NULL: all that the guest may write to */
	char *backing_folders; /* of dom0, separated by a space; NULL: not given */
	const char *tokens;    /* as in vread.conf(5), points into text; NULL: not given */
	char *text;
};

struct specs {
	struct spec spec[SPECS_MAX];
	unsigned count;
};

/* Adds a device.  If text has no id, the device gets the lowest free id.  0, -ENOMEM, or -EINVAL
 * with *ret_error (free() it). */
int specs_add(struct specs *s, const char *text, char **ret_error);
/* False: there was no device of that id. */
bool specs_remove(struct specs *s, unsigned id);
void specs_free(struct specs *s);
/* Sets data_dirs and disks, where the description left them open.  0 or -ENOMEM. */
int spec_settle(struct spec *s, const char *data_dirs, const char *disks);
/* True if a path may stand in data_dirs. */
bool spec_data_dir_valid(const char *path);
/* The description as specs_add() takes it, with all keys that are set; free() it.  NULL: out of
 * memory. */
char *spec_text(const struct spec *s);

#endif
