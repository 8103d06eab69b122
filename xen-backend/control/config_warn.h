/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config_warn.h - what is probably meant otherwise in a configuration that is right.
 *
 * Names that name nothing, files that are not there, or not for us: things outside the
 * file, that may be as they should be by the time vreadd needs them.
 */
#ifndef VREAD_CONFIG_WARN_H
#define VREAD_CONFIG_WARN_H

#include <jansson.h>

struct config;

/* New reference: an array as config_load()'s, of c as it was loaded from path; may be empty.  Opens
 * files to see whether this process may. */
json_t *config_warnings(const struct config *c, const char *path);

#endif
