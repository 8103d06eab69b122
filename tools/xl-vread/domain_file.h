/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain_file.h - the operator's file with the devices of a domain that another toolstack makes:
 * plain xl, libvirt or XAPI.  Called by record.c.
 *
 * The file is /etc/vread/domains.d/UUID.cfg, or else NAME.cfg of the same folder.  Its syntax is
 * that of xl.cfg(5), and only `vread = [ ... ]` is read.  The environment variable
 * VREAD_DOMAIN_FILES names another folder.
 */
#ifndef XL_VREAD_DOMAIN_FILE_H
#define XL_VREAD_DOMAIN_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "spec.h"

struct domain;

/* *path: the domain's file.  False: the domain has none. */
bool domain_file_find(const struct domain *d, char path[PATH_MAX]);
/* Reads the devices.  A domain's disks appear one after another, so a datanode's devices must name
 * its disks and its data directories.  CLI_OK, or an exit code of cli.h after printing what is
 * wrong.  *ret is empty then. */
int domain_file_read(const char *path, struct specs *ret);

#endif
