/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - xenstore, one node at a time.
 *
 * The only place of the port that calls libxenstore's reads and writes.  Paths
 * are printf formats; results are 0 or negative errno, -ENOENT for a node that
 * is not there.
 */
#ifndef VREAD_XEN_STORE_H
#define VREAD_XEN_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <xenstore.h>

#define STORE_MAX_PATH 512

/* *ret is a string (free() it); NUL bytes inside a value become '?'. */
int store_read(struct xs_handle *xs, xs_transaction_t t, char **ret, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* As store_read(), then strictly a number from 0 to max; -EINVAL for anything else. */
int store_read_number(struct xs_handle *xs, uint32_t max, uint32_t *ret, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int store_write(struct xs_handle *xs, xs_transaction_t t, const char *directory, const char *node,
		const char *value);
int store_write_number(struct xs_handle *xs, xs_transaction_t t, const char *directory,
		       const char *node, uint32_t value);
/* Makes a change in one transaction, again while it meets another's; nothing of it if change fails.  What
 * change() returns, or why it could not be made. */
typedef int store_change_fn(struct xs_handle *xs, xs_transaction_t t, const void *ctx);
int store_change(struct xs_handle *xs, store_change_fn *change, const void *ctx);
int store_remove(struct xs_handle *xs, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Removes a directory if nothing is in it. */
void store_remove_if_empty(struct xs_handle *xs, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Names in a directory (free() it); NULL if there is none. */
char **store_list(struct xs_handle *xs, unsigned *ret_count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
