/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * version.h - the version of vreadd and of the tools that come with it.  The programs print it, and
 * vread-parser refuses to work for a vreadd of another version.
 */
#ifndef VREAD_VERSION_H
#define VREAD_VERSION_H

#define VREAD_VERSION "0.1.0"

#endif
