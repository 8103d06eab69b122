/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config_warn.h - warnings about a valid configuration that is probably not what its author meant.
 *
 * Called by `xl-vread config check` (tools/xl-vread/vreadd/config.c).
 *
 * Warnings are about names that name nothing, about datanodes of keys in xenstore that a section
 * would displace, and about files that are missing or that this process may not read.  These things
 * are outside the configuration file, and may be in order by the time vreadd needs them.
 */
#ifndef VREAD_CONFIG_WARN_H
#define VREAD_CONFIG_WARN_H

#include <jansson.h>

struct config;
struct keys_list;

/* New reference: an array of problems, as of config_load(); may be empty.  c was loaded from path.
 * keys: what is in xenstore now.  Opens files to see whether this process may read them. */
json_t *config_warnings(const struct config *c, const char *path, const struct keys_list *keys);

#endif
