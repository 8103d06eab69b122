/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * saved_file.h - which domain is in a file of `xl save`.
 *
 * xl says nowhere which domain it has restored.  Its file begins with the domain's configuration, which
 * has the UUID that the domain will have.
 */
#ifndef XL_VREAD_SAVED_FILE_H
#define XL_VREAD_SAVED_FILE_H

#include "domains.h"

/* An exit code of cli.h, after printing what is wrong. */
int saved_file_uuid(const char *path, char ret[DOMAIN_UUID]);

#endif
