/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanodes.h - the store filled from the configuration, and what was refused.
 */
#ifndef VREAD_DATANODES_H
#define VREAD_DATANODES_H

#include <jansson.h>
#include <pthread.h>

#include "control/config.h"

struct block_store;
struct xen_disks;

struct datanodes {
	pthread_mutex_t lock; /* of the pointer; the store's thread looks at it, too */
	const struct config *config;
	struct xen_disks *disks; /* NULL: who writes images is not known here */
	struct block_store *store;
	json_t *refused; /* array, as control.h describes it */
};

/* 0 or -ENOMEM.  An unusable datanode is logged and noted, the others are served.  *d stays
 * where it is until datanodes_close(), and disks lives as long. */
int datanodes_open(struct datanodes *d, const struct config *config, struct xen_disks *disks);
void datanodes_close(struct datanodes *d);
/* Serves what config says, which replaces the one until now: only what differs is changed.  What
 * was done is added to changes, an array of texts. */
void datanodes_reload(struct datanodes *d, const struct config *config, json_t *changes);
/* New reference: those served, then those refused. */
json_t *datanodes_status(const struct datanodes *d);

#endif
