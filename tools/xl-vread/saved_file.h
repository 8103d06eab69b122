/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * saved_file.h - finds the UUID of the domain in a file that `xl save` wrote.  Called by restore.c.
 *
 * xl does not say which domain it has restored.  But the file begins with the domain's
 * configuration, which has the UUID of the restored domain.
 */
#ifndef XL_VREAD_SAVED_FILE_H
#define XL_VREAD_SAVED_FILE_H

#include "domains.h"

/* CLI_OK, or an exit code of cli.h after printing what is wrong. */
int saved_file_uuid(const char *path, char ret[DOMAIN_UUID]);

#endif
