// SPDX-License-Identifier: GPL-2.0
/*
 * Implements check.h: checks values that come from the backend or from processes, and the rule by
 * which processes share the pool.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>

#define EXPORT_SYMBOL_GPL(symbol)
#endif
#include "check.h"

/* Parses the digits at the start of text.  Returns the text behind them.  NULL: no number, a
 * leading zero, or more than 32 bits. */
static const char *scan_number(const char *text, uint64_t *ret)
{
	const char *p = text;
	uint64_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (uint64_t)(*p - '0');
		if (value > 0xffffffffU)
			return NULL;
	}
	if (p == text || (*text == '0' && p - text > 1))
		return NULL;
	*ret = value;
	return p;
}

int vread_parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
	const char *end;
	uint64_t value;

	end = scan_number(text, &value);
	if (!end || *end)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret = (uint32_t)value;
	return 0;
}
EXPORT_SYMBOL_GPL(vread_parse_number);

bool vread_offers_version(const char *list, uint32_t version)
{
	uint64_t value;

	for (;;) {
		list = scan_number(list, &value);
		if (!list || (*list && *list != ','))
			return false;
		if (value == version)
			return true;
		if (!*list)
			return false;
		list++;
	}
}
EXPORT_SYMBOL_GPL(vread_offers_version);

const char *vread_parse_role(const char *text)
{
	if (!strcmp(text, "client"))
		return "client";
	if (!strcmp(text, "datanode"))
		return "datanode";
	return NULL;
}
EXPORT_SYMBOL_GPL(vread_parse_role);

uint32_t vread_small_pages(uint32_t slice_pages)
{
	const uint32_t wanted = VREAD_SMALL_SHARES * VREAD_SMALL_SHARE_PAGES / 6 * 7;

	return wanted < slice_pages / 2 ? wanted : slice_pages / 2;
}

bool vread_may_take(const struct vread_common *common, uint32_t own, uint32_t wanted)
{
	uint32_t free;

	if (common->held > common->capacity)
		return false; /* a connection before this one had more room */
	free = common->capacity - common->held;
	if (!own || wanted > free)
		return wanted <= free;
	return free - wanted >= common->reserve &&
	       own + wanted <= common->capacity / common->holders;
}

int vread_check_read(const struct vread_ioc_read *read, uint64_t slice_bytes)
{
	if (read->reserved)
		return -EINVAL;
	if (!read->length || read->length > VREAD_MAX_READ)
		return -EINVAL;
	if (read->slice_offset % VREAD_PAGE_SIZE)
		return -EINVAL;
	if ((uint64_t)read->slice_offset + read->length > slice_bytes)
		return -EINVAL;
	if (read->offset + read->length < read->offset)
		return -EINVAL;
	return 0;
}

int vread_check_publish(const struct vread_ioc_publish *publish)
{
	if (publish->reserved)
		return -EINVAL;
	if (publish->event < VREAD_PUBLISH_FINALIZED || publish->event > VREAD_PUBLISH_DELETE)
		return -EINVAL;
	if (publish->data_length < sizeof(struct vread_open_data) ||
	    publish->data_length > VREAD_MAX_OPEN_DATA)
		return -EINVAL;
	return 0;
}

int vread_check_keys(const struct vread_ioc_keys *keys)
{
	if (keys->reserved || keys->tokens > 1)
		return -EINVAL;
	if (keys->data_length < sizeof(struct vread_open_data) ||
	    keys->data_length > VREAD_MAX_OPEN_DATA)
		return -EINVAL;
	return 0;
}

const char *vread_check_response(const struct vread_response *rsp, unsigned int operation,
				 uint32_t max_status)
{
	if (rsp->operation != operation)
		return "operation differs from the request's";
	if (rsp->reserved)
		return "reserved byte is not 0";
	if (rsp->status > 0 && (uint32_t)rsp->status > max_status)
		return "status is larger than the request";
	return NULL;
}

int vread_check_error(int32_t status)
{
	switch (status) {
	case -EACCES:
	case -EBADF:
	case -EBADMSG:
	case -EBUSY:
	case -EILSEQ:
	case -EINVAL:
	case -EIO:
	case -EMFILE:
	case -ENODATA:
	case -ENODEV:
	case -ENOENT:
	case -ENOMEM:
	case -EOPNOTSUPP:
	case -ERANGE:
	case -EPERM:
	case -EAGAIN:
	case -EEXIST:
	case -EDESTADDRREQ:
		return status;
	default:
		return -EIO;
	}
}
