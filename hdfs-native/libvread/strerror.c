/* SPDX-License-Identifier: Apache-2.0 */
/* Implements vread_strerror() of vread.h: what an error means to a program that reads a block. */
#include <errno.h>

#include "vread.h"

const char *vread_strerror(int error)
{
	switch (error < 0 ? -error : error) {
	case 0:
		return "no error";
	case E2BIG:
		return "the program uses a member of a struct that this libvread is too old for";
	case EACCES:
		return "this device may not read or speak for that datanode or pool";
	case EAGAIN:
		return "the replica or its keys may have changed, or there is no room for a "
		       "request now";
	case EBADE:
		return "the data changed on its way from the host that verified it";
	case EBADF:
		return "the handle is not open";
	case EBADMSG:
		return "data does not match its checksum";
	case EBUSY:
		return "the datanode's file system is in use in a way that vRead cannot read";
	case ECONNREFUSED:
	case ENOTCONN:
		return "no backend, or the backend has ended";
	case EEXIST:
		return "the block exists with another generation stamp";
	case EDESTADDRREQ:
		return "the storages of the block's replicas must be named";
	case EILSEQ:
		return "the block's .meta file is missing, truncated or malformed";
	case EINTR:
		return "the caller ended the wait for an answer";
	case EINVAL:
		return "malformed request";
	case EIO:
		return "the disk image could not be read, or its file system is damaged";
	case EMFILE:
		return "too many open blocks, or this process has no descriptor left";
	case ENODATA:
		return "the block's data or .meta file is not committed yet, or is not plainly "
		       "on the disk";
	case ENODEV:
		return "no served image has that pool or those storages";
	case ENOENT:
		return "no such block, or no such endpoint";
	case ENOMEM:
		return "out of memory";
	case ENOSPC:
		return "no slice of that size is free in the device's pool";
	case EOPNOTSUPP:
		return "not supported: the operation by this backend or role, or the "
		       "block's checksums";
	case EPERM:
		return "a block token is required and is missing, expired or wrong";
	case EPROTO:
		return "the other end does not support this version of the protocol";
	case ERANGE:
		return "the replica is shorter than the visible length";
	case ESRCH:
		return "no such device";
	case ETIME:
		return "no answer in time";
	default:
		return "unknown error";
	}
}
