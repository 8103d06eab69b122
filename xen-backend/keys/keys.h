/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keys.h - reads the keys of datanodes: the nodes in xenstore by which a toolstack has vreadd serve
 * a domain's disks (docs/provisioning.md).  port/xen/provisioned.c calls it for vreadd, and
 * opener/named.c for the opener, which believes xenstore and not vreadd.
 *
 * The keys of a datanode are in the directory backend/vread/DOMID/ID/datanode of this domain.  They
 * name virtual disks; the file or block device of a disk is found in the backend directories of
 * disks of the same domain (disks.h).  All these nodes belong to this domain.  Keys that another
 * domain may read or write are refused.
 */
#ifndef VREAD_KEYS_KEYS_H
#define VREAD_KEYS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xenstore.h>

#define KEYS_MAX_PATH 128 /* bytes of the path of a directory */
#define KEYS_MAX_DISKS 64U
#define KEYS_MAX_PROBLEM 512

/* The nodes, with the names in vread-nodes.h. */
enum keys_node {
	KEYS_NAME,
	KEYS_DATA_DIRS,
	KEYS_DISKS,
	KEYS_BACKING_FOLDERS,
	KEYS_IMAGE_MODE,
	KEYS_TOKENS,
	KEYS_STORAGES,
	KEYS_STATUS, /* vreadd writes it */
	KEYS_NODES
};
/* The name of a node, "data-dirs". */
const char *keys_node_name(enum keys_node node);

/* The keys of one datanode. */
struct keys {
	uint32_t domid, device;
	char path[KEYS_MAX_PATH];    /* of the directory */
	char *value[KEYS_NODES];     /* NULL: there is no such node */
	char *image[KEYS_MAX_DISKS]; /* of the disks that exist, as in vread.conf(5) */
	unsigned num_images;
	char *missing;                  /* the first disk that does not exist yet; NULL: none */
	char problem[KEYS_MAX_PROBLEM]; /* why the keys cannot be used; "": none is known here */
};

/* All keys at one moment, by domid and device. */
struct keys_list {
	struct keys *keys;
	size_t count;
};

/* Reads the keys of all domains that exist.  A directory without the node `name` is left out: the
 * toolstack has not finished it.  own: the domid of this domain.  0 or negative errno. */
int keys_read(struct xs_handle *xs, uint32_t own, struct keys_list *ret);
void keys_free(struct keys_list *l);

#endif
