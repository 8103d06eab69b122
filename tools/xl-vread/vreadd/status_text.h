/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * status_text.h - prints the status document for a terminal of 80 columns.  Called by status.c.
 */
#ifndef VREAD_STATUS_TEXT_H
#define VREAD_STATUS_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Members that are missing or of another type are printed as "-" or 0, so an older or newer vreadd
 * does no harm. */
void status_print(FILE *out, const json_t *status);

#endif
