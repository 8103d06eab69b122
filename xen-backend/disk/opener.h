/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opener.h - asks vread-opener for the files of images.  disk/source.c and disk/backing.c call it
 * in a vreadd that may not open images itself; control/privileges.c starts the opener.
 *
 * Threads: any, after opener_use().
 */
#ifndef VREAD_DISK_OPENER_H
#define VREAD_DISK_OPENER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "disk/naming.h"
#include "disk/opener_protocol.h"

/* Waits until the opener is ready, then asks it by these channels, which belong to this file from
 * then on.  Call it before any thread opens an image.  Returns 0 or negative errno. */
int opener_use(const int channels[OPENER_CHANNELS]);
/* Ends every question, also those under way, with -EPIPE. */
void opener_end(void);
bool opener_is_used(void);

/*
 * As naming_open_image() and naming_open().  Also, where storage hangs:
 * -ETIMEDOUT: no answer within 10 s.
 * -EBUSY: a question for this file has no answer yet.
 * -ENOBUFS: for 10 s every channel was taken by other files.
 */
int opener_image(const char *path, char **ret_error);
int opener_named(const struct naming *n, const char *path, char **ret_error);

/* Whose file a question is about. */
enum opener_whose {
	OPENER_OURS, /* an image of a datanode */
	/* any other file.  Nobody waits longer than 2 s for its answer, it is asked for once at a
	 * time, and only OPENER_OTHERS_MAX channels are for such files.  So such files cannot keep
	 * images from being opened. */
	OPENER_OTHERS,
};
#define OPENER_OTHERS_MAX 4U

/* As stat(), by the opener if there is one.  The opener tells only st_mode, st_dev, st_ino and
 * st_rdev, and only of regular files and block devices; anything else is an error.  Returns 0 or
 * negative errno, as above; -ENOBUFS at once for OPENER_OTHERS if their channels are taken. */
int opener_stat(const char *path, enum opener_whose whose, struct stat *ret);

#endif
