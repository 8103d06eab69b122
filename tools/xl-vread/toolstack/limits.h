/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h - reads the limits of a device, as an operator writes them.  Called by spec.c.
 *
 * Both functions return NULL and set the value, or return what was expected (static text).
 */
#ifndef VREAD_TOOLSTACK_LIMITS_H
#define VREAD_TOOLSTACK_LIMITS_H

/* A number from 1 to 8. */
const char *limits_parse_queues(const char *text, unsigned *ret);
/* Bytes, or a number with K, M or G; a multiple of 4096.  *ret_pages: 16 to 32768. */
const char *limits_parse_pool_size(const char *text, unsigned *ret_pages);

#endif
