// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the binary part of LVM2's on-disk format: the label and the headers of metadata areas.
 * lvm_group.c calls it; lvm_label.h describes the functions.
 *
 * The label is in one of the first four sectors. A metadata area begins with a sector that
 * points to the newest text. The rest of the area is a circular buffer that holds the text.
 */
#include "parser/disks/lvm_label.h"

#include <endian.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>

#include "parser/disks/lvm_text.h"

#define SECTOR 512U
#define LABEL_SECTORS 4U
#define ATTEMPTS 4U /* to read metadata that is being replaced */

#define AREA_MAGIC "\x20\x4c\x56\x4d\x32\x20\x78\x5b\x35\x41\x25\x72\x30\x4e\x2a\x3e"
#define AREA_VERSION 1U
#define AREA_IGNORED 1U /* the owner does not keep the area up to date */

struct label {
	char magic[8];
	uint64_t sector;
	uint32_t crc; /* checksum of the rest of the sector */
	uint32_t offset;
	char type[8];
} __attribute__((packed));

struct disk_area {
	uint64_t offset, size;
} __attribute__((packed));

/* Behind this header lies a list of data areas, then a list of metadata areas. An entry with
 * offset 0 ends a list. */
struct pv_header {
	char uuid[LVM_UUID_LENGTH];
	uint64_t device_size;
} __attribute__((packed));

struct text_place {
	uint64_t offset, size;
	uint32_t crc;
	uint32_t flags;
} __attribute__((packed));

struct area_header {
	uint32_t crc; /* checksum of the rest of the sector */
	char magic[16];
	uint32_t version;
	uint64_t start, size;
	struct text_place text[4]; /* only the first one is committed */
} __attribute__((packed));

static int invalid(const char **ret_reason, const char *reason)
{
	*ret_reason = reason;
	return -EINVAL;
}

static uint32_t lvm_crc(const void *data, size_t length)
{
	/* ISA-L inverts before and after, LVM does not. */
	return ~crc32_gzip_refl(~0xf597a6cfU, data, length);
}

/* ---- the label ------------------------------------------------------------------ */

/* Returns the offset of the physical volume's header in the sector, or 0 if this is no label. */
static unsigned check_label(const uint8_t *raw, unsigned sector)
{
	const size_t covered = offsetof(struct label, offset);
	unsigned offset;
	struct label l;

	memcpy(&l, raw, sizeof(l));
	if (memcmp(l.magic, "LABELONE", sizeof(l.magic)) || le64toh(l.sector) != sector ||
	    memcmp(l.type, "LVM2 001", sizeof(l.type)) ||
	    le32toh(l.crc) != lvm_crc(raw + covered, SECTOR - covered))
		return 0;
	offset = le32toh(l.offset);
	return offset >= sizeof(l) && offset <= SECTOR - sizeof(struct pv_header) ? offset : 0;
}

/* Reads the next area of a list. Returns false at the end of the list or of the sector. */
static bool next_area(const uint8_t *raw, unsigned *offset, struct lvm_area *ret)
{
	struct disk_area area;

	if (*offset > SECTOR - sizeof(area))
		return false;
	memcpy(&area, raw + *offset, sizeof(area));
	*offset += (unsigned)sizeof(area);
	*ret = (struct lvm_area){le64toh(area.offset), le64toh(area.size)};
	return ret->offset != 0;
}

static void parse_header(const uint8_t *raw, unsigned offset, struct lvm_label *ret)
{
	struct lvm_area area;

	memcpy(ret->uuid, raw + offset, LVM_UUID_LENGTH);
	ret->uuid[LVM_UUID_LENGTH] = '\0';
	ret->num_metadata = 0;
	offset += (unsigned)sizeof(struct pv_header);
	while (next_area(raw, &offset, &area))
		; /* skip the data areas: the metadata also says where data lies */
	while (next_area(raw, &offset, &area) && ret->num_metadata < LVM_MAX_METADATA_AREAS)
		ret->metadata[ret->num_metadata++] = area;
}

