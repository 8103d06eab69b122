/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shortage.h - tells a shortage of this host from an error that says something about an object.
 *
 * A call can fail because this host lacks memory, descriptors, disk space or the like. Such an
 * error says nothing about the image, file or datanode that the call was about. So nobody draws a
 * conclusion about the object: what was known before stays valid, and the call is made again
 * later.
 *
 * Threads: any.
 */
#ifndef VREAD_BASE_SHORTAGE_H
#define VREAD_BASE_SHORTAGE_H

#include <errno.h>
#include <stdbool.h>

/* `error` is a negative errno, or 0. -EAGAIN is no shortage here: most callers use it for an object
 * that has changed. fork() and pthread_create() return it for a limit of tasks; their callers say
 * so by another way. */
static inline bool is_shortage(int error)
{
	switch (error) {
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOBUFS:
	case -ETOOMANYREFS: /* too many descriptors of this user are sent and not received */
	case -ENOSPC:
	case -EDQUOT:
		return true;
	default:
		return false;
	}
}

#endif
