/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanode_file.c - implements datanode_file.h: reads and writes the file of one datanode.  Called
 * by datanode.c. */
#include "datanode_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "control/config.h"
#include "layout/layout.h"

#define OWNER "# Disks of domain "
#define OWNER_END ", kept by xl-vread(8): what is changed here is lost.\n"
/* Our own files are never longer. */
#define MAX_BYTES (16384U + LAYOUT_MAX_IMAGES * CONFIG_MAX_LINE)

static int read_text(const char *path, FILE *file, char **ret)
{
	char *text = calloc(1, MAX_BYTES + 1);
	int r = CLI_OK;

	if (!text)
		return cli_error(CLI_FAILED, "out of memory");
	text[fread(text, 1, MAX_BYTES, file)] = '\0';
	if (ferror(file))
		r = cli_error(CLI_FAILED, "%s: cannot read: %m", path);
	if (r)
		free(text);
	else
		*ret = text;
	return r;
}

int datanode_file_read(const char *folder, const char *name, struct datanode_file *ret)
{
	FILE *file;
	int r;

	*ret = (struct datanode_file){0};
	if (snprintf(ret->path, sizeof(ret->path), "%s/%s" CONFIG_DATANODE_SUFFIX, folder, name) >=
	    (int)sizeof(ret->path))
		return cli_error(CLI_FAILED, "%s: the folder's path is too long", folder);
	file = fopen(ret->path, "re");
	if (!file)
		return errno == ENOENT ? CLI_OK
				       : cli_error(CLI_FAILED, "%s: cannot open: %m", ret->path);
	r = read_text(ret->path, file, &ret->text);
	fclose(file);
	return r;
}

void datanode_file_free(struct datanode_file *f)
{
	free(f->text);
	f->text = NULL;
}

bool datanode_file_owner(const struct datanode_file *f, char uuid[DOMAIN_UUID])
{
	const char *at = f->text;

	if (!at || strncmp(at, OWNER, strlen(OWNER)) != 0)
		return false;
	snprintf(uuid, DOMAIN_UUID, "%s", at + strlen(OWNER));
	return domain_uuid_valid(uuid);
}

/* ---- writing ----------------------------------------------------------------------- */

/* Syncs the folder of path, so that a rename or removal in it survives a crash. */
static bool sync_folder(const char *path)
{
	char folder[PATH_MAX];
	int fd;
	bool ok;

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok = fd >= 0 && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	bool written;

	if (!file)
		return false;
	written = fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0 &&
		  fchmod(fileno(file), 0644) == 0;
	return fclose(file) == 0 && written;
}

static bool replace(const char *path, const char *text)
{
	char fresh[PATH_MAX + 8];

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	if (put(fresh, text) && rename(fresh, path) == 0 && sync_folder(path))
		return true;
	unlink(fresh);
	return false;
}

static void make_folder_of(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(folder, 0755);
		*at = '/';
	}
}

int datanode_file_write(struct datanode_file *f, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return cli_error(CLI_FAILED, "out of memory");
	if (text)
		make_folder_of(f->path);
	if (text ? !replace(f->path, text)
		 : (unlink(f->path) < 0 && errno != ENOENT) || !sync_folder(f->path)) {
		free(copy);
		return cli_error(CLI_FAILED, "%s: cannot %s: %m", f->path,
				 text ? "write" : "remove");
	}
	free(f->text);
	f->text = copy;
	return CLI_OK;
}

/* ---- its text ------------------------------------------------------------------------ */

static int put_line(FILE *out, const char *key, const char *value)
{
	int length = fprintf(out, "%s = %s\n", key, value) - 1;

	if (length > CONFIG_MAX_LINE)
		return cli_error(CLI_FAILED,
				 "%s: a line of vread.conf(5) has at most %d bytes: make a link "
				 "to it with a shorter path",
				 value, CONFIG_MAX_LINE);
	return CLI_OK;
}

int datanode_file_text(const char *uuid, const struct spec *s, const char *const *images,
		       unsigned num, char **ret)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r = CLI_OK;

	if (!out)
		return cli_error(CLI_FAILED, "out of memory");
	fprintf(out, OWNER "%s" OWNER_END "[datanode %s]\n", uuid, s->policy.allow_datanodes);
	for (unsigned i = 0; i < num && !r; i++)
		r = put_line(out, "image", images[i]);
	if (!r)
		r = put_line(out, "data-dirs", s->data_dirs);
	if (!r && s->backing_folders)
		r = put_line(out, "backing-folders", s->backing_folders);
	if (!r && s->tokens)
		r = put_line(out, "tokens", s->tokens);
	if (fclose(out) && !r)
		r = cli_error(CLI_FAILED, "out of memory");
	if (r)
		free(text);
	else
		*ret = text;
	return r;
}
