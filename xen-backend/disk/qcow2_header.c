// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses the head of a qcow2 file; see qcow2_header.h, and docs/interop/qcow2.txt of QEMU.  Called
 * by disk/qcow2.c and disk/qcow2_lookup.c.
 */
#include "disk/qcow2_header.h"

#include <string.h>

#include "base/printable.h"
#include "disk/big_endian.h"

#define MAGIC "QFI\xfb"
#define V2_BYTES 72U
#define V3_BYTES 104U
#define MIN_CLUSTER_BITS 9U
#define MAX_CLUSTER_BITS 21U
#define MAX_L1_BYTES (32U << 20) /* as QEMU */
#define MAX_SIZE (UINT64_C(1) << 60)

/* Offsets of the header's fields. */
enum {
	AT_VERSION = 4,
	AT_BACKING_OFFSET = 8,
	AT_BACKING_BYTES = 16,
	AT_CLUSTER_BITS = 20,
	AT_SIZE = 24,
	AT_CRYPT = 32,
	AT_L1_ENTRIES = 36,
	AT_L1_OFFSET = 40,
	AT_INCOMPATIBLE = 72,
	AT_COMPATIBLE = 80,
	AT_HEADER_BYTES = 100,
	AT_COMPRESSION = 104,
};

enum {
	DIRTY = 1 << 0, /* reference counts may be wrong; they are not used here */
	CORRUPT = 1 << 1,
	EXTERNAL_DATA = 1 << 2,
	COMPRESSION = 1 << 3,
	EXTENDED_L2 = 1 << 4,
	KNOWN = DIRTY | CORRUPT | EXTERNAL_DATA | COMPRESSION | EXTENDED_L2,
};

#define EXTENSION_END 0U
#define EXTENSION_BACKING_FORMAT 0xe2792acaU

static const char *check_features(uint64_t features)
{
	if (features & CORRUPT)
		return "it is marked corrupt; repair it while no domain uses it: qemu-img check -r "
		       "all";
	if (features & EXTERNAL_DATA)
		return "its data are in an external data file, which vRead does not support; "
		       "convert the image: "
		       "qemu-img convert -O qcow2";
	/* An extended L2 entry has two words.  An entry that is read while the owner writes it may
	 * be half old and half new, and then show zeros. */
	if (features & EXTENDED_L2)
		return "it has subclusters (extended_l2), which cannot be read while the owner "
		       "writes; convert the image: qemu-img convert -O qcow2";
	if (features & ~(uint64_t)KNOWN)
		return "it uses qcow2 features that vRead does not support; convert the image: "
		       "qemu-img convert -O qcow2";
	return NULL;
}

static const char *parse_features(const uint8_t *head, size_t length, uint32_t *ret_header_bytes,
				  struct qcow2_header *h)
{
	uint64_t features = get64(head + AT_INCOMPATIBLE);
	uint32_t bytes = get32(head + AT_HEADER_BYTES);
	const char *error = check_features(features);

	if (error)
		return error;
	if (bytes < V3_BYTES || bytes % 8 || bytes > length)
		return "its header has an invalid length";
	if (features & COMPRESSION) {
		if (bytes <= AT_COMPRESSION || head[AT_COMPRESSION] > 1)
			return "it uses a compression type that vRead does not support; convert "
			       "the image: "
			       "qemu-img convert -O qcow2";
		h->zstd = head[AT_COMPRESSION] == 1;
	}
	*ret_header_bytes = bytes;
	return NULL;
}

static const char *check_geometry(const struct qcow2_header *h)
{
	uint64_t table; /* bytes of the disk that one L2 table maps */

	if (h->cluster_bits < MIN_CLUSTER_BITS || h->cluster_bits > MAX_CLUSTER_BITS)
		return "its cluster size is invalid";
	if (h->size == 0)
		return "its disk is empty (0 bytes)";
	if (h->size > MAX_SIZE)
		return "the size of its disk is invalid";
	table = UINT64_C(1) << (2 * h->cluster_bits - 3);
	if (h->l1_entries < (h->size + table - 1) / table || h->l1_entries > MAX_L1_BYTES / 8)
		return "the length of its L1 table does not fit the size of its disk";
	if (h->l1_offset == 0 || h->l1_offset & ((UINT64_C(1) << h->cluster_bits) - 1) ||
	    h->l1_offset > INT64_MAX)
		return "its L1 table is at an invalid offset";
	return NULL;
}

