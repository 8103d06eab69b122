// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * file.c - reads the lines of vread.conf and of datanodes' own files.
 *
 * Called by control/config.c.
 *
 * libinih splits lines into keys and values.  Its line buffer is short and it cuts lines silently.
 * So this file gives libinih a reader of its own.  The reader reports long lines, counts lines,
 * sees sections without keys, and replaces lines that were reported by empty lines.
 *
 * A datanode's own file is read in the same way.  It may have only one section, the one that the
 * file is named after.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/loader.h"

_Static_assert(CONFIG_MAX_LINE == INI_MAX_LINE - 3, "it takes line feed, and a byte to tell");

#define MAX_FILE_LINES 100000U

static void see_section_line(struct config_loader *l, char *line)
{
	char *end = strchr(line, ']');

	if (!end) {
		config_report(l, NULL, NULL, NULL, "%s: expected ']' after the section's name",
			      line);
		l->section_bad = true;
		return;
	}
	*end = '\0';
	config_section_begin(l, line + 1);
}

/*
 * fgets() for libinih.  num is libinih's limit; a longer line is reported and
 * replaced by an empty line.  Leading spaces are removed, so that libinih takes
 * no line for a continuation.
 */
static char *read_line(char *str, int num, void *stream)
{
	struct config_loader *l = stream;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length = getline(&line, &capacity, l->file);
	char *text = line;

	if (length >= 0 && l->line >= MAX_FILE_LINES) {
		config_report(l, NULL, NULL, NULL, "the file has more lines: expected at most %u",
			      MAX_FILE_LINES);
		length = -1;
	}
	if (length < 0) {
		free(line);
		return NULL;
	}
	l->line++;
	while (length > 0 && strchr(" \t\r\n", line[length - 1]) && line[length - 1])
		line[--length] = '\0';
	text += strspn(line, " \t");
	if (strlen(line) != (size_t)length) {
		config_report(l, NULL, NULL, NULL, "the line holds a NUL byte: expected text");
		*text = '\0';
	} else if (strlen(text) > (size_t)num - 3) {
		config_report(l, NULL, NULL, NULL, "the line has %zu bytes: expected at most %d",
			      strlen(text), num - 3);
		if (*text == '[')
			l->section_bad = true;
		*text = '\0';
	} else if (*text && !strchr("[;#", *text) && !strpbrk(text, "=:")) {
		config_report(l, NULL, NULL, NULL,
			      "%s: expected \"key = value\", \"[section]\" or \"# comment\"", text);
		*text = '\0';
	}
	snprintf(str, (size_t)num, "%s\n", text);
	if (*text == '[')
		see_section_line(l, text);
	free(line);
	return str;
}

static int parse(struct config_loader *l)
{
	const struct peers_config *peers = &l->config->peers;

	if (ini_parse_stream(read_line, l, config_key_see, l) < 0 || ferror(l->file)) {
		config_report(l, NULL, NULL, NULL, "cannot read the next line: %s",
			      strerror(errno));
		return -EIO;
	}
	config_section_end(l);
	if (!l->only && l->line == 0) /* as an editor leaves it when the disk is full */
		config_report(
			l, NULL, NULL, NULL,
			"the file is empty: expected sections, or a comment if all values are "
			"to be the defaults");
	if (l->only && l->section == SECTION_NONE && !l->num_problems) {
		l->line = 0;
		config_report(l, NULL, NULL, NULL, "expected a section [%s]", l->only);
	}
	if (!l->only && peers->num_peers && !peers->line) {
		char section[sizeof(CONFIG_PEER_PREFIX) + CONFIG_MAX_NAME];

		snprintf(section, sizeof(section), CONFIG_PEER_PREFIX "%s", peers->peers[0].name);
		l->line = peers->peers[0].line;
		config_report(
			l, section, NULL, NULL,
			"no section [peers]: expected one with this host's name, certificate, key "
			"and ca");
	}
	return l->num_problems ? -EINVAL : 0;
}

int config_file_load(struct config_loader *l)
{
	int r;

	l->file = fopen(l->path, "re");
	if (!l->file) {
		r = -errno;
		config_report(l, NULL, NULL, NULL,
			      "%s: expected a readable file, see vread.conf(5)", strerror(-r));
		return r;
	}
	r = parse(l);
	fclose(l->file);
	return r;
}

/* ---- datanodes' own files -------------------------------------------------------- */

/* Reads the file NAME.conf in folder into l->config, and adds its problems to l->problems. */
static int load_datanode_file(struct config_loader *l, const char *folder, const char *name)
{
	struct config_loader own = {.config = l->config, .problems = l->problems};
	size_t length = strlen(name) - strlen(CONFIG_DATANODE_SUFFIX);
	char *path = NULL, *only = NULL;
	int r = -ENOMEM;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		path = NULL;
	if (asprintf(&only, CONFIG_DATANODE_PREFIX "%.*s", (int)length, name) < 0)
		only = NULL;
	own.path = path;
	own.only = only;
	if (path && only)
		r = config_file_load(&own);
	free(only);
	free(path);
	return r;
}

static int is_datanode_file(const struct dirent *entry)
{
	return fnmatch("*" CONFIG_DATANODE_SUFFIX, entry->d_name, FNM_PERIOD) == 0;
}

int config_datanode_files_load(struct config_loader *l)
{
	const char *folder = l->config->datanode_files;
	struct dirent **names;
	int count, first = 0;

	if (!*folder)
		return 0;
	count = scandir(folder, &names, is_datanode_file, alphasort);
	if (count < 0 && errno == ENOENT)
		return 0;
	if (count < 0) {
		first = -errno;
		l->line = 0;
		config_report(l, "vreadd", "datanode-files", folder, "cannot be read: %s",
			      strerror(-first));
		return first;
	}
	for (int i = 0; i < count; i++) {
		int r = load_datanode_file(l, folder, names[i]->d_name);

		first = first ?: r;
		free(names[i]);
	}
	free(names);
	return first;
}
