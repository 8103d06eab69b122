/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * by_keys.h - the datanodes that keys in xenstore provision (docs/provisioning.md),
 * as the commands of xl-vread(8) need them.  Called by the commands.
 *
 * The commands read the keys themselves, so they also know them while vreadd does not run.  What
 * vreadd has decided about keys is in the keys' own node `status`.
 */
#ifndef XL_VREAD_BY_KEYS_H
#define XL_VREAD_BY_KEYS_H

#include <xenstore.h>

#include "control/config.h"
#include "keys/keys.h"

/* Reads the keys that vreadd reads with this configuration: none with datanode-keys = no.  c NULL:
 * the configuration is unknown, and all keys are read.  0, or negative errno with an empty *ret.
 * keys_free() *ret. */
int by_keys_read(struct xs_handle *xs, const struct config *c, struct keys_list *ret);
/* The same for commands that also work where there is no xenstore, or none that this user may read:
 * then there are no keys. */
void by_keys_try(const struct config *c, struct keys_list *ret);
/* The keys of that name that are not refused.  NULL: none. */
const struct keys *by_keys_find(const struct keys_list *l, const char *name);
/* What vreadd has decided about the keys; else what is known without vreadd. */
const char *by_keys_status(const struct keys *k);

#endif
