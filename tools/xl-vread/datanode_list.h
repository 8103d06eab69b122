/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanode_list.h - the datanodes that are domains, for `xl-vread list`. */
#ifndef XL_VREAD_DATANODE_LIST_H
#define XL_VREAD_DATANODE_LIST_H

#include <xenstore.h>

/* Prints the datanodes that keys in xenstore provision, with the domain and the disks of each, and
 * what vreadd has decided about keys that do not count, or not fully.  CLI_OK, or an exit code of
 * cli.h after printing what is wrong. */
int datanode_list(struct xs_handle *xs);

#endif
