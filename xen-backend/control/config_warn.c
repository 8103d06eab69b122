// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * config_warn.c - warnings about a valid configuration that is probably not what its author meant.
 *
 * Called by `xl-vread config check`.
 */
#include "control/config_warn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/config.h"
#include "control/nearest.h"
#include "disk/image.h"
#include "peer/wire/tls.h"

struct warner {
	const struct config *config;
	const char *path; /* of the file that the warnings are about */
	json_t *warnings;
};

__attribute__((format(printf, 6, 7))) static void warn(struct warner *w, unsigned line,
						       const char *section, const char *key,
						       const char *value, const char *format, ...)
{
	json_t *problem;
	va_list ap;

	va_start(ap, format);
	problem = json_vsprintf(format, ap);
	va_end(ap);
	json_array_append_new(w->warnings,
			      config_problem_new(w->path, line, section, key, value, problem));
}

/* ---- files ----------------------------------------------------------------- */

/* 0 or negative errno. */
static int can_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void warn_of_files(struct warner *w, const struct config_datanode *d, const char *section)
{
	for (unsigned i = 0; i < d->images.count; i++) {
		const char *path;
		int r = image_spec_split(d->images.path[i], &path) ? can_read(path) : 0;

		if (r)
			warn(w, d->line, section, "image", d->images.path[i],
			     "cannot be opened: %s: check the path; vreadd serves the image when "
			     "it can be opened",
			     strerror(-r));
	}
	if (d->layout && can_read(d->layout))
		warn(w, d->line, section, "layout", d->layout,
		     "cannot be opened: %s: write the layout with vread-provision",
		     strerror(errno));
}

static void warn_of_certificates(struct warner *w)
{
	struct tls_context *tls = NULL;
	char *error = NULL;

	if (!w->config->peers.line)
		return;
	if (tls_context_new(&w->config->peers, &tls, &error))
		warn(w, w->config->peers.line, NULL, NULL, NULL,
		     "%s; vreadd does not start with this configuration",
		     error ? error : "out of memory");
	free(error);
	tls_context_free(tls);
}

/* ---- names ------------------------------------------------------------------- */

/* A section with lists of datanodes. */
struct lists {
	const char *section;
	unsigned line;
};

static void warn_of_name(struct warner *w, const struct lists *of, const char *key,
			 const char *list, const char *name)
{
	const struct config *c = w->config;
	const char *known[c->num_datanodes + 1], *near;

	for (size_t i = 0; i < c->num_datanodes; i++) {
		known[i] = c->datanodes[i].name;
		if (!strcmp(known[i], name))
			return;
	}
	near = nearest_word(name, known, c->num_datanodes);
	warn(w, of->line, of->section, key, list, "there is no [datanode %s]%s%s%s", name,
	     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void warn_of_names(struct warner *w, const struct lists *of, const char *key,
			  const char *list)
{
	char *copy = strdup(list), *rest = copy, *name;

	while (copy && (name = strsep(&rest, " ")))
		if (*name && strcmp(name, "*"))
			warn_of_name(w, of, key, list, name);
	free(copy);
}

/* With [peers] a name that may be read may be a datanode of another host. */
static void warn_of_lists(struct warner *w, const struct lists *of, const char *allow,
			  const char *publish)
{
	if (!w->config->peers.line)
		warn_of_names(w, of, "allow-datanodes", allow);
	warn_of_names(w, of, "publish-datanodes", publish);
}

static void warn_of_guests(struct warner *w)
{
	for (size_t i = 0; i < w->config->num_ivshmem; i++) {
		const struct config_ivshmem *guest = &w->config->ivshmem[i];
		char section[128];

		snprintf(section, sizeof(section), "ivshmem %s", guest->name);
		warn_of_lists(w, &(struct lists){section, guest->line}, guest->allow_datanodes,
			      guest->publish_datanodes);
	}
}

json_t *config_warnings(const struct config *c, const char *path)
{
	struct warner w = {c, path, json_array()};

	if (c->xen.enabled == CONFIG_NO && !c->local.socket[0] && !c->peers.listen[0] &&
	    !c->num_ivshmem)
		warn(&w, 0, NULL, NULL, NULL,
		     "nothing to serve: [xen] is off, there is no [ivshmem NAME], and neither a "
		     "socket in [local] nor listen in [peers] is set; vreadd does not start with "
		     "this configuration");
	if (c->local.socket[0])
		warn_of_lists(&w, &(struct lists){"local", c->local.line}, c->local.allow_datanodes,
			      c->local.publish_datanodes);
	warn_of_guests(&w);
	warn_of_certificates(&w);
	for (size_t i = 0; i < c->num_datanodes; i++) {
		char section[128];

		snprintf(section, sizeof(section), "datanode %s", c->datanodes[i].name);
		w.path = c->datanodes[i].file;
		warn_of_files(&w, &c->datanodes[i], section);
	}
	return w.warnings;
}
