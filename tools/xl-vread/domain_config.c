/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domain_config.c - implements domain_config.h with libxlutil.  Called by create.c and
 * domain_file.c. */
#include "domain_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxlutil.h>

#include "cli/cli.h"

#define MAX_BYTES (1L << 20)

/* Reads the file and appends the lines, as xl does. */
static int put_together(const char *path, char *const *lines, int num_lines, char **ret,
			size_t *ret_length)
{
	FILE *file = fopen(path, "re"), *out;
	char buffer[4096];
	size_t n;

	if (!file)
		return cli_error(CLI_FAILED, "%s: cannot open: %m", path);
	out = open_memstream(ret, ret_length);
	while (out && (n = fread(buffer, 1, sizeof(buffer), file)) && ftell(out) <= MAX_BYTES)
		fwrite(buffer, 1, n, out);
	if (ferror(file) || !out) {
		int r = cli_error(CLI_FAILED, "%s: cannot read: %m", path);

		fclose(file);
		if (out)
			fclose(out);
		return r;
	}
	fclose(file);
	for (int i = 0; i < num_lines; i++)
		fprintf(out, "\n%s", lines[i]);
	fputc('\n', out);
	if (fclose(out))
		return cli_error(CLI_FAILED, "out of memory");
	if (*ret_length > (size_t)MAX_BYTES)
		return cli_error(CLI_FAILED, "%s: expected at most %ld bytes", path, MAX_BYTES);
	return CLI_OK;
}

static int take_device(const char *path, const char *entry, int number, struct specs *ret)
{
	char *error = NULL;
	int r = specs_add(ret, entry, &error);

	if (r)
		cli_error(CLI_FAILED, "%s: vread[%d] '%s': %s", path, number, entry,
			  error ? error : strerror(-r));
	free(error);
	return r ? CLI_FAILED : CLI_OK;
}

static int take_devices(const char *path, const XLU_Config *parsed, struct specs *ret)
{
	XLU_ConfigList *list;
	int count, r = xlu_cfg_get_list(parsed, "vread", &list, &count, 1);

	if (r == ESRCH)
		return CLI_OK;
	if (r)
		return cli_error(CLI_FAILED, "%s: vread: expected a list: vread = [ \"...\" ]",
				 path);
	for (int i = 0; i < count; i++) {
		const char *entry = xlu_cfg_get_listitem(list, i);

		if (!entry)
			return cli_error(CLI_FAILED, "%s: vread[%d]: expected a string", path, i);
		r = take_device(path, entry, i, ret);
		if (r)
			return r;
	}
	return CLI_OK;
}

static int take_name(const char *path, const XLU_Config *parsed, char **ret)
{
	const char *name;

	if (xlu_cfg_get_string(parsed, "name", &name, 1))
		return cli_error(CLI_FAILED, "%s: name: expected the domain's name", path);
	*ret = strdup(name);
	return *ret ? CLI_OK : cli_error(CLI_FAILED, "out of memory");
}

/* lines: appended to the file.  *ret: xlu_cfg_destroy() it. */
static int parse(const char *path, char *const *lines, int num_lines, XLU_Config **ret)
{
	char *text = NULL;
	size_t length = 0;
	int r = put_together(path, lines, num_lines, &text, &length);

	*ret = r ? NULL : xlu_cfg_init(stderr, path);
	if (!r && !*ret)
		r = cli_error(CLI_FAILED, "out of memory");
	if (!r && xlu_cfg_readdata(*ret, text, (int)length)) { /* it has printed why */
		r = cli_error(CLI_FAILED, "%s: expected a configuration as in xl.cfg(5)", path);
		xlu_cfg_destroy(*ret);
	}
	free(text);
	return r;
}

int domain_config_read(const char *path, char *const *lines, int num_lines,
		       struct domain_config *ret)
{
	XLU_Config *parsed;
	int r = parse(path, lines, num_lines, &parsed);

	*ret = (struct domain_config){0};
	if (r)
		return r;
	r = take_name(path, parsed, &ret->name);
	if (!r)
		r = take_devices(path, parsed, &ret->devices);
	xlu_cfg_destroy(parsed);
	if (r)
		domain_config_free(ret);
	return r;
}

int domain_config_read_devices(const char *path, struct specs *ret)
{
	XLU_Config *parsed;
	int r = parse(path, NULL, 0, &parsed);

	*ret = (struct specs){0};
	if (r)
		return r;
	r = take_devices(path, parsed, ret);
	xlu_cfg_destroy(parsed);
	if (r)
		specs_free(ret);
	return r;
}

void domain_config_free(struct domain_config *c)
{
	free(c->name);
	c->name = NULL;
	specs_free(&c->devices);
}
