/* SPDX-License-Identifier: Apache-2.0 */
/* Implements check.h. */
#include "check.h"

#include <errno.h>

#include "crc.h"

int check_bytes(const struct op *read, const void *data)
{
	return vcrc_sum(data, (size_t)read->status) == read->crc32c ? 0 : -EBADE;
}
