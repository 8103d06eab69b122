/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm.c - implements kvm.h.
 *
 * Sections are added at the end of vread.conf(5), and nothing that is there is changed.  The new
 * file is checked as vreadd will check it, and takes the place of the old one at once.
 */
#include "kvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../config_path.h"
#include "../datanode.h"
#include "../kvm.h"
#include "../search.h"
#include "cli/cli.h"
#include "control/config.h"
#include "disk/image.h"

#define FOLDER "/run/vread-ivshmem"

struct plan {
	const struct config *config;
	char *names; /* of the datanodes, separated by blanks */
	FILE *sections;
	char *text; /* of sections */
	size_t size;
};

/* ---- what to write -------------------------------------------------------------------- */

static bool has_datanode(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->num_datanodes; i++)
		if (!strcmp(c->datanodes[i].name, name))
			return true;
	return false;
}

/* Adds the section of a datanode.  image: as in vread.conf(5). */
static int add_datanode(struct plan *p, const char *name, const char *image, const char *dirs)
{
	struct search_result found = {0};
	const char *path;
	int r = CLI_OK;

	if (!image_spec_split(image, &path) || *path != '/')
		return cli_error(CLI_FAILED,
				 "datanode %s: %s: expected the path of its disk, such as "
				 "/dev/vg0/dn1-data or qcow2:/srv/dn1.qcow2",
				 name, image);
	if (access(path, R_OK) < 0)
		return cli_error(CLI_FAILED, "datanode %s: %s: %m", name, path);
	if (!*dirs)
		r = search_data_dirs(&image, 1, NULL, &found);
	if (r)
		return cli_error(r,
				 "datanode %s: no data directory of HDFS was found on %s; if it is "
				 "there, name it: --datanode %s=%s,/dfs/data",
				 name, path, name, image);
	fprintf(p->sections, "\n[datanode %s]\nimage = %s\ndata-dirs = ", name, image);
	for (const char *c = *dirs ? dirs : found.dirs; *c; c++)
		fputc(*c == ',' ? ' ' : *c, p->sections);
	fputc('\n', p->sections);
	free(found.dirs);
	return CLI_OK;
}

static void add_guest(struct plan *p, const char *name, const char *datanodes, bool is_datanode)
{
	fprintf(p->sections, "\n[ivshmem %s]\nsocket = " FOLDER "/%s.sock\n", name, name);
	if (is_datanode)
		fputs("role = datanode\n", p->sections);
	fprintf(p->sections, "allow-datanodes = %s\n", datanodes);
	if (is_datanode)
		fprintf(p->sections, "publish-datanodes = %s\n", datanodes);
}

static int plan_guest(struct plan *p, const char *name, const char *datanodes, bool is_datanode)
{
	const struct config_ivshmem *there = kvm_guest(p->config, name);

	if (!config_name_valid(name))
		return cli_error(CLI_FAILED,
				 "guest %s: expected 1 to 63 letters, digits, '.', '_' and '-'",
				 name);
	if (!there)
		add_guest(p, name, datanodes, is_datanode);
	else if (is_datanode || !strcmp(there->allow_datanodes, datanodes))
		printf("[ivshmem %s] is in %s already: it stays as it is\n", name, config_path());
	else
		return cli_error(CLI_FAILED,
				 "[ivshmem %s] of %s allows \"%s\", which init does not change: "
				 "change it there, then xl-vread reload",
				 name, config_path(), there->allow_datanodes);
	return CLI_OK;
}

/* wish: NAME=IMAGE[,DIRECTORY...], or NAME alone if the datanode is configured. */
static int plan_datanode(struct plan *p, const char *wish)
{
	char *name = strdup(wish), *image = name ? strchr(name, '=') : NULL, *dirs = NULL, *names;
	int r = name ? CLI_OK : cli_error(CLI_FAILED, "out of memory");

	if (image)
		*image++ = '\0';
	if (image && (dirs = strchr(image, ',')))
		*dirs++ = '\0';
	if (name && has_datanode(p->config, name))
		printf("[datanode %s] is configured already: it stays as it is\n", name);
	else if (name && !image)
		r = cli_error(CLI_FAILED,
			      "%s: on a host of KVM name its disk, too: --datanode %s=IMAGE", name,
			      name);
	else if (name)
		r = add_datanode(p, name, image, dirs ?: "");
	r = r ?: plan_guest(p, name, name, true);
	if (!r && asprintf(&names, "%s%s%s", p->names, *p->names ? " " : "", name) < 0)
		r = cli_error(CLI_FAILED, "out of memory");
	else if (!r)
		free(p->names), p->names = names;
	free(name);
	return r;
}

static int make_plan(struct plan *p, const struct kvm_wishes *w)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < w->num_datanodes && !r; i++)
		r = plan_datanode(p, w->datanodes[i]);
	for (unsigned i = 0; i < w->num_clients && !r; i++)
		r = plan_guest(p, w->clients[i], p->names, false);
	if (fflush(p->sections) && !r)
		r = cli_error(CLI_FAILED, "out of memory");
	return r;
}

/* ---- writing -------------------------------------------------------------------------- */

