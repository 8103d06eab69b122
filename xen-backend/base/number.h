/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * number.h - parses unsigned numbers as configuration and xenstore write them.  Called by control/
 * for vread.conf, by peer/ for port numbers, by port/xen for xenstore nodes, and by the tools.
 */
#ifndef VREAD_NUMBER_H
#define VREAD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Strict decimal: no sign, space or leading zero.  Returns false if text is malformed or the number
 * is not in min .. max. */
bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret);

/* Bytes: a strict decimal number of 32 bits, or such a number followed by K, M or G for 2^10, 2^20
 * or 2^30.  Returns false if text is malformed. */
bool parse_bytes(const char *text, uint64_t *ret);

#endif
