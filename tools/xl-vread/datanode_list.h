/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanode_list.h - the datanodes that are domains, for `xl-vread list`. */
#ifndef XL_VREAD_DATANODE_LIST_H
#define XL_VREAD_DATANODE_LIST_H

#include <xenstore.h>

/* Prints the datanodes that have a file of xl-vread(8), and those of keys in xenstore, with the
 * domain and the disks of each.  CLI_OK, or an exit code of cli.h after printing what is wrong;
 * what is known is printed nevertheless. */
int datanode_list(struct xs_handle *xs);

#endif
