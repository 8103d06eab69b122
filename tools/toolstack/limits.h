/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h - how an operator writes what a device may have at most.
 *
 * Both give NULL and the value, or what was expected (static text).
 */
#ifndef VREAD_TOOLSTACK_LIMITS_H
#define VREAD_TOOLSTACK_LIMITS_H

/* 1 to 8. */
const char *limits_parse_queues(const char *text, unsigned *ret);
/* Bytes, or a number and K, M or G, a multiple of 4096; *ret is in pages, 16 to 32768. */
const char *limits_parse_pool_size(const char *text, unsigned *ret_pages);

#endif
