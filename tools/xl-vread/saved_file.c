/* SPDX-License-Identifier: GPL-2.0-or-later */
/* saved_file.c - implements saved_file.h: reads the header and the configuration that xl writes. */
#include "saved_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define MAX_CONFIG (1U << 20)
#define FLAG_JSON 1U /* the configuration is JSON, as it has been since Xen 4.5 */

/* The beginning of the file.  Numbers are in the byte order of the host that saved the domain. */
struct header {
	char magic[32];
	uint32_t byte_order;
	uint32_t mandatory_flags;
	uint32_t optional_flags;
	uint32_t optional_length; /* bytes that follow: the configuration's length, then itself */
};

static const char magic[32] = "Xen saved domain, xl format\n \0 \r";

/* Reads the configuration; free() it.  NULL: an error. */
static char *read_config(FILE *file, uint32_t *ret_length)
{
	struct header h;
	char *text;

	if (fread(&h, sizeof(h), 1, file) != 1 || memcmp(h.magic, magic, sizeof(magic)) != 0 ||
	    h.byte_order != 0x01020304 || !(h.mandatory_flags & FLAG_JSON) ||
	    fread(ret_length, sizeof(*ret_length), 1, file) != 1 || *ret_length > MAX_CONFIG)
		return NULL;
	text = malloc(*ret_length + 1U);
	if (text && fread(text, 1, *ret_length, file) != *ret_length) {
		free(text);
		text = NULL;
	}
	return text;
}

static bool uuid_of(const char *text, size_t length, char ret[DOMAIN_UUID])
{
	/* xl may also write the NUL at the end. */
	json_t *config = json_loadb(text, strnlen(text, length), 0, NULL);
	const char *uuid =
		json_string_value(json_object_get(json_object_get(config, "c_info"), "uuid"));
	bool found = uuid && domain_uuid_valid(uuid);

	if (found)
		memcpy(ret, uuid, DOMAIN_UUID);
	json_decref(config);
	return found;
}

int saved_file_uuid(const char *path, char ret[DOMAIN_UUID])
{
	FILE *file = fopen(path, "re");
	uint32_t length;
	bool found;
	char *text;

	if (!file)
		return cli_error(CLI_FAILED, "%s: cannot open: %m", path);
	text = read_config(file, &length);
	fclose(file);
	found = text && uuid_of(text, length, ret);
	free(text);
	return found ? CLI_OK
		     : cli_error(CLI_FAILED,
				 "%s: expected a file of 'xl save' with the UUID of its domain",
				 path);
}
