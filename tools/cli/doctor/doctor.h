/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor.h - what `vread doctor` and `xl-vread doctor` share.  Each checks the links of the chain
 * from a reader to the blocks that are on its side, in a guest or in dom0, and says what to do
 * about each broken link.
 *
 * A check looks at one subject and adds findings.  The checks are in vread/doctor/ and in
 * xl-vread/doctor/.  If an earlier check found missing what a later check needs, the later check
 * says that it does not apply.  So each fault is reported once.  No check changes anything.
 */
#ifndef VREAD_CLI_DOCTOR_H
#define VREAD_CLI_DOCTOR_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <xenstore.h>

/* Options, and what checks found for later checks.  The checks.h of each program has its own. */
struct facts;

struct doctor {
	const char *role;   /* "dom0", "domU" or "host" (of KVM): where this program belongs */
	const char *root;   /* in front of all paths that are not options; "": none */
	bool json, verbose; /* how findings are printed */
	struct facts *facts;
	struct xs_handle *xs; /* a check opens it; NULL: no xenstore */
	const char *check;    /* name of the check that runs */
	json_t *findings;     /* objects: check, result, object, found, remedy */
};

/* ---- findings (findings.c) ---------------------------------------------------------- */

/* Add a finding about an object.  format: what was found. */
void doctor_ok(struct doctor *d, const char *object, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_skip(struct doctor *d, const char *object, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_warn(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void doctor_fail(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- running and printing (report.c) ------------------------------------------------ */

/* Options of both programs, for the table of getopt_long(), with their help. */
enum { DOCTOR_ROOT = 1000, DOCTOR_JSON, DOCTOR_VERBOSE = 'v' };
#define DOCTOR_OPTIONS                                                                            \
	{"root", required_argument, NULL, DOCTOR_ROOT}, {"json", no_argument, NULL, DOCTOR_JSON}, \
	{                                                                                         \
		"verbose", no_argument, NULL, DOCTOR_VERBOSE                                      \
	}
#define DOCTOR_OPTIONS_HELP                                                \
	"  -v, --verbose       also what is ok, and what does not apply\n" \
	"  --json              as JSON\n"                                  \
	"  --root DIR          look for /dev, /etc, /lib, /proc, /sys ... under DIR\n"
/* Takes one of DOCTOR_OPTIONS.  CLI_OK, or CLI_USAGE after printing what is wrong. */
int doctor_option(struct doctor *d, int option, const char *value);

/* Where this runs, as Xen says. */
enum doctor_domain { DOCTOR_NO_XEN, DOCTOR_DOM0, DOCTOR_DOMU };
enum doctor_domain doctor_domain(const struct doctor *d);

struct doctor_check {
	const char *name; /* the subject */
	void (*run)(struct doctor *d);
};
/* Runs the checks in order and prints their findings.  checks: the last has no name.  CLI_OK, or
 * CLI_FAILED if a finding is a failure.  Closes xenstore. */
int doctor_report(struct doctor *d, const struct doctor_check *checks);

/* ---- looking (look.c) -------------------------------------------------------------- */

#define DOCTOR_LINE 256 /* bytes of a buffer for one line */

/* Writes path under root to buf.  Returns buf. */
const char *doctor_path(const struct doctor *d, const char *path, char buf[PATH_MAX]);
/* True if path exists under root. */
bool doctor_exists(const struct doctor *d, const char *path);
/* Reads the first line of the file at path, under root, without newline.  False: not readable. */
bool doctor_read_line(const struct doctor *d, const char *path, char line[DOCTOR_LINE]);
/* The value of a xenstore node; free() it.  NULL: there is no such node, or no xenstore. */
char *doctor_node(const struct doctor *d, const char *directory, const char *node);
/*
 * Runs a program for at most two minutes.  Returns its exit status, or negative errno (-ENOENT,
 * -ETIME).  *ret: its standard output; free() it; not set after a negative errno.  Its standard
 * error is dropped.
 */
int doctor_run(char *const argv[], char **ret);

#endif
