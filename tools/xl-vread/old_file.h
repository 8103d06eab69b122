/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * old_file.h - removes the file by which vRead 0.1.0 had vreadd serve the disks of a domain.
 * Called by datanode.c, once the domain has keys in xenstore.  The file is NAME.conf in the folder
 * that the key `datanode-files` of vread.conf(5) names.  It has a section [datanode NAME], which
 * counts before keys of that name.
 */
#ifndef XL_VREAD_OLD_FILE_H
#define XL_VREAD_OLD_FILE_H

#include "control/config.h"
#include "domains.h"

/* Removes the file of this datanode, and has vreadd read its configuration.  A file stays if
 * somebody else wrote it, or if it belongs to another domain that is on this host. */
void old_file_remove(const struct config *c, const struct domain *d, const char *name);

#endif
