/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.h - finds the data directories on a datanode's disks.  Called by datanode.c for
 * data-dirs=auto, and by init/look.c. */
#ifndef XL_VREAD_SEARCH_H
#define XL_VREAD_SEARCH_H

#include <stdbool.h>

#include "layout/layout.h"

/* search_data_dirs() found no data directory.  vread-provision's exit code for that. */
#define SEARCH_NOTHING 65

struct search_result {
	char *dirs; /* paths, separated by blanks, at most SPEC_MAX_WORDS characters; free() */
	bool on[LAYOUT_MAX_IMAGES]; /* which images have a part of a file system with such paths */
};

/*
 * Has vread-provision(8) look into num images, written as in vread.conf(5).  folders: for files
 * that the images name, separated by blanks; NULL: none.  vread-provision shows its progress on
 * standard error; there is no time limit.  CLI_OK, or an exit code of cli.h after printing what is
 * wrong.  SEARCH_NOTHING: the images have no data directory, or vRead cannot read their contents;
 * vread-provision has printed which.  *ret is set only with CLI_OK.
 */
int search_data_dirs(const char *const *images, unsigned num, const char *folders,
		     struct search_result *ret);

#endif
