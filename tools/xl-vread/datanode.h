/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.h - domains that are datanodes: their disks become a section of vreadd's configuration
 * (datanode_file.h), which vreadd reads at once.
 *
 * It concerns devices with data_dirs (spec.h).  All but datanode_concerns() return an exit code of
 * cli.h, after printing what is wrong.
 */
#ifndef XL_VREAD_DATANODE_H
#define XL_VREAD_DATANODE_H

#include "domains.h"
#include "spec.h"

bool datanode_concerns(const struct specs *s);
/* What can be told before there is a domain: vread.conf(5) is right, and these names are not in it. */
int datanode_check(const struct specs *s);
/* Settles which disks of the domain are meant, and where their data directories are: s is what a
 * record is to have.  Its disks are all there.  May take minutes, for data-dirs=auto. */
int datanode_settle(struct xs_handle *xs, const struct domain *d, struct specs *s);
/*
 * Has vreadd serve the disks the domain has now, as its record says, and no others of it; says so on
 * standard error where that is something new.  A datanode some of whose disks are not there yet is left
 * as it is.  A vreadd that does not run is told of, and no error; what it refuses is put back.
 */
int datanode_follow(const struct domain *d);
/* Prints which datanodes are kept for which domain. */
int datanode_list(struct xs_handle *xs);

#endif
