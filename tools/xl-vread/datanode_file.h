/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode_file.h - the file of a datanode that is a domain: NAME.conf, with the section
 * [datanode NAME] of vread.conf(5).  Called by datanode.c.
 *
 * The file is in the folder that the key `datanode-files` of vread.conf names.  Its first line has
 * the UUID of the domain that has the disks.
 */
#ifndef XL_VREAD_DATANODE_FILE_H
#define XL_VREAD_DATANODE_FILE_H

#include <limits.h>

#include "domains.h"
#include "spec.h"

struct datanode_file {
	char path[PATH_MAX];
	char *text; /* content; NULL: the file does not exist */
};

/* Reads the file if it exists.  config_name_valid(name) must be true.  CLI_OK, or an exit code of
 * cli.h after printing what is wrong. */
int datanode_file_read(const char *folder, const char *name, struct datanode_file *ret);
void datanode_file_free(struct datanode_file *f);
/* Finds the UUID of the domain that the file belongs to.  False: it belongs to no domain. */
bool datanode_file_owner(const struct datanode_file *f, char uuid[DOMAIN_UUID]);
/* Replaces the file as a whole; text NULL: removes it.  The change is on the disk when this
 * returns, and is in f.  CLI_OK, or an exit code of cli.h after printing what is wrong. */
int datanode_file_write(struct datanode_file *f, const char *text);
/* Makes the text of a file; free() *ret.  images: as in keys/disks.h.  s has the rest, settled by
 * datanode_settle().  CLI_OK, or an exit code of cli.h after printing what is wrong. */
int datanode_file_text(const char *uuid, const struct spec *s, const char *const *images,
		       unsigned num, char **ret);

#endif
