// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * java.c - check of `vread doctor`: whether Hadoop's class path has vread-hdfs.jar of this release.
 * Called by doctor.c.
 *
 * A JVM is started with Hadoop's class path and loads a class of the jar.  So the check sees the
 * jar that Hadoop would load, and not only a file somewhere.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "checks.h"

#define JAR "/usr/share/vread/vread-hdfs.jar"
#define LEAST_JAVA 8

static const char install_jar[] =
	"install vread-hdfs, and set HADOOP_CLASSPATH=" JAR " in hadoop-env.sh";

/* Hadoop's class path: of --class-path, else of `hadoop classpath`; free() it.  NULL after a
 * finding: not known. */
static char *class_path(struct doctor *d)
{
	const char *home = getenv("HADOOP_HOME");
	char program[PATH_MAX] = "hadoop", *out = NULL;
	int r;

	if (d->facts->class_path)
		return strdup(d->facts->class_path);
	if (d->root[0]) {
		doctor_skip(d, "class path", "is not read under --root; give --class-path");
		return NULL;
	}
	if (home)
		snprintf(program, sizeof(program), "%s/bin/hadoop", home);
	setenv("HADOOP_CONF_DIR", d->facts->conf_dir, 1);
	r = doctor_run((char *[]){program, "classpath", NULL}, &out);
	if (r) {
		free(out);
		doctor_fail(d, program, "set HADOOP_HOME, or give --class-path",
			    "`hadoop classpath` does not work: %s",
			    r < 0 ? strerror(-r) : "it ended with an error");
		return NULL;
	}
	out[strcspn(out, "\n")] = '\0';
	return out;
}

/* Finds the first of our jars that the path names but that does not exist.  "": none. */
static void find_missing_jar(const char *path, char jar[PATH_MAX])
{
	char *copy = strdup(path), *rest = copy;

	jar[0] = '\0';
	for (char *entry; !jar[0] && (entry = strsep(&rest, ":"));)
		if (strstr(entry, "vread-hdfs") && access(entry, R_OK) < 0)
			snprintf(jar, PATH_MAX, "%s", entry);
	free(copy);
}

static void tell_no_jar(struct doctor *d, const char *path)
{
	char jar[PATH_MAX];

	find_missing_jar(path, jar);
	if (jar[0])
		doctor_fail(d, jar, install_jar, "is on Hadoop's class path, but does not exist");
	else
		doctor_fail(d, "vread-hdfs.jar", install_jar, "is not on Hadoop's class path");
}

/* Finds a line "NAME VALUE" in text, and copies VALUE; "?": there is none. */
static void line_value(const char *text, const char *name, char value[DOCTOR_LINE])
{
	const char *p = strstr(text, name);

	snprintf(value, DOCTOR_LINE, "?");
	if (p)
		snprintf(value, DOCTOR_LINE, "%.*s", (int)strcspn(p + strlen(name), "\n"),
			 p + strlen(name));
}

/* 8 for "1.8.0_392", 17 for "17.0.9". */
static int java_release(const char *version)
{
	return !strncmp(version, "1.", 2) ? atoi(version + 2) : atoi(version);
}

static void tell_versions(struct doctor *d, const char *text)
{
	char jar[DOCTOR_LINE], version[DOCTOR_LINE], java[DOCTOR_LINE];

	line_value(text, "jar ", jar);
	line_value(text, "version ", version);
	line_value(text, "java ", java);
	if (strcmp(version, VREAD_VERSION))
		doctor_fail(d, jar, "install vread-hdfs and libvread1 of one release",
			    "is version %.64s, libvread is version " VREAD_VERSION, version);
	else
		doctor_ok(d, jar, "on Hadoop's class path, version %s", version);
	if (java_release(java) < LEAST_JAVA)
		doctor_fail(d, "java", "install a newer Java, and set JAVA_HOME in hadoop-env.sh",
			    "is version %.64s; version %d or later is needed", java, LEAST_JAVA);
	else
		doctor_ok(d, "java", "version %.64s", java);
}

void check_java(struct doctor *d)
{
	const char *home = getenv("JAVA_HOME");
	char program[PATH_MAX] = "java", *path, *out = NULL;
	int r;

	if (!d->facts->conf_dir[0]) {
		doctor_skip(d, "java", "no configuration of Hadoop here");
		return;
	}
	path = class_path(d);
	if (!path)
		return;
	if (home)
		snprintf(program, sizeof(program), "%s/bin/java", home);
	r = doctor_run((char *[]){program, "-Xmx32m", "-cp", path, "io.vread.Version", NULL}, &out);
	if (r < 0)
		doctor_fail(d, program, "install Java, or correct JAVA_HOME", "does not run: %s",
			    strerror(-r));
	else if (r)
		tell_no_jar(d, path);
	else
		tell_versions(d, out);
	free(out);
	free(path);
}
