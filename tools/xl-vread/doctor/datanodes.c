// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * datanodes.c - checks of `xl-vread doctor`: the datanodes' images, their contents, their parsers,
 * and libguestfs.  Called by doctor.c.
 *
 * The images are checked at their paths, not only in vreadd's status.  vreadd has files open, and
 * only the path shows that another file is there now.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"
#include "control/keyed.h"
#include "checks.h"
#include "disk/image.h"

const json_t *status_entry(const struct doctor *d, const char *list, const char *key,
			   const char *name)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(d->facts->status, list), i, entry)
	{
		if (!strcmp(text_member(entry, key), name))
			return entry;
	}
	return NULL;
}

static const json_t *status_of(const struct doctor *d, const char *datanode)
{
	return status_entry(d, "datanodes", "datanode", datanode);
}

/* ---- images -------------------------------------------------------------------------------- */

/* True if vreadd has the file of st open, or does not say which file it has open. */
static bool is_the_open_one(const json_t *image, const struct stat *st)
{
	const json_t *inode = json_object_get(image, "inode");

	if (!inode)
		return true;
	return (ino_t)json_integer_value(inode) == st->st_ino &&
	       (dev_t)text_number(image, "device") == st->st_dev;
}

/* correct: what else to do if the file is not at the path of spec. */
static void check_image(struct doctor *d, const char *datanode, const char *spec,
			const char *correct, const json_t *image)
{
	const char *warning = json_string_value(json_object_get(image, "warning"));
	char path[PATH_MAX], remedy[512];
	const char *file;
	struct stat st;

	if (!image_spec_split(spec, &file))
		file = spec;
	doctor_path(d, file, path);
	if (stat(path, &st) < 0) {
		snprintf(remedy, sizeof(remedy), "put the image of datanode %.64s there, or %s",
			 datanode, correct);
		doctor_fail(d, path, remedy, "%s", strerror(errno));
	} else if (access(path, R_OK) < 0) {
		doctor_fail(d, path, "run this as root; is it on NFS with root squashed?", "%s",
			    strerror(errno));
	} else if (!is_the_open_one(image, &st)) {
		snprintf(remedy, sizeof(remedy),
			 "was the disk moved or copied? vreadd looks again within a minute; if the "
			 "guest's disk is elsewhere now, %s",
			 correct);
		doctor_fail(d, path, remedy,
			    "image moved: vreadd reads inode %" PRId64 ", here is inode %" PRIu64,
			    text_number(image, "inode"), (uint64_t)st.st_ino);
	} else if (warning) {
		doctor_warn(d, path, "see \"How images are read\" in vreadd(8)", "%.512s", warning);
	} else {
		doctor_ok(d, path, "datanode %.64s, read %.16s", datanode,
			  text_member(image, "mode"));
	}
}

static void check_configured(struct doctor *d, const struct config_datanode *n)
{
	const json_t *images = json_object_get(status_of(d, n->name), "images");
	char correct[256];

	snprintf(correct, sizeof(correct),
		 "correct image in [datanode %.64s] of vread.conf and run xl-vread reload",
		 n->name);
	for (unsigned i = 0; i < n->images.count; i++)
		check_image(d, n->name, n->images.path[i], correct, json_array_get(images, i));
}

static void check_keyed(struct doctor *d, const struct keys *k)
{
	const char *name = k->value[KEYS_NAME];
	const json_t *images = json_object_get(status_of(d, name), "images");
	char correct[256];

	snprintf(correct, sizeof(correct),
		 "attach the disk to domain %u anew: vreadd finds its file in xenstore", k->domid);
	for (unsigned i = 0; i < k->num_images; i++)
		check_image(d, name, k->image[i], correct, json_array_get(images, i));
}

void check_images(struct doctor *d)
{
	const struct config *c = d->facts->config;
	const struct keys_list *keys = &d->facts->keys;
	unsigned datanodes = 0;

	for (size_t i = 0; c && i < c->num_datanodes; i++, datanodes++)
		check_configured(d, &c->datanodes[i]);
	for (size_t i = 0; i < keys->count; i++) {
		if (!keyed_accepted(&keys->keys[i]))
			continue;
		check_keyed(d, &keys->keys[i]);
		datanodes++;
	}
	if (!datanodes)
		doctor_skip(d, "images",
			    c ? "no datanodes are configured here"
			      : "there is no valid configuration");
}

/* ---- contents ------------------------------------------------------------------------------ */

/*
 * What to do about a datanode of data-dirs, by the reason that vreadd gives.  A text of vreadd has
 * one of these words for each kind of reason; the first that it has counts.
 */
