// SPDX-License-Identifier: GPL-2.0-or-later
/* hadoop.c - check of `vread doctor`: whether Hadoop's configuration names vRead, for clients or
 * for the datanode.  Called by doctor.c. */
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "checks.h"

#define FILE_SYSTEMS "fs.hdfs.impl"
#define FILE_SYSTEM "io.vread.hdfs.VreadFileSystem"
#define BUILDERS "dfs.client.replica.accessor.builder.classes"
#define BUILDER "io.vread.hdfs.VreadReplicaAccessorBuilder"
#define FACTORIES "dfs.datanode.fsdataset.factory"
#define FACTORY "io.vread.datanode.VreadFsDatasetFactory"

/* ---- <property><name/><value/></property> ------------------------------------------------- */

struct site {
	json_t *properties;
	char *into; /* name or value, while inside one of them */
	char name[DOCTOR_LINE], value[4096];
};

static void XMLCALL on_start(void *ctx, const char *element, const char **attributes)
{
	struct site *s = ctx;

	(void)attributes;
	if (!strcmp(element, "property"))
		s->name[0] = s->value[0] = '\0';
	s->into = !strcmp(element, "name") ? s->name : !strcmp(element, "value") ? s->value : NULL;
}

static void XMLCALL on_end(void *ctx, const char *element)
{
	struct site *s = ctx;

	s->into = NULL;
	if (!strcmp(element, "property"))
		json_object_set_new(s->properties, s->name, json_string(s->value));
}

static void XMLCALL on_text(void *ctx, const char *text, int length)
{
	struct site *s = ctx;
	size_t room = s->into == s->name ? sizeof(s->name) : sizeof(s->value), used;

	if (!s->into)
		return;
	used = strlen(s->into);
	if ((size_t)length >= room - used)
		length = (int)(room - used - 1);
	memcpy(s->into + used, text, (size_t)length);
	s->into[used + (size_t)length] = '\0';
}

/* Adds the file's properties; none if the file is missing.  False after a finding: the file is not
 * XML. */
static bool read_site(struct doctor *d, const char *file, json_t *properties)
{
	struct site s = {.properties = properties};
	char path[PATH_MAX + 32], piece[4096];
	XML_Parser parser;
	bool ok = true;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", d->facts->conf_dir, file);
	f = fopen(path, "re");
	if (!f)
		return true;
	parser = XML_ParserCreate(NULL);
	XML_SetUserData(parser, &s);
	XML_SetElementHandler(parser, on_start, on_end);
	XML_SetCharacterDataHandler(parser, on_text);
	for (size_t n = sizeof(piece); ok && n == sizeof(piece);) {
		n = fread(piece, 1, sizeof(piece), f);
		ok = XML_Parse(parser, piece, (int)n, n < sizeof(piece)) == XML_STATUS_OK;
	}
	if (!ok)
		doctor_fail(d, path, "correct it: Hadoop cannot read it either", "line %lu: %s",
			    XML_GetCurrentLineNumber(parser),
			    XML_ErrorString(XML_GetErrorCode(parser)));
	XML_ParserFree(parser);
	fclose(f);
	return ok;
}

/* ---- what it must say --------------------------------------------------------------------- */

/* Finds Hadoop's folder: of --hadoop-conf, HADOOP_CONF_DIR or HADOOP_HOME, else the first usual
 * folder with a file hdfs-site.xml.  False: there is none. */
static bool find_conf_dir(struct doctor *d)
{
	static const char *const usual[] = {"/etc/hadoop/conf", "/etc/hadoop",
					    "/opt/hadoop/etc/hadoop"};
	const char *said = d->facts->hadoop_conf ?: getenv("HADOOP_CONF_DIR");
	const char *home = getenv("HADOOP_HOME");
	char path[PATH_MAX];

	if (said) {
		snprintf(d->facts->conf_dir, sizeof(d->facts->conf_dir), "%s", said);
		return true;
	}
	if (home) {
		snprintf(d->facts->conf_dir, sizeof(d->facts->conf_dir), "%s/etc/hadoop", home);
		return true;
	}
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		snprintf(path, sizeof(path), "%s/hdfs-site.xml", usual[i]);
		if (!doctor_exists(d, path))
			continue;
		doctor_path(d, usual[i], d->facts->conf_dir);
		return true;
	}
	return false;
}

