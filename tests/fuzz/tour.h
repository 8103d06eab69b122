/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tour.h - through a view of a file system: what vreadd asks of one, and all
 * else that fs.h lets ask.
 */
#ifndef VREAD_FUZZ_TOUR_H
#define VREAD_FUZZ_TOUR_H

#include "parser/fs/fs.h"

void tour(struct fs *fs, struct fs_view *view);

#endif
