/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look.h - what `xl-vread init` finds out about a domain: the devices that the domain should have
 * already, and HDFS' data directories on its disks.  Called by init.c and plan.c.
 *
 * The guest writes its disks, so a data directory only shows that the domain may be a datanode.
 * The operator says that the domain is one.
 */
#ifndef XL_VREAD_INIT_LOOK_H
#define XL_VREAD_INIT_LOOK_H

#include "../domains.h"
#include "../spec.h"
#include "control/config.h"
#include "keys/keys.h"

enum use { USE_NONE, USE_DATANODE, USE_CLIENT };

struct looked {
	struct domain domain;
	struct specs devices; /* of its record, or of the operator's file */
	bool broken;          /* these could not be read; an error was printed */
	char *datanode;       /* the datanode that the domain is already; NULL: none */
	char *dirs, *disks;   /* found on its disks, separated by blanks; NULL: none */
	enum use use;         /* what the operator chose */
};

/* Fills *l, which has its domain and nothing else.  CLI_OK, or an exit code of cli.h after printing
 * what is wrong. */
int look_at_devices(struct xs_handle *xs, const struct config *c, const struct keys_list *keys,
		    struct looked *l);
/* Looks for data directories on the disks that the domain may write to; sets dirs and disks.  May
 * take minutes.  vread-provision(8) shows its progress on standard error.  CLI_OK, also if there
 * are none, or an exit code of cli.h after printing what is wrong. */
int look_into_disks(struct xs_handle *xs, struct looked *l);
/* Frees what *l owns, but not l. */
void looked_clear(struct looked *l);

#endif
