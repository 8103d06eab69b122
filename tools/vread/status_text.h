/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * status_text.h - the status document for a terminal of 80 columns.
 */
#ifndef VREAD_STATUS_TEXT_H
#define VREAD_STATUS_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Prints what it finds; members that are missing or of another type print as
 * "-", so an older or newer daemon is no reason to fail. */
void status_print(FILE *out, const json_t *status);

#endif