static const char *reason_remedy(const char *missing)
{
	static const struct {
		const char *word, *remedy;
	} reasons[] = {
		{"configured as raw",
		 "name the format before the path, as in image = qcow2:/srv/dn1.qcow2, then "
		 "xl-vread reload; `qemu-img info IMAGE` shows the format"},
		{"it is not a ",
		 "correct the format before the path of image (raw:, qcow2: or vhd:), then "
		 "xl-vread reload; `qemu-img info IMAGE` shows the format"},
		{"No such file",
		 "put the image there, or correct image in its section of vread.conf and run "
		 "xl-vread reload"},
		{"Permission denied",
		 "does the service run vread-opener, which may read images of all users? is the "
		 "image on NFS with root squashed, or in a folder that ProtectHome= or PrivateTmp= "
		 "of vreadd.service hides?"},
		{"encrypted by its guest",
		 "no setting of vRead reads this disk: its blocks go over TCP as long as its guest "
		 "encrypts it"},
		{"does not read",
		 "no setting of vRead reads this disk: its blocks go over TCP as long as its guest "
		 "has them on it"},
		{"is not a disk",
		 "is it the disk with the data directories? `xl-vread inspect IMAGE` shows what is "
		 "on it; a disk that its guest has still to partition needs nothing"},
		{"is a symbolic link",
		 "name the path inside the file system that has the directory in data-dirs, then "
		 "xl-vread reload"},
		{", name it ",
		 "correct data-dirs as the reason says, then xl-vread reload; if the path is right "
		 "and the datanode has not formatted the directory yet, nothing needs to be done"},
		{"share bytes and both", "in the guest, wipefs DISK lists the signatures: remove "
					 "the one that is left over; "
					 "vreadd looks again by itself"},
		{"Check the path inside the file system",
		 "has the datanode formatted its directory? is data-dirs the path inside the file "
		 "system? `xl-vread inspect IMAGE` shows what is there"},
	};

	for (size_t i = 0; missing && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strstr(missing, reasons[i].word))
			return reasons[i].remedy;
	return "`xl-vread inspect IMAGE` shows what is there; journalctl -u vreadd";
}

/* True if the layout is what is wrong, and not the images. */
static bool is_of_layout(const json_t *datanode, const char *missing)
{
	return missing && json_object_get(datanode, "layout") && strstr(missing, "layout ");
}

/* True if an image is at its path here, but vreadd, which has a view of its own, could not open it
 * there. */
static bool is_hidden(const struct doctor *d, const json_t *datanode)
{
	json_t *image;
	size_t i;

	json_array_foreach(json_object_get(datanode, "images"), i, image)
	{
		const char *spec = text_member(image, "image"), *file;
		char path[PATH_MAX];

		if (!json_object_get(image, "inode") && image_spec_split(spec, &file) &&
		    access(doctor_path(d, file, path), F_OK) == 0)
			return true;
	}
	return false;
}

static void missing_remedy(const struct doctor *d, const json_t *datanode, const char *missing,
			   char remedy[1024])
{
	const char *layout = json_string_value(json_object_get(datanode, "layout"));

	if (is_of_layout(datanode, missing))
		snprintf(remedy, 1024,
			 "write the layout again: vread-provision %.256s -o %.256s; vreadd picks "
			 "up the new file",
			 text_member(json_array_get(json_object_get(datanode, "images"), 0),
				     "image"),
			 layout);
	else if (missing && strstr(missing, "No such file") && is_hidden(d, datanode))
		snprintf(remedy, 1024,
			 "the file is there, but vreadd does not see it: its service has a /tmp "
			 "and a "
			 "/var/tmp of its own (PrivateTmp=yes), and a container its own mounts: "
			 "keep the image elsewhere, or mount it there; vreadd looks again by "
			 "itself");
	else
		snprintf(remedy, 1024, "%s", reason_remedy(missing));
}

static void check_filesystem(struct doctor *d, const char *datanode, const json_t *fs)
{
	const char *volume = json_string_value(json_object_get(fs, "volume"));
	const char *state = text_member(fs, "state");
	char object[DOCTOR_LINE];

	snprintf(object, sizeof(object), "%.64s, %s %.128s", datanode,
		 volume ? "volume" : "partition", volume ?: text_member(fs, "partition"));
	if (!strncmp(state, "refused", 7))
		doctor_fail(
			d, object,
			"see \"File systems in use\" in vreadd(8); its owner may have to repair "
			"it or mount it otherwise",
			"%.256s", state);
	else if (!strncmp(state, "unreadable", 10))
		doctor_fail(d, object,
			    "is the disk healthy? journalctl -u vreadd; fsck in the guest",
			    "%.256s", state);
	else if (!strncmp(state, "unknown", 7))
		doctor_fail(d, object,
			    "is the disk well? journalctl -u vreadd; blocks on it are read by TCP",
			    "%.256s", state);
	else
		doctor_ok(d, object, "%.256s", state);
}

