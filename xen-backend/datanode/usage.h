/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - how a datanode's images are to be read as things are now; private to datanode/.
 */
#ifndef VREAD_DATANODE_USAGE_H
#define VREAD_DATANODE_USAGE_H

#include "datanode/datanode_private.h"

/* Asks for all of dn's images, tells the log what is new, and says whether an image that
 * is open now would be opened in another mode.  The refresher's, and without one the caller's. */
bool usage_update(struct datanode *dn);
/* As asked last. */
enum source_mode usage_mode(struct datanode *dn, unsigned image);

#endif
