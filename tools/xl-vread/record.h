/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - keeps on disk which devices a domain should have.  Called by the commands of
 * xl-vread(8), by provision.c and by datanode.c.
 *
 * Records are needed because libxl forgets keys that it does not know, and because a domain that
 * reboots, is restored or comes from another host is a new domain in xenstore.
 *
 * A record belongs to a UUID.  A domain keeps its UUID through all of this, and no other domain has
 * it.  A name could be given to another guest, which would then get the devices.
 *
 * A record is the file /var/lib/vread/domains/UUID, with one line for each device.  The environment
 * variable VREAD_DOMAINS names another folder.
 *
 * A domain without a record may have a file of the operator in its place (domain_file.h).
 */
#ifndef XL_VREAD_RECORD_H
#define XL_VREAD_RECORD_H

#include <limits.h>
#include <stdbool.h>

#include "spec.h"

struct domain;

/* Until record_unlock() no other process writes a record, and only one process at a time acts on a
 * record under this lock.  Returns a descriptor, or -1 after printing what is wrong;
 * record_unlock() ignores -1. */
int record_lock(void);
void record_unlock(int lock);
/* Reads the devices of the record, else of the operator's file; none if there is neither.  CLI_OK,
 * or an exit code of cli.h after printing what is wrong. */
int record_read(const struct domain *d, struct specs *ret);
/* Replaces the record, as a whole or not at all.  Removes the record if s has no devices.  Must not
 * be called under record_lock().  Returns as record_read(). */
int record_write(const struct domain *d, const struct specs *s);
/* Removes the record if there is one.  Returns as record_write(). */
int record_remove(const struct domain *d);
/* *path: the record of the domain, which need not exist. */
void record_path(const struct domain *d, char path[PATH_MAX]);
/* *path: the operator's file that has the domain's devices.  False: it has a record, or neither. */
bool record_is_file(const struct domain *d, char path[PATH_MAX]);

#endif
