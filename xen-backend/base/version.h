/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version.h - of vreadd and the tools that come with it. */
#ifndef VREAD_VERSION_H
#define VREAD_VERSION_H

#define VREAD_VERSION "0.1.0"

#endif
