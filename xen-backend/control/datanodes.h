/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanodes.h - the block store with the datanodes of vread.conf(5) and of keys in xenstore.
 *
 * daemon.c opens and closes it and reads its status, and tells it that keys have changed; reload.c
 * applies a new configuration.
 */
#ifndef VREAD_DATANODES_H
#define VREAD_DATANODES_H

#include <jansson.h>
#include <pthread.h>

#include "base/changes.h"
#include "control/config.h"
#include "control/keyed.h"

struct block_store;
struct xen_disks;
struct xen_provisioned;

#define SECTIONS_MAX CONFIG_MAX_DATANODES

/* All datanodes at one moment: those of the file, then those of keys. */
struct sections {
	size_t count;
	const struct config_datanode *section[SECTIONS_MAX];
	bool failed[SECTIONS_MAX]; /* for a shortage; it is tried again at the next change */
};

struct datanodes {
	pthread_mutex_t lock; /* protects the pointer sections; the store's threads read it, too */
	struct sections *sections; /* one of these two, so a change needs no memory */
	struct sections room[2];
	const struct config *config;
	struct keyed keyed;
	struct xen_disks *disks;             /* NULL: it is unknown which domains write images */
	struct xen_provisioned *provisioned; /* NULL: no datanode is provisioned by keys */
	struct block_store *store;
};

/* Makes the block store, and serves all datanodes of the configuration and of keys. Reads and
 * writes what vreadd remembers on disk. The images are looked into when registry_start() is called.
 * d, config, disks and provisioned must stay valid until datanodes_close(); config until
 * datanodes_reload(), if that is earlier. Returns 0 or negative errno. */
int datanodes_open(struct datanodes *d, const struct config *config, struct xen_disks *disks,
		   struct xen_provisioned *provisioned);
void datanodes_close(struct datanodes *d);
/* Replaces the configuration; changes only what differs. */
void datanodes_reload(struct datanodes *d, const struct config *config,
		      const struct changes *changes);
/* The keys have changed: serves what they say now.  Logs each change. */
void datanodes_follow_keys(struct datanodes *d);
/* Says that the storage belongs to the datanode.  Returns as registry_give(). */
int datanodes_give(struct datanodes *d, const char *storage_id, const char *datanode);
/* New reference: the record of storages, as registry_record_status(). */
json_t *datanodes_record_status(const struct datanodes *d);
/* New reference: datanodes that look like clones, as registry_clones_status(). */
json_t *datanodes_clones_status(const struct datanodes *d);
/* New reference: an array with an object for the keys of each datanode: path (in xenstore), domain,
 * datanode (a name, or null), and status, what became of them. */
json_t *datanodes_keys_status(const struct datanodes *d);
/* New reference: an array of the datanodes.  question: of registry_ask_states(). */
json_t *datanodes_status(const struct datanodes *d, uint64_t question);

/* Looks into the images of each configured datanode, now. Logs what keeps datanodes, or parts of
 * them, from being served. Returns the number of these datanodes. */
unsigned datanodes_check(const struct config *config);

#endif
