/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain_config.h - reads the keys `name` and `vread` of a domain's configuration.  Called by
 * create.c and domain_file.c.
 *
 * xl's own parser (libxlutil) reads the file, so that every file that xl accepts is accepted.
 */
#ifndef XL_VREAD_DOMAIN_CONFIG_H
#define XL_VREAD_DOMAIN_CONFIG_H

#include "spec.h"

struct domain_config {
	char *name;
	struct specs devices;
};

/* lines: KEY=VALUE, as on the command line of xl create.  They override the file.  CLI_OK, or an
 * exit code of cli.h after printing what is wrong. */
int domain_config_read(const char *path, char *const *lines, int num_lines,
		       struct domain_config *ret);
/* Reads only the devices, of a file that needs no name.  *ret is empty after an error. */
int domain_config_read_devices(const char *path, struct specs *ret);
void domain_config_free(struct domain_config *c);

#endif