static bool copy_old(const char *path, FILE *out, struct stat *ret)
{
	FILE *old = fopen(path, "re");
	int c;

	*ret = (struct stat){.st_mode = 0644};
	if (!old)
		return errno == ENOENT;
	fstat(fileno(old), ret);
	while ((c = getc(old)) != EOF)
		putc(c, out);
	c = ferror(old);
	fclose(old);
	return !c;
}

static int write_new(const char *path, const char *new, const char *sections)
{
	FILE *out = fopen(new, "we");
	struct stat old;
	bool ok;

	if (!out)
		return cli_error(CLI_FAILED, "%s: %m", new);
	ok = copy_old(path, out, &old) && fputs(sections, out) >= 0 && fflush(out) == 0 &&
	     fchmod(fileno(out), old.st_mode & 07777) == 0 &&
	     fchown(fileno(out), old.st_uid, old.st_gid) == 0 && fsync(fileno(out)) == 0;
	if (!ok)
		cli_error(CLI_FAILED, "%s: cannot write it: %m", new);
	fclose(out);
	return ok ? CLI_OK : CLI_FAILED;
}

static int check_new(const char *new)
{
	struct config *c;
	json_t *problems = NULL;
	char *text;
	int r = config_load(new, &c, &problems);

	if (r == 0) {
		config_free(c);
		return CLI_OK;
	}
	text = config_problems_text(problems);
	cli_error(CLI_FAILED, "nothing was written: %s", text ?: "out of memory");
	free(text);
	json_decref(problems);
	return CLI_FAILED;
}

static int append(const char *path, const char *sections)
{
	FILE *out = fopen(path, "ae");
	bool ok = out && fputs(sections, out) >= 0 && fflush(out) == 0 && fsync(fileno(out)) == 0;

	if (!ok)
		cli_error(CLI_FAILED, "%s: cannot write it: %m", path);
	if (out)
		fclose(out);
	return ok ? CLI_OK : CLI_FAILED;
}

static int write_config(const char *sections)
{
	char new[PATH_MAX];
	int r;

	snprintf(new, sizeof(new), "%s.new", config_path());
	r = write_new(config_path(), new, sections) ?: check_new(new);
	if (!r && rename(new, config_path()) == 0)
		return CLI_OK;
	/* A file that is a mount of its own, as in containers, cannot be replaced. */
	if (!r)
		r = errno == EBUSY ? append(config_path(), sections)
				   : cli_error(CLI_FAILED, "%s: %m", config_path());
	unlink(new);
	return r;
}

/* ---- the end -------------------------------------------------------------------------- */

static void print_guest(const struct config *c, const char *name, size_t length)
{
	char guest[128];
	const struct config_ivshmem *section;

	snprintf(guest, sizeof(guest), "%.*s", (int)length, name);
	section = kvm_guest(c, guest);
	if (!section)
		return;
	printf("\nThe device of guest %s,\n", guest);
	kvm_print_device(stdout, section->socket, section->queues);
}

static void print_next(const struct kvm_wishes *w)
{
	struct config *c = kvm_config();

	printf("\nNext, on this host:\n"
	       "  systemctl enable --now vread-ivshmem\n"
	       "  systemctl reload vread-ivshmem\n"
	       "  systemctl restart vreadd\n");
	for (unsigned i = 0; i < w->num_datanodes; i++)
		print_guest(c, w->datanodes[i], strcspn(w->datanodes[i], "="));
	for (unsigned i = 0; i < w->num_clients; i++)
		print_guest(c, w->clients[i], strlen(w->clients[i]));
	config_free(c);
	printf("\nIn the guests, with vread-frontend-dkms, vread-tools and vread-hdfs installed:\n"
	       "  adduser hdfs vread          # in clients; hdfs: the user of Hadoop\n"
	       "  adduser hdfs vread-publish  # in datanodes\n"
	       "\nIf an image is a file that its QEMU writes with cache=none, set image-mode = "
	       "direct "
	       "in\nits [datanode NAME]. Then xl-vread doctor here, and vread doctor --user hdfs "
	       "in "
	       "the\nguests, say what is missing.\n");
}

static int carry_out(const struct plan *p, const struct kvm_wishes *w)
{
	int r = CLI_OK;

	if (*p->text) {
		printf("%s gets these sections:\n%s\n", config_path(), p->text);
		r = init_confirm(w->yes) ?: write_config(p->text);
	} else {
		printf("There is nothing to write.\n");
	}
	if (!r)
		print_next(w);
	return r;
}

/* A configuration that is not there yet is no mistake here. */
static int load(struct config **ret)
{
	if (access(config_path(), F_OK) == 0 || errno != ENOENT)
		return datanode_load(ret);
	*ret = calloc(1, sizeof(**ret));
	return *ret ? CLI_OK : cli_error(CLI_FAILED, "out of memory");
}

int init_kvm(const struct kvm_wishes *w)
{
	struct plan p = {.names = strdup("")};
	struct config *config = NULL;
	int r = load(&config);

	p.config = config;
	p.sections = open_memstream(&p.text, &p.size);
	if (!r && (!p.sections || !p.names))
		r = cli_error(CLI_FAILED, "out of memory");
	r = r ?: make_plan(&p, w) ?: carry_out(&p, w);
	if (p.sections)
		fclose(p.sections);
	free(p.text);
	free(p.names);
	config_free(config);
	return r;
}