static bool lists(const char *value, const char *class)
{
	const char *p = strstr(value, class);
	char after = p ? p[strlen(class)] : '\0';

	return p && (!after || strchr(", \t\n", after));
}

static void check_property(struct doctor *d, const json_t *properties, const char *name,
			   const char *class)
{
	const char *value = json_string_value(json_object_get(properties, name));
	char object[PATH_MAX + 32], remedy[512];

	snprintf(object, sizeof(object), "%s/hdfs-site.xml", d->facts->conf_dir);
	snprintf(remedy, sizeof(remedy), "set %s to %s (see docs/hadoop.md)", name, class);
	if (!value)
		doctor_fail(d, object, remedy, "does not set %s", name);
	else if (!lists(value, class))
		doctor_fail(d, object, remedy, "%s is %.300s", name, value);
	else
		doctor_ok(d, object, "%s has %s", name, class);
}

/* The file system brings the builder.  The builder alone learns from block tokens where blocks are,
 * and without tokens only after a file was read once. */
static void check_client(struct doctor *d, const json_t *properties)
{
	const char *file_system = text_member(properties, FILE_SYSTEMS);
	char object[PATH_MAX + 32];

	if (strcmp(file_system, FILE_SYSTEM) != 0 &&
	    lists(text_member(properties, BUILDERS), BUILDER)) {
		snprintf(object, sizeof(object), "%s/hdfs-site.xml", d->facts->conf_dir);
		doctor_warn(d, object,
			    "set " FILE_SYSTEMS " to " FILE_SYSTEM " (see docs/hadoop.md)",
			    "has %s without %s: without block tokens the first reads of a file go "
			    "by TCP",
			    BUILDERS, FILE_SYSTEMS);
		return;
	}
	check_property(d, properties, FILE_SYSTEMS, FILE_SYSTEM);
}

static void check_switches(struct doctor *d, const json_t *properties)
{
	const char *enabled = text_member(properties, "io.vread.enabled");
	const char *endpoint = json_string_value(json_object_get(properties, "io.vread.endpoint"));
	const char *checked;
	char path[PATH_MAX];

	if (!strcmp(enabled, "false"))
		doctor_warn(d, "io.vread.enabled", "remove it, or set it to true",
			    "is false: everything is read by TCP");
	checked = endpoint_path(d, path);
	if (endpoint && strcmp(endpoint, checked))
		doctor_warn(d, "io.vread.endpoint", "check that one: vread doctor --endpoint PATH",
			    "is %.300s, but %.300s was checked here", endpoint, checked);
}

void check_hadoop(struct doctor *d)
{
	struct stat st;
	json_t *properties;

	if (!find_conf_dir(d)) {
		doctor_skip(d, "hadoop",
			    "no configuration of Hadoop here; --hadoop-conf names one");
		return;
	}
	if (stat(d->facts->conf_dir, &st) < 0) {
		doctor_fail(d, d->facts->conf_dir,
			    "correct --hadoop-conf, HADOOP_CONF_DIR or HADOOP_HOME", "%s",
			    strerror(errno));
		d->facts->conf_dir[0] = '\0';
		return;
	}
	properties = json_object();
	if (read_site(d, "core-site.xml", properties) &&
	    read_site(d, "hdfs-site.xml", properties)) {
		if (d->facts->is_datanode)
			check_property(d, properties, FACTORIES, FACTORY);
		else
			check_client(d, properties);
		check_switches(d, properties);
	}
	json_decref(properties);
}
