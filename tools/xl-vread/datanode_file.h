/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode_file.h - the file by which vreadd serves a domain's disks as a datanode's: its section
 * [datanode NAME] of vread.conf(5), in the folder that `datanode-files` there names.
 *
 * Its first line says whose domain's disks they are, by UUID.
 */
#ifndef XL_VREAD_DATANODE_FILE_H
#define XL_VREAD_DATANODE_FILE_H

#include <limits.h>

#include "domains.h"

struct datanode_file {
	char path[PATH_MAX];
	char *text; /* what is in it; NULL: it is not there */
};

/* Looks at what is there.  name is one by config_name_valid().  An exit code of cli.h, after
 * printing what is wrong. */
int datanode_file_read(const char *folder, const char *name, struct datanode_file *ret);
void datanode_file_free(struct datanode_file *f);
/* The UUID of the domain it is kept for; false: it is nobody's. */
bool datanode_file_owner(const struct datanode_file *f, char uuid[DOMAIN_UUID]);
/* Replaced as a whole, and on the disk when this returns; text NULL: removed.  f knows then.  An exit
 * code, after printing. */
int datanode_file_write(struct datanode_file *f, const char *text);
/* What to write; images as disks.h has them, data_dirs separated by blanks.  An exit code, after
 * printing; free() *ret. */
int datanode_file_text(const char *uuid, const char *name, const char *const *images, unsigned num,
		       const char *data_dirs, char **ret);

#endif
