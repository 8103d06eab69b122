/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.h - has vreadd serve the disks of domains that are datanodes.  Called by the commands
 * of xl-vread(8) and by provision.c.
 *
 * The disks become a section of vreadd's configuration (datanode_file.h), which vreadd reads at
 * once.  A domain is a datanode if a device of it has data_dirs (spec.h).  All functions but
 * datanode_concerns() return CLI_OK, or an exit code of cli.h after printing what is wrong.
 */
#ifndef XL_VREAD_DATANODE_H
#define XL_VREAD_DATANODE_H

#include "control/config.h"
#include "domains.h"
#include "spec.h"

/* True if a device of s makes the domain a datanode. */
bool datanode_concerns(const struct specs *s);
/* Loads vread.conf(5) with the files of the datanodes; config_free() *ret.  Fails if a datanode
 * could not be added. */
int datanode_load(struct config **ret);
/* Checks what can be checked before the domain is created: vread.conf(5) has no mistakes, and no
 * section of these names; no toolstack has provisioned these names by keys in xenstore. */
int datanode_check(const struct specs *s);
/* Settles which disks of the domain are meant, and where their data directories are.  Afterwards s
 * is what the record should have.  All these disks must exist.  May take minutes, for
 * data-dirs=auto. */
int datanode_settle(struct xs_handle *xs, const struct domain *d, struct specs *s);
/*
 * Has vreadd serve the disks that the domain has now, as its record says, and no other disks of the
 * domain.  Each change is printed to standard error.  If a disk of a datanode does not exist yet,
 * that datanode is left as it is.  If vreadd does not run, this is printed, and is no failure.  If
 * vreadd refuses a change, the change is undone.
 */
int datanode_follow(const struct domain *d);

#endif
