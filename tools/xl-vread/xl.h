/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xl.h - runs xl, as an operator would.  So it is the xl of the running Xen, whatever its version.
 * Called by the commands of xl-vread(8). */
#ifndef XL_VREAD_XL_H
#define XL_VREAD_XL_H

/* argv: xl's arguments, without "xl" itself, NULL-terminated.  The output of xl is not touched.
 * CLI_OK, or an exit code of cli.h after printing that `what` failed. */
int xl_command(const char *const *argv, const char *what);
/* The same for `xl VERB DOMID`. */
int xl_domain(const char *verb, unsigned domid);

#endif
