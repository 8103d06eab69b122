// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * main.c - the program vread-provision(8): finds a datanode's data directories in its disk
 * images through libguestfs, and writes the layout by which vreadd reads them.  The
 * program is run by hand.
 *
 * Files that can be refused without the appliance are refused before it starts: to refuse a
 * file that is not a disk, is cut short or is encrypted then costs milliseconds instead of half
 * a minute.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/version.h"
#include "base/error.h"
#include "parser/disks/partition.h"
#include "parser/disks/volumes.h"
#include "provision/appliance.h"
#include "provision/inspect.h"
#include "provision/output.h"
#include "provision/progress.h"

#define MAX_HINTS 64
#define MAX_NAME 63 /* bytes, as vread.conf(5) takes it */
#define LAYOUT_DIR "/var/lib/vread/layouts"

struct options {
	char **images; /* as image_open_within() takes them */
	unsigned num_images;
	const char *folders[IMAGE_MAX_FOLDERS];
	unsigned num_folders;
	const char *output;
	const char *datanode;
	const char *hints[MAX_HINTS];
	unsigned num_hints;
	bool quiet;
	bool summary;
};

static const char usage_text[] =
	"Usage: vread-provision [OPTION]... [FORMAT:]IMAGE...\n"
	"Finds a datanode's data directories in the images of its disks, or in block\n"
	"devices. Prints the layout (JSON) that vreadd needs to read them, or writes the\n"
	"layout to a file. Name the images as in vread.conf, and in the same order.\n"
	"\n"
	"  -o, --output LAYOUT   write the layout to this file\n"
	"  -n, --datanode NAME   write it to " LAYOUT_DIR "/NAME.json\n"
	"                        and print the lines for vread.conf\n"
	"  -d, --data-dir DIR    search only this directory of the image (repeatable)\n"
	"  -b, --backing-folder DIR\n"
	"                        a folder of this host below which files may lie that\n"
	"                        the images name (repeatable)\n"
	"  -s, --summary         print a summary of the images for people\n"
	"  -q, --quiet           no progress, only warnings and errors\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n"
	"\n"
	"Exit status: 0 done, 64 usage, 65 vRead cannot read the image, or it has\n"
	"no data directory, 66 the image cannot be opened, 69 libguestfs failed,\n"
	"70 libguestfs and vRead disagree, 73 the layout cannot be written.\n"
	"See vread-provision(8).\n";

static int complain(int status, const char *text)
{
	progress_done();
	fprintf(stderr, "vread-provision: %s\n", text ? text : "out of memory");
	return status;
}

static int usage_error(const char *text)
{
	complain(EX_USAGE, text);
	fputs("Try: vread-provision --help\n", stderr);
	return EX_USAGE;
}

static bool valid_name(const char *name)
{
	return name[0] && name[0] != '.' && strlen(name) <= MAX_NAME &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       strlen(name);
}

static int add_hint(struct options *o, const char *path)
{
	if (path[0] != '/' || strlen(path) >= LAYOUT_MAX_PATH || strstr(path, ".."))
		return usage_error(
			"--data-dir: expected an absolute path inside the image, without ..");
	if (o->num_hints == MAX_HINTS)
		return usage_error("--data-dir: given more than 64 times");
	o->hints[o->num_hints++] = path;
	return -1;
}

static int add_folder(struct options *o, const char *path)
{
	if (!image_folder_valid(path))
		return usage_error("--backing-folder: expected an absolute path of this host, "
				   "without .., and not / itself");
	if (o->num_folders == IMAGE_MAX_FOLDERS)
		return usage_error("--backing-folder: given more than 64 times");
	o->folders[o->num_folders++] = path;
	return -1;
}

static int take_option(struct options *o, int option)
{
	switch (option) {
	case 'o':
		o->output = optarg;
		return -1;
	case 'n':
		o->datanode = optarg;
		return valid_name(optarg) ? -1
					  : usage_error("--datanode: expected a name of at most 63 "
							"letters, digits, '.', '_' and '-', the "
							"first no '.'");
	case 'd':
		return add_hint(o, optarg);
	case 'b':
		return add_folder(o, optarg);
	case 's':
		o->summary = true;
		return -1;
	case 'q':
		o->quiet = true;
		return -1;
	case 'h':
		fputs(usage_text, stdout);
		return EX_OK;
	case 'V':
		puts("vread-provision " VREAD_VERSION);
		return EX_OK;
	default:
		fputs("Try: vread-provision --help\n", stderr);
		return EX_USAGE;
	}
}

/* -1: go on; otherwise the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {
		{"output", required_argument, NULL, 'o'},
		{"datanode", required_argument, NULL, 'n'},
		{"data-dir", required_argument, NULL, 'd'},
		{"backing-folder", required_argument, NULL, 'b'},
		{"summary", no_argument, NULL, 's'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	int option, status = -1;

	while (status < 0 &&
	       (option = getopt_long(argc, argv, "o:n:d:b:sqhV", long_options, NULL)) != -1)
		status = take_option(o, option);
	if (status >= 0)
		return status;
	if (optind == argc)
		return usage_error("no image: expected at least one IMAGE");
	if (argc - optind > (int)LAYOUT_MAX_IMAGES)
		return usage_error("too many images: expected at most 64");
	o->images = argv + optind;
	o->num_images = (unsigned)(argc - optind);
	return -1;
}

/* True if there is something on the image, and all of it is encrypted. */
static bool is_encrypted(const struct volumes *found, unsigned image)
{
	unsigned encrypted = 0, plain = 0;

	for (unsigned i = 0; i < found->count; i++) {
		const struct layout_filesystem *at = &found->list[i].at;

		if (at->table == LAYOUT_LVM || at->image != image || !at->type[0])
			continue;
		encrypted += disk_type_is_encrypted(at->type);
		plain += !disk_type_is_encrypted(at->type);
	}
	return encrypted && !plain;
}

