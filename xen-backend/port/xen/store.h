/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - reads and writes xenstore, one node at a time. connect.c, device.c, disks.c and
 * xenbus.c call it.
 *
 * No other file of the port calls libxenstore's reads and writes. Paths are printf formats. Results
 * are 0 or negative errno; -ENOENT: the node does not exist.
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
/*
 * As store_read(), but the value must be a number from 0 to max, parsed strictly. -EINVAL for
 * anything else.
 */
int store_read_number(struct xs_handle *xs, uint32_t max, uint32_t *ret, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int store_write(struct xs_handle *xs, xs_transaction_t t, const char *directory, const char *node,
		const char *value);
int store_write_number(struct xs_handle *xs, xs_transaction_t t, const char *directory,
		       const char *node, uint32_t value);
/*
 * Runs change() in one transaction, and again if the transaction conflicts with another. If
 * change() fails, nothing of the change is made. Returns the result of change(), or the error of
 * the transaction.
 */
typedef int store_change_fn(struct xs_handle *xs, xs_transaction_t t, const void *ctx);
int store_change(struct xs_handle *xs, store_change_fn *change, const void *ctx);
int store_remove(struct xs_handle *xs, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Removes a directory if the directory is empty. */
void store_remove_if_empty(struct xs_handle *xs, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Returns a descriptor that becomes readable when xenstored ends, which libxenstore does not tell a
 * program that waits for events. -1: there is none, because xenstored is reached by a device of the
 * kernel.
 */
int store_end_fd(void);
/*
 * True if xenstored knows the domain, or does not tell: some tell only dom0. So a domain counts as
 * gone only if xenstored says so.
 */
bool store_has_domain(struct xs_handle *xs, uint32_t domid);
/*
 * Returns the names in a directory (free() the array), or NULL and errno; ENOENT: there is no such
 * directory.
 */
char **store_list(struct xs_handle *xs, unsigned *ret_count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
