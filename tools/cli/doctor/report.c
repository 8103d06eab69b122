// SPDX-License-Identifier: GPL-2.0-or-later
/* report.c - implements the section "running and printing" of doctor.h: the options of both
 * doctors, and what they print.  Called by doctor.c of vread/doctor/ and of xl-vread/doctor/. */
#include "cli/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/features.h>

#include "cli/cli.h"
#include "cli/text.h"

#define INDENT 9 /* columns */

int doctor_option(struct doctor *d, int option, const char *value)
{
	switch (option) {
	case DOCTOR_ROOT:
		if (*value != '/')
			return cli_usage("--root %s: expected an absolute path", value);
		d->root = value;
		return CLI_OK;
	case DOCTOR_JSON:
		d->json = true;
		return CLI_OK;
	case DOCTOR_VERBOSE:
		d->verbose = true;
		return CLI_OK;
	default:
		return cli_bad_option();
	}
}

enum doctor_domain doctor_domain(const struct doctor *d)
{
	char line[DOCTOR_LINE];

	if (doctor_read_line(d, "/proc/xen/capabilities", line))
		return strstr(line, "control_d") ? DOCTOR_DOM0 : DOCTOR_DOMU;
	if (!doctor_read_line(d, "/sys/hypervisor/type", line) || strcmp(line, "xen"))
		return DOCTOR_NO_XEN;
	/* xenfs is not mounted, as in many guests. */
	if (!doctor_read_line(d, "/sys/hypervisor/properties/features", line))
		return DOCTOR_DOMU;
	return strtoul(line, NULL, 16) & 1UL << XENFEAT_dom0 ? DOCTOR_DOM0 : DOCTOR_DOMU;
}

/* ---- printing --------------------------------------------------------------------------- */

static unsigned count(const struct doctor *d, const char *result)
{
	unsigned n = 0;
	json_t *finding;
	size_t i;

	json_array_foreach(d->findings, i, finding)
	{
		n += !strcmp(text_member(finding, "result"), result);
	}
	return n;
}

static const char *label_of(const char *result)
{
	if (!strcmp(result, "failed"))
		return "FAILED";
	if (!strcmp(result, "warning"))
		return "WARNING";
	return strcmp(result, "ok") ? "-" : "ok";
}

static void print_finding(const json_t *finding, bool all)
{
	const char *result = text_member(finding, "result");
	const char *remedy = json_string_value(json_object_get(finding, "remedy"));
	char line[2048];

	if (!all && strcmp(result, "failed") && strcmp(result, "warning"))
		return;
	snprintf(line, sizeof(line), "%s: %s", text_member(finding, "object"),
		 text_member(finding, "found"));
	text_wrap_after(stdout, INDENT, label_of(result), line);
	if (!remedy)
		return;
	snprintf(line, sizeof(line), "-> %s", remedy);
	text_wrap(stdout, INDENT, line);
}

static void print_text(const struct doctor *d)
{
	unsigned warnings;
	json_t *finding;
	size_t i;

	json_array_foreach(d->findings, i, finding)
	{
		print_finding(finding, d->verbose);
	}
	warnings = count(d, "warning");
	printf("%s: %u failed, %u warning%s, %u ok, %u not applicable\n", d->role,
	       count(d, "failed"), warnings, warnings == 1 ? "" : "s", count(d, "ok"),
	       count(d, "not applicable"));
}

static void print_json(const struct doctor *d)
{
	json_t *document = json_pack("{s:s, s:O}", "role", d->role, "findings", d->findings);

	json_dumpf(document, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(document);
}

/* ---- running ------------------------------------------------------------------------------ */

int doctor_report(struct doctor *d, const struct doctor_check *checks)
{
	int code;

	d->findings = json_array();
	for (; checks->name; checks++) {
		d->check = checks->name;
		checks->run(d);
	}
	if (d->json)
		print_json(d);
	else
		print_text(d);
	code = count(d, "failed") ? CLI_FAILED : CLI_OK;
	json_decref(d->findings);
	if (d->xs)
		xs_close(d->xs);
	return code;
}
