/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h - the images that the operator names in vread.conf(5) and in datanodes' own files, and
 * the folders for their backing files.  answer.c asks it which files may be opened.
 *
 * The files are read here again, because vreadd's word for them does not count.  Only root may
 * write them.  The reader is simple: a line that it does not understand names no image.
 *
 * A name counts until the opener ends, also if it is taken out of the files: vreadd serves the
 * datanodes of the last reload, not those of the files as they are now.
 *
 * Threads: any.
 */
#ifndef VREAD_OPENER_NAMED_H
#define VREAD_OPENER_NAMED_H

#include <stdbool.h>

#include "disk/image.h"

/* An image, in one section. */
struct named {
	char *image; /* its path, without the format */
	char *folder[IMAGE_MAX_FOLDERS];
	unsigned num_folders;
};

/* The configuration file; static string. */
void named_begin(const char *config_path);
/* Reads the files again, and adds what is new. */
void named_look(void);
/* Returns the image of number i, or NULL: there are less.  It never changes. */
const struct named *named_get(unsigned i);
bool named_is_image(const char *path);

#endif
