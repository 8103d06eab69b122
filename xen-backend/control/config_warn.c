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
#include "control/keyed.h"
#include "control/nearest.h"
#include "disk/image.h"
#include "peer/wire/tls.h"

struct warner {
	const struct config *config;
	const struct keys_list *keys;
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
	const char *known[c->num_datanodes + w->keys->count + 1], *near;
	size_t count = 0;

	for (size_t i = 0; i < c->num_datanodes; i++)
		known[count++] = c->datanodes[i].name;
	for (size_t i = 0; i < w->keys->count; i++)
		if (w->keys->keys[i].value[KEYS_NAME])
			known[count++] = w->keys->keys[i].value[KEYS_NAME];
	for (size_t i = 0; i < count; i++)
		if (!strcmp(known[i], name))
			return;
	near = nearest_word(name, known, count);
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
			  const char *publish, const char *unnamed)
{
	if (!w->config->peers.line)
		warn_of_names(w, of, "allow-datanodes", allow);
	warn_of_names(w, of, "publish-datanodes", publish);
	warn_of_names(w, of, "unnamed-datanodes", unnamed);
}

static void warn_of_guests(struct warner *w)
{
	for (size_t i = 0; i < w->config->num_ivshmem; i++) {
		const struct config_ivshmem *guest = &w->config->ivshmem[i];
		char section[128];

		snprintf(section, sizeof(section), "ivshmem %s", guest->name);
		warn_of_lists(w, &(struct lists){section, guest->line}, guest->allow_datanodes,
			      guest->publish_datanodes, guest->unnamed_datanodes);
	}
}

/* ---- keys in xenstore -------------------------------------------------------- */

#define REFUSED "refused: "

static const struct config_datanode *find_section(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->num_datanodes; i++)
		if (!strcmp(c->datanodes[i].name, name))
			return &c->datanodes[i];
	return NULL;
}

/* because: why vreadd would refuse the keys. */
static void warn_of_refusal(struct warner *w, const struct keys *k, const char *because)
{
	const struct config_datanode *d = find_section(w->config, k->value[KEYS_NAME]);
	const char *path = w->path;
	char section[128];

	if (d) {
		snprintf(section, sizeof(section), "datanode %s", d->name);
		w->path = d->file;
	}
	warn(w, d ? d->line : 0, d ? section : NULL, NULL, NULL,
	     "%s provisions datanode %s of domain %u now, and vreadd refuses these keys when it "
	     "reads this configuration: %s",
	     k->path, k->value[KEYS_NAME], k->domid, because);
	w->path = path;
}

/* Judges the keys as vreadd will, and warns of those that count now and no longer would. */
static void warn_of_keys(struct warner *w)
{
	char(*status)[KEYED_MAX_STATUS] = calloc(w->keys->count + 1, sizeof(*status));
	struct keyed keyed;

	if (!status || keyed_judge(w->config, w->keys, &keyed, status)) {
		free(status);
		return;
	}
	for (size_t i = 0; i < w->keys->count; i++)
		if (keyed_accepted(&w->keys->keys[i]) &&
		    !strncmp(status[i], REFUSED, strlen(REFUSED)))
			warn_of_refusal(w, &w->keys->keys[i], status[i] + strlen(REFUSED));
	keyed_free(&keyed);
	free(status);
}

json_t *config_warnings(const struct config *c, const char *path, const struct keys_list *keys)
{
	struct warner w = {c, keys, path, json_array()};

	if (c->xen.enabled == CONFIG_NO && !c->local.socket[0] && !c->peers.listen[0] &&
	    !c->num_ivshmem)
		warn(&w, 0, NULL, NULL, NULL,
		     "nothing to serve: [xen] is off, there is no [ivshmem NAME], and neither a "
		     "socket in [local] nor listen in [peers] is set; vreadd does not start with "
		     "this configuration");
	if (c->local.socket[0])
		warn_of_lists(&w, &(struct lists){"local", c->local.line}, c->local.allow_datanodes,
			      c->local.publish_datanodes, c->local.unnamed_datanodes);
	warn_of_guests(&w);
	warn_of_certificates(&w);
	warn_of_keys(&w);
	for (size_t i = 0; i < c->num_datanodes; i++) {
		char section[128];

		snprintf(section, sizeof(section), "datanode %s", c->datanodes[i].name);
		w.path = c->datanodes[i].file;
		warn_of_files(&w, &c->datanodes[i], section);
	}
	return w.warnings;
}
