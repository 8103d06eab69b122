/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor.h - `vread doctor`: checks every link of the chain, and says what to do about each that is
 * broken.
 *
 * A check looks at one subject and makes findings; checks.h lists them, one file for what belongs
 * together.  A check that needs what an earlier one found missing says that it does not apply, so
 * that one fault is told once.  Nothing is changed by looking.
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
	/* What was asked for; NULL: not said. */
	const char *root; /* in front of paths that were not given as options; "" */
	const char *config_path, *socket, *endpoint, *user, *hadoop_conf, *class_path, *datanode;
	enum doctor_role role;

	/* What checks found, for those behind them. */
	struct config *config;   /* NULL: none that is valid */
	json_t *status;          /* of vreadd; NULL: it does not answer */
	struct xs_handle *xs;    /* NULL: no xenstore */
	bool no_xen;             /* no hypervisor, or none is needed */
	bool no_module;          /* the guest's is not loaded */
	bool has_device;         /* the guest has a vread device */
	bool node_usable;        /* its endpoint may be opened */
	bool is_datanode;        /* the device's role */
	char conf_dir[PATH_MAX]; /* Hadoop's; "": there is none */

	const char *check; /* the one that runs */
	json_t *findings;  /* objects: check, result, object, found, remedy */
};

struct doctor_check {
	const char *name; /* of its subject */
	unsigned roles;
	void (*run)(struct doctor *d);
};

/* Findings about an object; the format says what was found. */
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

/* path under root, in a buffer of the caller's; returns it. */
const char *doctor_path(const struct doctor *d, const char *path, char buf[PATH_MAX]);
/* Whether there is something at path, under root. */
bool doctor_exists(const struct doctor *d, const char *path);
/* The first line of the file at path, under root, without newline; false: it cannot be read. */
bool doctor_read_line(const struct doctor *d, const char *path, char line[DOCTOR_LINE]);
/* Of the kernel that runs; "" if it cannot be told. */
void doctor_kernel(const struct doctor *d, char release[DOCTOR_LINE]);
/* Where vread's endpoint is: as said, or /dev/vread under root. */
const char *doctor_endpoint(const struct doctor *d, char buf[PATH_MAX]);
/* The value of a node, to be freed; NULL without node or xenstore. */
char *doctor_node(const struct doctor *d, const char *directory, const char *node);
/*
 * Runs a program for at most two minutes: its exit status, or negative errno (-ENOENT, -ETIME).  What it wrote to
 * standard output is in *ret, to be freed; standard error goes nowhere.
 */
int doctor_run(char *const argv[], char **ret);

#endif
