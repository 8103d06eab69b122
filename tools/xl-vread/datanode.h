/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.h - has vreadd serve the disks of domains that are datanodes.  Called by the commands
 * of xl-vread(8) and by provision.c.
 *
 * A domain is a datanode if a device of it has data_dirs (spec.h).  These become keys in the
 * device's backend directory (docs/provisioning.md).  vreadd follows the keys, and the disks that
 * they name.  All functions that return int return CLI_OK, or an exit code of cli.h after
 * printing what is wrong.
 */
#ifndef XL_VREAD_DATANODE_H
#define XL_VREAD_DATANODE_H

#include "control/config.h"
#include "domains.h"
#include "spec.h"

/* True if a device of s makes the domain a datanode. */
bool datanode_concerns(const struct specs *s);
/* Loads vread.conf(5); config_free() *ret.  Fails if it has mistakes. */
int datanode_load(struct config **ret);
/* Checks what can be checked before the domain is created: vread.conf(5) has no mistakes, vreadd
 * reads keys, and neither vread.conf(5) nor other keys have datanodes of these names. */
int datanode_check(const struct specs *s);
/* Settles which disks of the domain are meant, and where their data directories are.  Afterwards s
 * is what the record should have.  All these disks must exist.  May take minutes, for
 * data-dirs=auto. */
int datanode_settle(struct xs_handle *xs, const struct domain *d, struct specs *s);
/* Writes the keys that the domain's record asks for, into those of its devices that exist and do
 * not have them.  Each change is printed to standard error.  With datanode-keys = no an error is
 * printed, and that is all. */
int datanode_provision(const struct domain *d);
/* The same, under record_lock().  s: the domain's record. */
int datanode_write_keys(const struct domain *d, const struct specs *s);
/* Waits until vreadd has judged the keys of s, for some seconds at most.  Fails if vreadd refuses
 * them.  That vreadd does not run, or did not judge in time, is printed, and is no failure. */
int datanode_await(const struct domain *d, const struct specs *s);

/* Tells vreadd that the domain, whose record was s, has left this host for good.  What vreadd does
 * not know is printed, and is no failure. */
void datanode_leave(const struct specs *s);

#endif
