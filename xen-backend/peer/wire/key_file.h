/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key_file.h - checks who may use the file of this host's private key.
 *
 * Called by wire/tls_context.c before it reads the file, and by `xl-vread doctor`.
 */
#ifndef VREAD_PEER_KEY_FILE_H
#define VREAD_PEER_KEY_FILE_H

#include <sys/stat.h>

/* The bits of the mode that nobody but the owner should have: of others, and of the file's group
 * unless that is root's group or `vreadd`, the group that vreadd runs as.  0: there are none. */
mode_t key_file_open_bits(const struct stat *file, gid_t vreadd);
/* 0; -EACCES with *ret_error (free() it): the file's mode is too open, or this process cannot read
 * the file.  Also 0 if there is no such
 * file: who reads the file reports that. */
int key_file_check(const char *path, char **ret_error);

#endif
