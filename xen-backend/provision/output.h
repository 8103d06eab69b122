/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output.h - what vread-provision leaves: the layout, and a summary to read.
 */
#ifndef VREAD_PROVISION_OUTPUT_H
#define VREAD_PROVISION_OUTPUT_H

#include <stdio.h>

#include "disk/image.h"
#include "provision/inspect.h"

/* Replaces path as a whole (mode 0644), making its directories; never leaves half a
 * file.  0, or negative errno with *ret_error (free() it). */
int output_write(const char *path, const char *text, char **ret_error);

/* Whether output_write() can be expected to work; makes the directories. */
int output_check(const char *path, char **ret_error);

void output_summary(FILE *to, struct image *const *images, const struct inspection *i);

#endif
