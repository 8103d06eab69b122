/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach.h - what `xl-vread attach DOMAIN DEVICE` does, for `xl-vread init`. */
#ifndef XL_VREAD_ATTACH_H
#define XL_VREAD_ATTACH_H

#include "domains.h"

/* Gives a running domain the device that text describes (spec.h), and puts the device into the
 * domain's record.  Does not wait for the connection.  CLI_OK, or an exit code of cli.h after
 * printing what is wrong; then the domain has neither. */
int attach_device(const struct domain *domain, const char *text);

#endif
