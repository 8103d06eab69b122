// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements sectors.h: changes to sectors. */
#include "sectors.h"

void sectors_load(struct sectors *s, const char *name)
{
	char file[64], *path;
	unsigned long long sector;
	FILE *list;

	snprintf(file, sizeof(file), "%s.img", name);
	memory_load(&s->memory, file);
	snprintf(file, sizeof(file), "%s.sectors", name);
	path = memory_base_path(file);
	list = fopen(path, "re");
	check(list);
	while (s->count < MAX_SECTORS && fscanf(list, "%llu", &sector) == 1)
		s->sector[s->count++] = sector;
	check(s->count);
	fclose(list);
	free(path);
}

void sectors_change(struct sectors *s, struct bytes in, unsigned moment)
{
	while (in.left) {
		uint64_t sector = s->sector[take16(&in) % s->count];
		uint32_t offset = take16(&in) % SECTOR;
		uint8_t how = take8(&in), length = how % 32;
		uint8_t *bytes = memory_touch(&s->memory, sector * SECTOR, SECTOR);

		check(bytes);
		for (uint32_t i = 0; i < length; i++) {
			uint8_t byte = take8(&in);

			if (how / 128 == moment && offset + i < SECTOR)
				bytes[offset + i] = byte;
		}
	}
}