static int status_of_open(int error)
{
	return error == -ENODATA || error == -EISDIR || error == -EINVAL ? EX_DATAERR : EX_NOINPUT;
}

static int write_layout(const struct options *o, struct inspection *i, char **ret_error)
{
	struct image_layout layout;
	json_t *json;
	char *text;
	int r = 0;

	if (!inspection_layout(i, &layout))
		return error_text(ret_error, -ENOMEM, "out of memory");
	json = layout_to_json(&layout);
	text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	if (!text)
		r = error_text(ret_error, -ENOMEM, "out of memory");
	else if (o->output)
		r = output_write(o->output, text, ret_error);
	else
		puts(text);
	free(text);
	json_decref(json);
	free(layout.filesystems);
	return r;
}

static void show_configuration(const struct options *o)
{
	progress_step("wrote %s", o->output);
	progress_done();
	if (!o->datanode || o->quiet)
		return;
	fprintf(stderr, "For vread.conf:\n[datanode %s]\n", o->datanode);
	for (unsigned i = 0; i < o->num_images; i++)
		fprintf(stderr, "image = %s\n", o->images[i]);
	for (unsigned i = 0; i < o->num_folders; i++)
		fprintf(stderr, "backing-folders = %s\n", o->folders[i]);
	fprintf(stderr, "layout = %s\n", o->output);
}

/* Says what the images hold instead, because "nothing found" alone helps nobody. */
static int explain_nothing(const struct options *o, struct image *const *images,
			   const struct inspection *i)
{
	fprintf(stderr, "vread-provision: image %s%s: no datanode's data directory %s\n",
		o->images[0], o->num_images > 1 ? " and the others" : "",
		o->num_hints ? "where --data-dir says" : "found");
	if (!o->summary)
		output_summary(stderr, images, i);
	return EX_DATAERR;
}

static int finish(const struct options *o, struct image *const *images, struct inspection *i)
{
	char *error = NULL;
	int status = EX_OK;

	progress_done();
	if (o->summary)
		output_summary(stdout, images, i);
	if (o->summary && !o->output)
		return EX_OK;
	if (inspection_data_dirs(i) == 0)
		return explain_nothing(o, images, i);
	if (write_layout(o, i, &error) < 0)
		status = complain(EX_CANTCREAT, error);
	else if (o->output)
		show_configuration(o);
	free(error);
	return status;
}

/* Refuses what can be refused without the appliance.  Some of several disks may be encrypted,
 * but not all. */
static int check_images(const struct options *o, struct image *const *images, char **ret_error)
{
	struct volumes found;
	unsigned usable = 0;
	int r = volumes_find(images, o->num_images, &found);

	if (r < 0)
		return error_text(ret_error, r, "out of memory");
	for (unsigned i = 0; i < o->num_images && r == 0; i++) {
		r = found.errors[i];
		if (r < 0)
			error_text(ret_error, r, "%s", found.problems[i]);
		else
			usable += !is_encrypted(&found, i);
	}
	if (r == 0 && !usable)
		r = error_text(ret_error, -EKEYREJECTED,
			       "image %s%s: everything on it is encrypted by the guest, which "
			       "alone has the key: encrypt below the guest, or in HDFS (encryption "
			       "zones)",
			       image_path(images[0]), o->num_images > 1 ? " and the others" : "");
	volumes_clear(&found);
	return r;
}

static int inspect(const struct options *o, struct image *const *images, guestfs_h *g)
{
	struct inspection inspection;
	char *error = NULL;
	int r = inspect_images(g, images, o->num_images, o->hints, o->num_hints, &inspection,
			       &error);
	int status;

	if (r < 0) {
		status = complain(r == -EBADMSG ? EX_SOFTWARE : EX_UNAVAILABLE, error);
	} else {
		status = finish(o, images, &inspection);
		inspection_clear(&inspection);
	}
	free(error);
	return status;
}

static int provision(const struct options *o, struct image *const *images)
{
	char *error = NULL;
	guestfs_h *g;
	int status;

	if (check_images(o, images, &error) < 0) {
		status = complain(EX_DATAERR, error);
	} else if (o->output && output_check(o->output, &error) < 0) {
		status = complain(EX_CANTCREAT, error);
	} else if (!(g = appliance_start(images, o->num_images, &error))) {
		status = complain(EX_UNAVAILABLE, error);
	} else {
		status = inspect(o, images, g);
		guestfs_close(g);
	}
	free(error);
	return status;
}

static int open_and_provision(const struct options *o)
{
	const struct image_folders folders = {o->folders, o->num_folders};
	struct image *images[LAYOUT_MAX_IMAGES] = {NULL};
	char *error = NULL;
	int r = 0, status;

	for (unsigned i = 0; i < o->num_images && r == 0; i++)
		r = image_open_within(o->images[i], SOURCE_AUTO, &folders, &images[i], &error);
	status = r < 0 ? complain(status_of_open(r), error) : provision(o, images);
	for (unsigned i = 0; i < o->num_images; i++)
		image_close(images[i]);
	free(error);
	return status;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	char *named = NULL;
	int status = parse_options(argc, argv, &o);

	if (status >= 0)
		return status;
	progress_init(o.quiet);
	if (o.datanode && !o.output) {
		if (asprintf(&named, LAYOUT_DIR "/%s.json", o.datanode) < 0)
			return complain(EX_OSERR, NULL);
		o.output = named;
	}
	status = open_and_provision(&o);
	free(named);
	return status;
}
