/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output.h - writes what vread-provision produces: the layout, and a summary for people.
 * main.c calls these functions.
 */
#ifndef VREAD_PROVISION_OUTPUT_H
#define VREAD_PROVISION_OUTPUT_H

#include <stdio.h>

#include "disk/image.h"
#include "provision/inspect.h"

/* Writes text to path (mode 0644), and makes path's directories.  Replaces an existing file as a
 * whole, never by half a file.  0, or negative errno with *ret_error (free() it). */
int output_write(const char *path, const char *text, char **ret_error);

/* Checks that output_write() can be expected to work, and makes path's directories.  Returns as
 * output_write() does. */
int output_check(const char *path, char **ret_error);

void output_summary(FILE *to, struct image *const *images, const struct inspection *i);

#endif
