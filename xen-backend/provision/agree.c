// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Comparing; see agree.h.  What device-mapper does with a logical volume is a table
 * of lines; the one our segments would make is written and compared as text.
 */
#include "provision/agree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "disk/image.h"

#define SECTOR 512U

static int disagree(char **ret_error, const struct layout_filesystem *about, const char *what,
		    const char *said, const char *own)
{
	char place[LAYOUT_MAX_PLACE];

	return error_text(
		ret_error, -EBADMSG,
		"%s: libguestfs and vRead do not agree on its %s: %s, or %s.  Run it "
		"again while nobody changes partitions or volumes; if that does not help, "
		"report it with this text",
		layout_place(about, place), what, said, own);
}

static const struct found_volume *find_own(const struct volumes *own,
					   const struct layout_filesystem *said)
{
	for (unsigned i = 0; i < own->count; i++)
		if (layout_same_place(&own->list[i].at, said))
			return &own->list[i];
	return NULL;
}

int agree_on_volume(const struct layout_filesystem *said, const struct volumes *own,
		    char **ret_error)
{
	const struct found_volume *v = find_own(own, said);
	char where[96];

	snprintf(where, sizeof(where), "%" PRIu64 " bytes at byte %" PRIu64, said->length,
		 said->offset);
	if (!v)
		return disagree(ret_error, said, "place", where, "none");
	if (strcmp(v->at.type, said->type))
		return disagree(ret_error, said, "file system", said->type,
				v->at.type[0] ? v->at.type : "none");
	if (strcasecmp(v->at.uuid, said->uuid))
		return disagree(ret_error, said, "UUID", said->uuid, v->at.uuid);
	return 0;
}

/* ---- segments -------------------------------------------------------------------- */

struct comparer {
	guestfs_h *g;
	char *const *devices;
	const struct volumes *own;
	const char *numbers; /* /proc/partitions: MAJOR MINOR BLOCKS NAME */
};

/* Of a shell in the appliance; NULL: libguestfs has none. */
static char *ask_appliance(guestfs_h *g, char *command)
{
	char *arguments[] = {command, NULL};

	return guestfs_debug(g, "sh", arguments);
}

/* "8:1" of a device, or "?". */
static void print_number(FILE *out, const struct comparer *c, const char *name)
{
	unsigned major, minor;
	char found[64];

	for (const char *line = c->numbers; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%u %u %*u %63s", &major, &minor, found) == 3 &&
		    !strcmp(found, name)) {
			fprintf(out, " %u:%u", major, minor);
			return;
		}
	}
	fputs(" ?", out);
}

/* The partition or disk a stripe lies in, and where in it. */
static void print_stripe(FILE *out, const struct comparer *c, const struct layout_stripe *stripe)
{
	const struct layout_filesystem *in = NULL;
	char name[64] = "?";

	for (unsigned i = 0; i < c->own->count && !in; i++) {
		const struct layout_filesystem *at = &c->own->list[i].at;

		if (at->table != LAYOUT_LVM && at->image == stripe->image &&
		    stripe->offset >= at->offset && stripe->offset - at->offset < at->length)
			in = at;
	}
	if (in && in->partition)
		snprintf(name, sizeof(name), "%s%u", c->devices[in->image] + strlen("/dev/"),
			 in->partition);
	else if (in)
		snprintf(name, sizeof(name), "%s", c->devices[in->image] + strlen("/dev/"));
	print_number(out, c, name);
	fprintf(out, " %" PRIu64, (stripe->offset - (in ? in->offset : 0)) / SECTOR);
}

static char *expected_table(const struct comparer *c, const struct layout_filesystem *logical)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint64_t start = 0;

	for (unsigned i = 0; out && i < logical->num_segments; i++) {
		const struct layout_segment *s = &logical->segments[i];

		fprintf(out, "%" PRIu64 " %" PRIu64, start / SECTOR, s->length / SECTOR);
		if (s->num_stripes > 1)
			fprintf(out, " striped %u %" PRIu64, s->num_stripes,
				s->stripe_size / SECTOR);
		else
			fputs(" linear", out);
		for (unsigned k = 0; k < s->num_stripes; k++)
			print_stripe(out, c, &s->stripes[k]);
		fputc('\n', out);
		start += s->length;
	}
	if (out && fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* device-mapper's name has "-" between group and volume, and each '-' in them twice. */
static char *table_command(const char *volume)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("dmsetup table ", out);
	for (const char *c = volume; *c; c++) {
		if (*c == '-')
			fputc('-', out);
		fputc(*c == '/' ? '-' : *c, out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void cut_end(char *text)
{
	size_t length = strlen(text);

	while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
		text[--length] = '\0';
}

int agree_on_segments(guestfs_h *g, char *const *devices, const struct layout_filesystem *logical,
		      const struct volumes *own, char **ret_error)
{
	char numbers_command[] = "cat /proc/partitions";
	char *command = table_command(logical->volume), *expected = NULL, *said = NULL;
	char *numbers = ask_appliance(g, numbers_command);
	int r;

	if (command && numbers) {
		struct comparer c = {g, devices, own, numbers};

		expected = expected_table(&c, logical);
		said = ask_appliance(g, command);
	}
	if (!command || (numbers && !expected)) {
		r = error_text(ret_error, -ENOMEM, "out of memory");
	} else if (!said) {
		const char *why = guestfs_last_error(g);

		r = error_text(ret_error, -EIO,
			       "libguestfs failed to tell where logical volume %s lies: %s",
			       logical->volume, why ? why : "no reason given");
	} else {
		cut_end(said);
		cut_end(expected);
		r = strcmp(said, expected) ? disagree(ret_error, logical, "place", said, expected)
					   : 0;
	}
	free(command);
	free(numbers);
	free(expected);
	free(said);
	return r;
}
