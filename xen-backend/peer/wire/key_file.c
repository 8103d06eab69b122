// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * key_file.c - checks who may use the file of this host's private key.
 *
 * Called by wire/tls_context.c and by `xl-vread doctor` (key_file.h).
 *
 * Who has the key can pose as this host at all other hosts.  So a key that others can use is an
 * error, as in ssh(1), and not a warning that nobody reads.
 */
#include "peer/wire/key_file.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/error.h"

mode_t key_file_open_bits(const struct stat *file, gid_t vreadd)
{
	bool own = file->st_gid == 0 || file->st_gid == vreadd;
	mode_t closed = own ? S_IRWXO : S_IRWXG | S_IRWXO;

	return file->st_mode & closed;
}

int key_file_check(const char *path, char **ret_error)
{
	struct stat file;

	if (access(path, R_OK) < 0 && errno == EACCES)
		return error_text(ret_error, -EACCES,
				  "[peers] key: %s: user %u cannot read this private key: chgrp %u "
				  "it, and chmod 0640 it",
				  path, (unsigned)geteuid(), (unsigned)getegid());
	if (stat(path, &file) < 0 || !key_file_open_bits(&file, getegid()))
		return 0;
	return error_text(ret_error, -EACCES,
			  "[peers] key: %s: mode %04o, group %u: others than root can use this "
			  "private key: expected mode 0600: chmod 0600 it, and make a new key if "
			  "others may have read it",
			  path, file.st_mode & 07777U, (unsigned)file.st_gid);
}
