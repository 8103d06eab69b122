/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * printable.h - tells if a text that comes from outside may be shown to people.  disk/ calls it for
 * names that are in images.
 *
 * Control characters could forge lines of a log, or command a terminal.  jansson drops texts that
 * are not UTF-8.
 */
#ifndef VREAD_BASE_PRINTABLE_H
#define VREAD_BASE_PRINTABLE_H

#include <stdbool.h>

/* True if text is UTF-8 without control characters. */
bool printable(const char *text);

#endif
