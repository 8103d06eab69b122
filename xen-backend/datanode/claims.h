/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * claims.h - judges the storages that a datanode's images show. refresh.c calls claims_judge() for
 * each new `served`, before anybody reads through it; registry.c asks whether a judgement still
 * holds.
 */
#ifndef VREAD_DATANODE_CLAIMS_H
#define VREAD_DATANODE_CLAIMS_H

#include "datanode/datanode_private.h"

/* Takes out of the layout of `v` every data directory whose storage does not belong to the datanode
 * (owners.h), or that shares its storage id with another directory of the datanode. v->refused says
 * which and why. Does nothing until registry_change() was called. */
void claims_judge(struct served *v);

/* Tells owners.h which storages `v` shows, and changes nothing in `v`. Returns true if it is worth
 * to wait for the first look into other datanodes: these may show the same storages. */
bool claims_announce(const struct served *v);

/* True if all storages that were refused to `v` would be refused for the same reasons now. */
bool claims_refusals_hold(const struct served *v);

/* True if all storages that `v` serves still belong to the datanode. */
bool claims_hold(const struct served *v);

/* Logs an error for each storage that was refused. */
void claims_log(const struct served *v);

#endif
