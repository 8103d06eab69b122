// SPDX-License-Identifier: GPL-2.0-or-later
/* What vreadd does with a block's files once they were located; see locate.h. */
#include <errno.h>

#include "block/locate.h"

void block_files_clear(struct block_files *f)
{
	fs_file_clear(&f->data);
	fs_file_clear(&f->meta);
}

int block_not_yet(int error)
{
	return error == -EILSEQ || error == -ENODATA ? -ENOENT : error;
}
