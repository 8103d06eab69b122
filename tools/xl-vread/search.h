/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.h - finds the data directories on a datanode's disks, for data-dirs=auto.  Called by
 * datanode.c. */
#ifndef XL_VREAD_SEARCH_H
#define XL_VREAD_SEARCH_H

/*
 * Has vread-provision(8) look into num images, written as in vread.conf(5).  folders: for files
 * that the images name, separated by blanks; NULL: none.  vread-provision shows its progress on
 * standard error; there is no time limit.  *ret: the paths of the directories, separated by blanks,
 * at most SPEC_MAX_DATA_DIRS characters; free() it.  CLI_OK, or an exit code of cli.h after
 * printing what is wrong.
 */
int search_data_dirs(const char *const *images, unsigned num, const char *folders, char **ret);

#endif
