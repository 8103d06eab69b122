/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.h - looking into a datanode's images for what there is to serve; private to
 * datanode/.
 */
#ifndef VREAD_DATANODE_LOAD_H
#define VREAD_DATANODE_LOAD_H

#include "datanode/datanode_private.h"

/* By a layout file, what is on those images that can be opened: 0 and *ret, or negative errno with
 * *ret_error (free() it). */
int load_by_layout(struct datanode *dn, struct served **ret, char **ret_error);
/* The same, as load_by_data_dirs(). */
struct served *load_by_layout_again(struct datanode *dn);

/* By the data directories' names: always something, though it may hold no more than the
 * reason why nothing is served yet.  NULL: out of memory. */
struct served *load_by_data_dirs(struct datanode *dn);

/* Nothing, for that reason.  NULL: out of memory. */
struct served *load_nothing(struct datanode *dn, const char *reason);

/* Whether both are of the same images and tell the same of them. */
bool served_equal(const struct served *a, const struct served *b);

#endif