static const char *parse_extensions(const uint8_t *head, size_t length, size_t at, size_t end,
				    struct qcow2_header *h)
{
	while (at + 8 <= end) {
		uint32_t type = get32(head + at), bytes = get32(head + at + 4);

		at += 8;
		if (type == EXTENSION_END)
			break;
		if (at > length || bytes > length - at)
			return "its header extensions are too long";
		if (type == EXTENSION_BACKING_FORMAT) {
			if (bytes >= sizeof(h->backing_format) || memchr(head + at, '\0', bytes))
				return "the format name of its backing file is invalid";
			memcpy(h->backing_format, head + at, bytes);
			h->backing_format[bytes] = '\0';
			if (!printable(h->backing_format))
				return "its backing file's format is no name";
		}
		at += (bytes + 7) & ~7U;
	}
	if (at > h->head_bytes)
		h->head_bytes = at < length ? (uint32_t)at : (uint32_t)length;
	return NULL;
}

static const char *parse_backing(const uint8_t *head, size_t length, struct qcow2_header *h)
{
	uint64_t offset = get64(head + AT_BACKING_OFFSET);
	uint32_t bytes = get32(head + AT_BACKING_BYTES);

	if (offset == 0)
		return NULL;
	/* Behind the first cluster may be bytes that the guest wrote. */
	if (length > UINT64_C(1) << h->cluster_bits)
		length = (size_t)1 << h->cluster_bits;
	if (bytes == 0 || bytes > QCOW2_MAX_NAME || offset > length || bytes > length - offset ||
	    memchr(head + offset, '\0', bytes))
		return "the name of its backing file is damaged";
	memcpy(h->backing, head + offset, bytes);
	h->backing[bytes] = '\0';
	if (!printable(h->backing))
		return "its backing file's name is not UTF-8, or has control characters";
	if (h->head_bytes < offset + bytes)
		h->head_bytes = (uint32_t)offset + bytes;
	return NULL;
}

/* Returns where the extensions end: at the backing file's name, or at the end of the first
 * cluster. */
static size_t extensions_end(const uint8_t *head, size_t length, const struct qcow2_header *h)
{
	uint64_t end = get64(head + AT_BACKING_OFFSET);
	uint64_t cluster = UINT64_C(1) << h->cluster_bits;

	if (end == 0 || end > cluster)
		end = cluster;
	return end < length ? (size_t)end : length;
}

const char *qcow2_header_parse(const uint8_t *head, size_t length, struct qcow2_header *ret)
{
	uint32_t header_bytes = V2_BYTES;
	const char *error = NULL;

	memset(ret, 0, sizeof(*ret));
	if (length < V2_BYTES || memcmp(head, MAGIC, 4))
		return "it is not a qcow2 file";
	ret->version = get32(head + AT_VERSION);
	if (ret->version != 2 && ret->version != 3)
		return "its qcow2 version is not supported; expected 2 or 3";
	if (ret->version == 3 && length < V3_BYTES)
		return "its header is truncated";
	if (get32(head + AT_CRYPT))
		return "it is encrypted";
	ret->cluster_bits = get32(head + AT_CLUSTER_BITS);
	ret->size = get64(head + AT_SIZE);
	ret->l1_entries = get32(head + AT_L1_ENTRIES);
	ret->l1_offset = get64(head + AT_L1_OFFSET);
	if (ret->version == 3)
		error = parse_features(head, length, &header_bytes, ret);
	if (!error)
		error = check_geometry(ret);
	ret->head_bytes = header_bytes;
	if (!error)
		error = parse_extensions(head, length, header_bytes,
					 extensions_end(head, length, ret), ret);
	return error ? error : parse_backing(head, length, ret);
}

static bool features_follow(const uint8_t *head, const uint8_t *now)
{
	uint64_t was = get64(head + AT_INCOMPATIBLE), is = get64(now + AT_INCOMPATIBLE);

	return !((was ^ is) & ~(uint64_t)DIRTY);
}

bool qcow2_header_follow(const struct qcow2_header *h, const uint8_t *head, const uint8_t *now,
			 uint64_t *ret_l1_offset)
{
	/* The fields between L1_ENTRIES and this offset are not compared: places of tables and
	 * snapshots, and the feature bits that the owner sets while the file is open. */
	size_t volatile_end = h->version == 3 ? AT_COMPATIBLE + 16 : V2_BYTES;
	struct qcow2_header moved = *h;

	if (memcmp(head, now, AT_L1_ENTRIES) ||
	    memcmp(head + volatile_end, now + volatile_end, h->head_bytes - volatile_end) ||
	    (h->version == 3 && !features_follow(head, now)))
		return false;
	moved.l1_entries = get32(now + AT_L1_ENTRIES);
	moved.l1_offset = get64(now + AT_L1_OFFSET);
	if (check_geometry(&moved))
		return false;
	*ret_l1_offset = moved.l1_offset;
	return true;
}
