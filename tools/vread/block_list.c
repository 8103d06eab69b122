/* SPDX-License-Identifier: GPL-2.0-or-later */
/* block_list.c - collects the blocks that a command works on, from its arguments and from files
 * (block_spec.h).  Called by connect.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "block_spec.h"
#include "cli/cli.h"

static int append(struct block_list *list, const struct block_spec *spec)
{
	/* The array is full when count is 0 or a power of two. */
	if (!(list->count & (list->count - 1))) {
		size_t room = list->count ? list->count * 2 : 1;
		void *grown = reallocarray(list->specs, room, sizeof(*spec));
		if (!grown)
			return cli_error(CLI_FAILED, "out of memory for %zu blocks", room);
		list->specs = grown;
	}
	list->specs[list->count++] = *spec;
	return 0;
}

int block_list_add(struct block_list *list, const char *text)
{
	struct block_spec spec;
	const char *expected = block_spec_parse(text, &spec);

	if (expected)
		return cli_usage("%s: %s (POOL/blk_ID_GS[@STORAGE][:LENGTH])", text, expected);
	return append(list, &spec);
}

static char *trim(char *line)
{
	size_t n;

	line += strspn(line, " \t");
	n = strlen(line);
	while (n && strchr(" \t\r\n", line[n - 1]))
		line[--n] = '\0';
	return line;
}

static int add_lines(struct block_list *list, const char *path, FILE *file)
{
	struct block_spec spec;
	char *line = NULL;
	size_t room = 0;
	unsigned number = 0;
	int r = 0;

	while (!r && getline(&line, &room, file) >= 0) {
		char *text = trim(line);
		const char *expected;

		number++;
		if (!*text || *text == '#')
			continue;
		expected = block_spec_parse(text, &spec);
		if (expected)
			r = cli_error(CLI_USAGE, "%s:%u: %s: %s", path, number, text, expected);
		else
			r = append(list, &spec);
	}
	if (!r && ferror(file))
		r = cli_error(CLI_FAILED, "%s: cannot read: %m", path);
	free(line);
	return r;
}

int block_list_add_file(struct block_list *list, const char *path)
{
	FILE *file;
	int r;

	if (!strcmp(path, "-"))
		return add_lines(list, "standard input", stdin);
	file = fopen(path, "re");
	if (!file)
		return cli_error(CLI_FAILED, "%s: cannot open: %m", path);
	r = add_lines(list, path, file);
	fclose(file);
	return r;
}

void block_list_free(struct block_list *list)
{
	free(list->specs);
	*list = (struct block_list){0};
}
