/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tour.h - a tour of a view of a file system: all questions that vreadd asks, and all others that
 * fs.h allows.  fuzz_ext4.c and fuzz_xfs.c call it.
 */
#ifndef VREAD_FUZZ_TOUR_H
#define VREAD_FUZZ_TOUR_H

#include "parser/fs/fs.h"

void tour(struct fs *fs, struct fs_view *view);

#endif
