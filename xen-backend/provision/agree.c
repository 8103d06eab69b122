// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agree.c - compares what libguestfs says with what vreadd's own code finds: see agree.h.
 * inspect.c calls it.
 *
 * device-mapper describes a logical volume as a table of lines.  This file writes, as text, the
 * table that our segments would make, and compares the two texts.
 */
#include "provision/agree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "provision/appliance.h"

#define SECTOR 512U

static int disagree(char **ret_error, const struct layout_filesystem *about, const char *what,
		    const char *said, const char *own)
{
	char place[LAYOUT_MAX_PLACE];

	return error_text(ret_error, -EBADMSG,
			  "%s: libguestfs and vRead disagree about its %s: %s and %s.  Run "
			  "vread-provision again while nobody changes partitions or volumes; if "
			  "the error stays, report it with this text",
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
	const struct volumes *own;
	const char *numbers; /* lines: LABEL MAJOR:MINOR */
};

/* Output of command, run by a shell in the appliance.  NULL: libguestfs could not run it. */
static char *ask_appliance(guestfs_h *g, char *command)
{
	char *arguments[] = {command, NULL};

	return guestfs_debug(g, "sh", arguments);
}

/* Prints the device number, as "8:1", of the disk or partition with that label; "?" if not
 * found. */
static void print_number(FILE *out, const struct comparer *c, const char *name)
{
	char found[64], number[32];

	for (const char *line = c->numbers; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%63s %31s", found, number) == 2 && !strcmp(found, name)) {
			fprintf(out, " %s", number);
			return;
		}
	}
	fputs(" ?", out);
}

/* Prints the partition or disk that holds a stripe, and where the stripe begins in it. */
static void print_stripe(FILE *out, const struct comparer *c, const struct layout_stripe *stripe)
{
	const struct layout_filesystem *in = NULL;
	char label[APPLIANCE_MAX_LABEL], name[32];

	for (unsigned i = 0; i < c->own->count && !in; i++) {
		const struct layout_filesystem *at = &c->own->list[i].at;

		if (at->table != LAYOUT_LVM && at->image == stripe->image &&
		    stripe->offset >= at->offset && stripe->offset - at->offset < at->length)
			in = at;
	}
	appliance_label(stripe->image, label);
	if (in && in->partition)
		snprintf(name, sizeof(name), "%s%u", label, in->partition);
	else
		snprintf(name, sizeof(name), "%s", label);
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

/* device-mapper's name for a volume is group-volume, with every '-' in the two names doubled. */
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

int agree_on_segments(guestfs_h *g, const struct layout_filesystem *logical,
		      const struct volumes *own, char **ret_error)
{
	char numbers_command[] = "cd " APPLIANCE_LABELS " && for label in *; do "
				 "device=$(readlink -f $label); "
				 "echo $label $(cat /sys/class/block/${device##*/}/dev); done";
	char *command = table_command(logical->volume), *expected = NULL, *said = NULL;
	char *numbers = ask_appliance(g, numbers_command);
	int r;

	if (command && numbers) {
		struct comparer c = {own, numbers};

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
