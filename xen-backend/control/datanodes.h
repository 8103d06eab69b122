/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanodes.h - the block store with the configured datanodes.
 *
 * daemon.c opens and closes it and reads its status; reload.c applies a new configuration.
 */
#ifndef VREAD_DATANODES_H
#define VREAD_DATANODES_H

#include <jansson.h>
#include <pthread.h>

#include "control/config.h"

struct block_store;
struct xen_disks;

struct datanodes {
	pthread_mutex_t lock; /* protects the pointer config; the store's thread reads it, too */
	const struct config *config;
	struct xen_disks *disks; /* NULL: it is unknown which domains write images */
	struct block_store *store;
};

/* Makes the block store, and serves all datanodes of the configuration. Reads and writes what
 * vreadd remembers on disk. The images are looked into when registry_start() is called. d, config
 * and disks must stay valid until datanodes_close(); config until datanodes_reload(), if that is
 * earlier. Returns 0 or negative errno. */
int datanodes_open(struct datanodes *d, const struct config *config, struct xen_disks *disks);
void datanodes_close(struct datanodes *d);
/* Replaces the configuration; changes only what differs.  Adds a text for each change to changes,
 * an array. */
void datanodes_reload(struct datanodes *d, const struct config *config, json_t *changes);
/* Says that the storage belongs to the datanode.  Returns as registry_give(). */
int datanodes_give(struct datanodes *d, const char *storage_id, const char *datanode);
/* New reference: the record of storages, as registry_record_status(). */
json_t *datanodes_record_status(const struct datanodes *d);
/* New reference: an array of the datanodes.  question: of registry_ask_states(). */
json_t *datanodes_status(const struct datanodes *d, uint64_t question);

/* Looks into the images of each configured datanode, now. Logs what keeps datanodes from being
 * served. Returns the number of these datanodes. */
unsigned datanodes_check(const struct config *config);

#endif
