/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xl.h - xl, run as an operator would: it is the xl of the Xen that is running, whatever its version. */
#ifndef XL_VREAD_XL_H
#define XL_VREAD_XL_H

/* argv: of xl, without itself, NULL-terminated.  What xl prints is not touched.  Its exit code, or
 * negative errno if it could not be run or was killed. */
int xl_run(const char *const *argv);
/* An exit code of cli.h, after printing that `what` failed. */
int xl_command(const char *const *argv, const char *what);
/* `xl VERB DOMID`, likewise. */
int xl_domain(const char *verb, unsigned domid);

#endif
