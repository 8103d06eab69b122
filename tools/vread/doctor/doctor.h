/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor.h - what the checks of `vread doctor` share.  `vread doctor` checks every link of the
 * chain from a reader to the blocks, and says what to do about each broken link.
 *
 * A check looks at one subject and adds findings.  checks.h lists the checks.  If an earlier check
 * found missing what a later check needs, the later check says that it does not apply.  So each
 * fault is reported once.  No check changes anything.
 */
#ifndef VREAD_DOCTOR_H
#define VREAD_DOCTOR_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <xenstore.h>

#include "control/config.h"

enum doctor_role { DOCTOR_DOM0 = 1, DOCTOR_DOMU = 2 }; /* bits */

struct doctor {
	/* Options; NULL: not given. */
	const char *root; /* in front of all paths that are not options; "": none */
	const char *config_path, *socket, *endpoint, *user, *hadoop_conf, *class_path, *datanode;
	enum doctor_role role;

	/* What checks found, for later checks. */
	struct config *config;   /* NULL: there is no valid configuration */
	json_t *status;          /* of vreadd; NULL: vreadd does not answer */
	struct xs_handle *xs;    /* NULL: no xenstore */
	int xs_error;            /* errno of the attempt to open xs */
	bool no_xen;             /* no hypervisor, or none is needed */
	bool no_module;          /* the guest's module is not loaded */
	bool has_device;         /* the guest has a vread device */
	bool node_usable;        /* the user may open the endpoint */
	bool is_datanode;        /* the device's role */
	char conf_dir[PATH_MAX]; /* of Hadoop; "": there is none */

	const char *check; /* name of the check that runs */
	json_t *findings;  /* objects: check, result, object, found, remedy */
};

struct doctor_check {
	const char *name; /* the subject */
	unsigned roles;
	void (*run)(struct doctor *d);
};

/* Add a finding about an object.  format: what was found. */
void doctor_ok(struct doctor *d, const char *object, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_skip(struct doctor *d, const char *object, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_warn(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void doctor_fail(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- looking (look.c) -------------------------------------------------------------- */

#define DOCTOR_LINE 256 /* bytes of a buffer for one line */

/* Writes path under root to buf.  Returns buf. */
const char *doctor_path(const struct doctor *d, const char *path, char buf[PATH_MAX]);
/* True if path exists under root. */
bool doctor_exists(const struct doctor *d, const char *path);
/* Reads the first line of the file at path, under root, without newline.  False: not readable. */
bool doctor_read_line(const struct doctor *d, const char *path, char line[DOCTOR_LINE]);
/* Reads the release of the running kernel; "": not known. */
void doctor_kernel(const struct doctor *d, char release[DOCTOR_LINE]);
/* The path of vread's endpoint: of --endpoint or VREAD_ENDPOINT, else /dev/vread under root. */
const char *doctor_endpoint(const struct doctor *d, char buf[PATH_MAX]);
/* The value of a xenstore node; free() it.  NULL: there is no such node, or no xenstore. */
char *doctor_node(const struct doctor *d, const char *directory, const char *node);
/*
 * Runs a program for at most two minutes.  Returns its exit status, or negative errno (-ENOENT,
 * -ETIME).  *ret: its standard output; free() it; not set after a negative errno.  Its standard
 * error is dropped.
 */
int doctor_run(char *const argv[], char **ret);

#endif
