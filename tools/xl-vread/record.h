/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - which devices a domain is to have, kept on disk: libxl forgets keys it does not know, and
 * a domain that reboots, or is restored, or comes from another host, is a new one to xenstore.
 *
 * A record is of a UUID, which a domain keeps through all that and no other domain has: a name could
 * be given to another guest, which would get the devices then.
 *
 * A file /var/lib/vread/domains/UUID (VREAD_DOMAINS names another folder), a line for each device.
 */
#ifndef XL_VREAD_RECORD_H
#define XL_VREAD_RECORD_H

#include "spec.h"

struct domain;

/* Between the two nobody else writes a record: what follows from it is done by one at a time.  A
 * descriptor, or -1 after printing what is wrong, which record_unlock() ignores. */
int record_lock(void);
void record_unlock(int lock);
/* No record is no device.  An exit code of cli.h, after printing what is wrong. */
int record_read(const struct domain *d, struct specs *ret);
/* As a whole or not at all; without devices there is none afterwards.  Not under record_lock(). */
int record_write(const struct domain *d, const struct specs *s);

#endif
