/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_path.h - where vreadd's configuration is.  Called by the commands of xl-vread(8) that read
 * vread.conf(5), and by datanode.c. */
#ifndef XL_VREAD_CONFIG_PATH_H
#define XL_VREAD_CONFIG_PATH_H

/* The file that the environment variable VREAD_CONFIG names.  NULL: it names none. */
const char *config_named(void);
/* The same, else CONFIG_DEFAULT_PATH. */
const char *config_path(void);

#endif
