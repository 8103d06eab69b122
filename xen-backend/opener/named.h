/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h - the images that the operator names in vread.conf(5), in datanodes' own files, and by
 * keys in xenstore (keys/keys.h), and the folders for their backing files.  answer.c asks it which
 * files may be opened.
 *
 * The files and keys are read here again, because vreadd's word for them does not count.  Only root
 * may write the files.  Their reader is simple: a line that it does not understand names no image.
 * The keys are the toolstack's word in xenstore, where vreadd may write, too.  An operator who
 * trusts vreadd less than that sets datanode-keys = no in vread.conf(5).
 *
 * A name counts until the opener ends, also if it is taken out of the files: vreadd serves the
 * datanodes of the last reload, not those of the files as they are now.
 *
 * Threads: any.
 */
#ifndef VREAD_OPENER_NAMED_H
#define VREAD_OPENER_NAMED_H

#include <stdbool.h>

#include <xenstore.h>

#include "disk/image.h"

/* An image, in one section. */
struct named {
	char *image; /* its path, without the format */
	char *folder[IMAGE_MAX_FOLDERS];
	unsigned num_folders;
};

/* The configuration file; static string.  xs: a connection for this file alone; NULL: there is no
 * xenstore here. */
void named_begin(const char *config_path, struct xs_handle *xs);
/* Reads the files again, and adds what is new. */
void named_look(void);
/* Returns the image of number i, or NULL: there are less.  It never changes. */
const struct named *named_get(unsigned i);
bool named_is_image(const char *path);

#endif
