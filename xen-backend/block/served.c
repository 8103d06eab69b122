// SPDX-License-Identifier: GPL-2.0-or-later
/* References to what is served; see served.h. */
#include "block/served.h"

#include <stdlib.h>

struct served *served_get(struct served *v)
{
	if (v)
		atomic_fetch_add(&v->references, 1);
	return v;
}

void served_put(struct served *v)
{
	if (!v || atomic_fetch_sub(&v->references, 1) != 1)
		return;
	for (unsigned i = 0; v->fs && i < v->layout->num_filesystems; i++)
		fs_free(v->fs[i]);
	free(v->fs);
	layout_free(v->layout);
	image_source_close(v->source);
	free(v->missing);
	free(v);
}
