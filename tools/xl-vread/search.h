/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.h - the data directories on a datanode's disks, where nobody has named them. */
#ifndef XL_VREAD_SEARCH_H
#define XL_VREAD_SEARCH_H

/*
 * Has vread-provision(8) look into the images, num of them, as vread.conf(5) has them; it shows its
 * progress on standard error, and takes as long as it takes.  *ret (free() it): the directories' paths,
 * separated by blanks, at most SPEC_MAX_DATA_DIRS characters.  An exit code of cli.h, after
 * printing what is wrong.
 */
int search_data_dirs(const char *const *images, unsigned num, char **ret);

#endif
