/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * token_memory.h - remembers on disk that a datanode uses block tokens.  policy/tokens.c calls it,
 * so that a restart of vreadd does not open blocks that needed a token before.
 *
 * Each datanode has a file NAME.json in the folder `token-files` of vread.conf(5).  The file exists
 * from when the datanode first said that tokens are on, until the operator says `tokens = off`.  It
 * has one object: {"datanode": NAME, "tokens": "on", "since": ms since 1970}.  It never has a key.
 *
 * vreadd is the only writer.  A file is replaced as a whole or not at all.  A file of any other
 * form is an error, and the caller must then take the datanode for one that uses tokens.
 *
 * Threads: calls about the same datanode must not overlap.
 */
#ifndef VREAD_POLICY_TOKEN_MEMORY_H
#define VREAD_POLICY_TOKEN_MEMORY_H

#include <stdint.h>

/* Returns 1: remembered, since *ret_since; 0: not; or negative errno with *ret_error (free() it):
 * the file cannot be read, or is damaged.  folder need not exist. */
int token_memory_read(const char *folder, const char *datanode, int64_t *ret_since,
		      char **ret_error);
/* Returns 0 when the file is on the disk; or negative errno with *ret_error.  Makes the folder. */
int token_memory_write(const char *folder, const char *datanode, int64_t since, char **ret_error);
/* Removes the file; there need not be one.  Returns as token_memory_write(). */
int token_memory_remove(const char *folder, const char *datanode, char **ret_error);

#endif
