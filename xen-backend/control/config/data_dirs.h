/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_dirs.h - reads a list of data directories as people write it: as paths, or as the value of
 * Hadoop's dfs.datanode.data.dir.
 */
#ifndef VREAD_CONFIG_DATA_DIRS_H
#define VREAD_CONFIG_DATA_DIRS_H

/*
 * Takes the next path off *list.  Paths are separated by commas, or by blanks before a '/', a '['
 * or "file:"; other blanks are part of a path.  A path may be a file: URI, and follow the type of a
 * storage in brackets.  Storages without a disk, [RAM_DISK] and [PROVIDED], are skipped.
 *
 * Returns 1 and *ret_path (free() it), valid by layout_path_valid() and without '/' at its end;
 * 0 at the end of the list; -EINVAL if what follows is no such path; -ENOMEM.
 */
int data_dirs_take(const char **list, char **ret_path);

#endif
