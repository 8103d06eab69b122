// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * problems.c - problems of a configuration as JSON: each with its place and what was expected.
 *
 * The other files of config/ report problems; config_warn.c makes warnings; vreadd and the tools
 * print them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/loader.h"

/* text as a JSON string.  JSON must be UTF-8: if text is not, bytes above 0x7f become '?'. */
static json_t *text_json(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	char *copy;

	if (json)
		return json;
	copy = strdup(text);
	for (char *c = copy; c && *c; c++)
		if (*c & 0x80)
			*c = '?';
	json = copy ? json_string(copy) : NULL;
	free(copy);
	return json;
}

json_t *config_problem_new(const char *path, unsigned line, const char *section, const char *key,
			   const char *value, json_t *problem)
{
	return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "file", text_json(path), "line",
			 (int)line, "section", text_json(section), "key", text_json(key), "value",
			 text_json(value), "problem", problem ? problem : json_string("?"));
}

void config_report(struct config_loader *l, const char *section, const char *key, const char *value,
		   const char *format, ...)
{
	char *problem = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&problem, format, ap) < 0)
		problem = NULL;
	va_end(ap);
	json_array_append_new(l->problems, config_problem_new(l->path, l->line, section, key, value,
							      text_json(problem)));
	free(problem);
	l->num_problems++;
}

static void print_place(FILE *f, const json_t *problem)
{
	json_int_t line = json_integer_value(json_object_get(problem, "line"));

	fprintf(f, "%s:", json_string_value(json_object_get(problem, "file")));
	if (line)
		fprintf(f, "%" JSON_INTEGER_FORMAT ":", line);
	fputc(' ', f);
}

void config_problem_print(FILE *f, const json_t *problem, const char *kind)
{
	const char *section = json_string_value(json_object_get(problem, "section"));
	const char *key = json_string_value(json_object_get(problem, "key"));

	print_place(f, problem);
	fputs(kind, f);
	if (section)
		fprintf(f, "[%s]%s ", section, key ? "" : ":");
	if (key)
		fprintf(f, "%s: %s: ", key, json_string_value(json_object_get(problem, "value")));
	fprintf(f, "%s\n", json_string_value(json_object_get(problem, "problem")));
}

char *config_problems_text(const json_t *problems)
{
	const json_t *problem;
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	json_array_foreach(problems, i, problem) config_problem_print(f, problem, "");
	fclose(f);
	return text;
}