int lvm_label_read(struct volume *pv, struct lvm_label *ret, const char **ret_reason)
{
	uint8_t raw[LABEL_SECTORS * SECTOR];
	int r;

	if (volume_size(pv) < sizeof(raw))
		return invalid(ret_reason, "it is too short for a physical volume");
	r = volume_read(pv, 0, raw, sizeof(raw));
	if (r < 0) {
		*ret_reason = "its label cannot be read";
		return r;
	}
	for (unsigned i = 0; i < LABEL_SECTORS; i++) {
		unsigned offset = check_label(raw + i * SECTOR, i);

		if (offset) {
			parse_header(raw + i * SECTOR, offset, ret);
			return 0;
		}
	}
	return invalid(ret_reason, "its label is damaged");
}

/* ---- metadata --------------------------------------------------------------------- */

static int read_area_header(struct volume *pv, const struct lvm_area *area,
			    uint8_t raw[LVM_HEADER_BYTES], struct area_header *ret,
			    const char **ret_reason)
{
	const size_t covered = offsetof(struct area_header, magic);

	if (area->offset > volume_size(pv) || area->size > volume_size(pv) - area->offset ||
	    area->size <= SECTOR)
		return invalid(ret_reason, "its metadata area is not inside it");
	if (volume_read(pv, area->offset, raw, LVM_HEADER_BYTES) < 0)
		return invalid(ret_reason, "its metadata area cannot be read");
	memcpy(ret, raw, sizeof(*ret));
	if (le32toh(ret->crc) != lvm_crc(raw + covered, SECTOR - covered))
		return invalid(ret_reason, "the header of its metadata area has a wrong checksum");
	if (memcmp(ret->magic, AREA_MAGIC, sizeof(ret->magic)) ||
	    le32toh(ret->version) != AREA_VERSION || le64toh(ret->start) != area->offset ||
	    le64toh(ret->size) > area->size || le64toh(ret->size) <= SECTOR)
		return invalid(ret_reason, "the header of its metadata area is invalid");
	return 0;
}

/* Reads text that may wrap around the end of the circular buffer, which begins behind the
 * header. */
static int read_circular(struct volume *pv, const struct lvm_area *area, uint64_t offset,
			 char *text, size_t length)
{
	uint64_t behind = area->size - offset;
	size_t first = length < behind ? length : (size_t)behind;
	int r = volume_read(pv, area->offset + offset, text, first);

	if (r == 0)
		r = volume_read(pv, area->offset + SECTOR, text + first, length - first);
	return r;
}

static int read_text(struct volume *pv, const struct lvm_area *area, const struct text_place *place,
		     char **ret_text, size_t *ret_length, const char **ret_reason)
{
	uint64_t offset = le64toh(place->offset), size = le64toh(place->size);
	char *text;

	if (offset < SECTOR || offset >= area->size || size == 0 || size > area->size - SECTOR ||
	    size > LVM_TEXT_MAX_BYTES)
		return invalid(ret_reason, "its metadata has an invalid offset or length");
	text = malloc((size_t)size);
	if (!text) {
		*ret_reason = "out of memory";
		return -ENOMEM;
	}
	if (read_circular(pv, area, offset, text, (size_t)size) < 0 ||
	    lvm_crc(text, (size_t)size) != le32toh(place->crc)) {
		free(text);
		return invalid(ret_reason, "its metadata has a wrong checksum");
	}
	*ret_text = text;
	*ret_length = (size_t)size;
	return 0;
}

static int try_metadata(struct volume *pv, const struct lvm_area *area,
			uint8_t raw[LVM_HEADER_BYTES], char **ret_text, size_t *ret_length,
			const char **ret_reason)
{
	struct area_header header;
	struct lvm_area used;
	int r = read_area_header(pv, area, raw, &header, ret_reason);

	if (r < 0)
		return r;
	if (le32toh(header.text[0].flags) & AREA_IGNORED)
		return -ESTALE;
	if (header.text[0].offset == 0)
		return -ENODATA;
	used = (struct lvm_area){area->offset, le64toh(header.size)};
	return read_text(pv, &used, &header.text[0], ret_text, ret_length, ret_reason);
}

int lvm_metadata_read(struct volume *pv, const struct lvm_area *area,
		      uint8_t ret_header[LVM_HEADER_BYTES], char **ret_text, size_t *ret_length,
		      const char **ret_reason)
{
	int r = -EINVAL;

	for (unsigned i = 0; i < ATTEMPTS && r == -EINVAL; i++)
		r = try_metadata(pv, area, ret_header, ret_text, ret_length, ret_reason);
	return r;
}
