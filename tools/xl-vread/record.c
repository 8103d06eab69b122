/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c - implements record.h: reads, replaces and locks the files of the records. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "domain_file.h"
#include "domains.h"

#define FOLDER "/var/lib/vread/domains"
#define MAX_LINE 5000

static const char *folder(void)
{
	const char *named = getenv("VREAD_DOMAINS");

	return named && *named ? named : FOLDER;
}

static void path_of(const struct domain *d, const char *suffix, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s%s", folder(), d->uuid, suffix);
}

void record_path(const struct domain *d, char path[PATH_MAX])
{
	path_of(d, "", path);
}

static int take_line(const char *path, unsigned number, char *line, struct specs *ret)
{
	char *error = NULL;
	int r;

	line[strcspn(line, "\n")] = '\0';
	if (!*line || *line == '#')
		return CLI_OK;
	r = specs_add(ret, line, &error);
	if (r)
		cli_error(CLI_FAILED, "%s:%u: %s", path, number, error ? error : strerror(-r));
	free(error);
	return r ? CLI_FAILED : CLI_OK;
}

bool record_is_file(const struct domain *d, char path[PATH_MAX])
{
	char record[PATH_MAX];

	path_of(d, "", record);
	return access(record, F_OK) < 0 && errno == ENOENT && domain_file_find(d, path);
}

int record_read(const struct domain *d, struct specs *ret)
{
	char path[PATH_MAX], line[MAX_LINE];
	unsigned number = 0;
	int r = CLI_OK;
	FILE *file;

	*ret = (struct specs){0};
	if (record_is_file(d, path))
		return domain_file_read(path, ret);
	path_of(d, "", path);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? CLI_OK
				       : cli_error(CLI_FAILED, "%s: cannot open: %m", path);
	while (!r && fgets(line, sizeof(line), file))
		r = take_line(path, ++number, line, ret);
	if (!r && ferror(file))
		r = cli_error(CLI_FAILED, "%s: cannot read: %m", path);
	fclose(file);
	if (r)
		specs_free(ret);
	return r;
}

static bool put_lines(FILE *file, const struct domain *d, const struct specs *s)
{
	fprintf(file, "# Devices of domain %s, kept by xl-vread.\n", d->name);
	for (unsigned i = 0; i < s->count; i++) {
		char *text = spec_text(&s->spec[i]);

		if (!text)
			return false;
		fprintf(file, "%s\n", text);
		free(text);
	}
	return fflush(file) == 0 && fsync(fileno(file)) == 0;
}

/* Makes the folder and its parents. */
static void make_folder(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/", folder());
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
}

int record_lock(void)
{
	int fd;

	make_folder();
	fd = open(folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX) == 0)
		return fd;
	cli_error(CLI_FAILED, "%s: cannot lock: %m", folder());
	if (fd >= 0)
		close(fd);
	return -1;
}

void record_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

static int replace(const struct domain *d, const struct specs *s)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	bool written;
	FILE *file;

	path_of(d, "", path);
	path_of(d, ".new", fresh);
	if (!s->count) {
		if (unlink(path) < 0 && errno != ENOENT)
			return cli_error(CLI_FAILED, "%s: cannot remove: %m", path);
		return CLI_OK;
	}
	file = fopen(fresh, "we");
	if (!file)
		return cli_error(CLI_FAILED, "%s: cannot create: %m", fresh);
	written = put_lines(file, d, s);
	if (fclose(file) || !written || rename(fresh, path) < 0) {
		int r = cli_error(CLI_FAILED, "%s: cannot write: %m", path);

		unlink(fresh);
		return r;
	}
	return CLI_OK;
}

int record_write(const struct domain *d, const struct specs *s)
{
	int lock = record_lock();
	int r = lock < 0 ? CLI_FAILED : replace(d, s);

	record_unlock(lock);
	return r;
}

int record_remove(const struct domain *d)
{
	static const struct specs none;

	return record_write(d, &none);
}
