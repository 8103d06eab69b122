/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain_config.h - what of a domain's configuration concerns us: its name and `vread`.  It is read
 * by xl's own parser (libxlutil), so that what xl takes is taken.
 */
#ifndef XL_VREAD_DOMAIN_CONFIG_H
#define XL_VREAD_DOMAIN_CONFIG_H

#include "spec.h"

struct domain_config {
	char *name;
	struct specs devices;
};

/* lines: KEY=VALUE as on xl create's command line, which count more than the file.  An exit code of
 * cli.h, after printing what is wrong. */
int domain_config_read(const char *path, char *const *lines, int num_lines,
		       struct domain_config *ret);
void domain_config_free(struct domain_config *c);

#endif