static unsigned count_storages(const json_t *datanode)
{
	unsigned n = 0;
	json_t *fs;
	size_t i;

	json_array_foreach(json_object_get(datanode, "filesystems"), i, fs)
	{
		n += (unsigned)json_array_size(json_object_get(fs, "data-dirs"));
	}
	return n;
}

static void check_datanode(struct doctor *d, const json_t *datanode)
{
	const char *name = text_member(datanode, "datanode");
	const char *state = text_member(datanode, "state");
	const char *missing = json_string_value(json_object_get(datanode, "missing"));
	const char *shortage = json_string_value(json_object_get(datanode, "shortage"));
	bool stale = is_of_layout(datanode, missing);
	char remedy[1024];
	json_t *fs;
	size_t i;

	missing_remedy(d, datanode, missing, remedy);
	if (strcmp(state, "served"))
		doctor_fail(d, name, remedy, "%.16s: %s%.700s", state,
			    stale ? "its layout does not fit: " : "",
			    missing ?: "vreadd has found nothing yet");
	else if (missing)
		doctor_fail(d, name, remedy, "not everything is served: %.800s", missing);
	else if (shortage)
		doctor_warn(d, name,
			    "this host lacks memory, descriptors or threads: see the limits of "
			    "vreadd.service, and who else uses them",
			    "its images cannot be looked into, what was found before is served: "
			    "%.300s",
			    shortage);
	else
		doctor_ok(d, name, "%.16s, %u storages", state, count_storages(datanode));
	json_array_foreach(json_object_get(datanode, "filesystems"), i, fs)
	{
		check_filesystem(d, name, fs);
	}
}

void check_datanodes(struct doctor *d)
{
	const json_t *datanodes = json_object_get(d->facts->status, "datanodes");
	json_t *entry;
	size_t i;

	if (!json_array_size(datanodes))
		doctor_skip(d, "datanodes",
			    d->facts->status ? "vreadd serves none" : "vreadd does not answer");
	json_array_foreach(datanodes, i, entry)
	{
		check_datanode(d, entry);
	}
	for (size_t n = 0;
	     d->facts->status && d->facts->config && n < d->facts->config->num_datanodes; n++)
		if (!status_of(d, d->facts->config->datanodes[n].name))
			doctor_fail(d, d->facts->config->datanodes[n].name, "xl-vread reload",
				    "is in vread.conf, but vreadd does not know it yet");
}

/* ---- parsers ------------------------------------------------------------------------------- */

void check_parsers(struct doctor *d)
{
	unsigned parsers = 0;
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(d->facts->status, "datanodes"), i, entry)
	{
		const json_t *parser = json_object_get(entry, "parser");
		const char *state = text_member(parser, "state");
		const char *end = json_string_value(json_object_get(parser, "last-end"));

		if (!parser)
			continue;
		parsers++;
		if (strcmp(state, "running"))
			doctor_fail(
				d, text_member(entry, "datanode"),
				"journalctl -u vreadd; is vread-parser installed, and of the same "
				"release?",
				"its vread-parser is %.32s%s%.400s", state, end ? ": " : "",
				end ?: "");
		else if (end)
			doctor_warn(d, text_member(entry, "datanode"),
				    "journalctl -u vreadd shows when; if it continues, run fsck in "
				    "the guest",
				    "its vread-parser ended %" PRId64 " times, last: %.400s",
				    text_number(parser, "restarts"), end);
		else
			doctor_ok(d, text_member(entry, "datanode"), "its vread-parser runs");
	}
	if (!parsers)
		doctor_skip(d, "vread-parser", "no datanode is served");
}

/* ---- libguestfs ---------------------------------------------------------------------------- */

static bool layouts_are_used(const struct doctor *d)
{
	for (size_t i = 0; d->facts->config && i < d->facts->config->num_datanodes; i++)
		if (d->facts->config->datanodes[i].layout)
			return true;
	return false;
}

void check_provision(struct doctor *d)
{
	static const char program[] = "/usr/sbin/vread-provision";
	char path[PATH_MAX], *out = NULL;
	int r;

	if (!layouts_are_used(d)) {
		doctor_skip(d, program, "no datanode has a layout: libguestfs is not needed");
		return;
	}
	doctor_path(d, program, path);
	if (!doctor_exists(d, program)) {
		doctor_fail(d, path, "install vread-backend: it makes the layouts of vread.conf",
			    "is missing");
		return;
	}
	r = doctor_run((char *[]){path, "--version", NULL}, &out);
	free(out);
	if (r)
		doctor_fail(d, path,
			    "install libguestfs0; `libguestfs-test-tool` checks whether its "
			    "appliance boots",
			    "does not start: %s",
			    r < 0 ? strerror(-r) : "are its libraries installed?");
	else
		doctor_ok(d, path, "starts; libguestfs-test-tool checks whether libguestfs boots");
}
